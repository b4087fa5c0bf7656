import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ManifestRefused } from "../../client/hushpoll_client_js/src/errors.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";

const { manifests } = JSON.parse(readFileSync(new URL("../vectors/manifests.json", import.meta.url), "utf8"));
const PRESENTED = manifests.find(({ published }) => published.name === "presented").published;

const HEX = PRESENTED.logo.image;
for (const [field, change] of [
  ["attributes[satisfied].help", (one) => (one.attributes[0].help = "x".repeat(1001))],
  ["attributes[satisfied].ends", (one) => (one.attributes[0].ends = ["same", "same"])],
  ["attributes[satisfied].ends", (one) => (one.attributes[0].ends = "not at all")],
  ["attributes[satisfied].ends[1]", (one) => (one.attributes[0].ends = ["a", ""])],
  ["attributes[party].ends", (one) => (one.attributes[1].ends = ["a", "b"])],
  ["attributes[satisfied].shuffle", (one) => (one.attributes[0].shuffle = {})],
  ["attributes[party].shuffle.last", (one) => (one.attributes[1].shuffle = { last: 2 })],
  ["attributes[party].shuffle.last", (one) => (one.attributes[1].shuffle = { last: 0 })],
  ["attributes[party].shuffle.first", (one) => (one.attributes[1].shuffle = { first: 1 })],
  ["selects[sports].shuffle", (one) => (one.selects[0].shuffle = true)],
  ["attributes[sports_1]", (one) => (one.attributes[2].help = "x")],
  ["thanks", (one) => (one.thanks = "")],
  ["logo.image", (one) => (one.logo.image = "https://elsewhere.example/a.png")],
  ["logo.src", (one) => (one.logo.src = "x")],
  ["logo.alt", (one) => delete one.logo.alt],
  ["translations[de].thanks", (one) => delete one.translations.de.thanks],
  ["translations[de].logo", (one) => delete one.logo],
  ["translations[de].attributes[satisfied].ends", (one) => delete one.translations.de.attributes.satisfied.ends],
  ["translations[de].attributes[satisfied].ends", (one) => (one.translations.de.attributes.satisfied.ends = ["a"])],
  ["translations[de].attributes[party].help", (one) => (one.translations.de.attributes.party.help = "x")],
]) {
  test(`a survey is refused for ${field}: ${change}`, async () => {
    const manifest = structuredClone(PRESENTED);
    change(manifest);
    const error = await readPublished(manifest).catch((reason) => reason);
    assert.ok(error instanceof ManifestRefused, String(error));
    assert.equal(error.field, field);
  });
}

test("what a page shows is read, and changes no record", async () => {
  const published = await readPublished(PRESENTED);
  assert.deepEqual(published.logo, { image: HEX, alt: "Coat of arms" });
  const plain = structuredClone(PRESENTED);
  for (const one of plain.attributes) for (const key of ["ends", "shuffle"]) delete one[key];
  delete plain.selects[0].shuffle;
  for (const key of ["thanks", "logo", "translations"]) delete plain[key];
  assert.equal((await readPublished(plain)).recordSize, published.recordSize);
});
