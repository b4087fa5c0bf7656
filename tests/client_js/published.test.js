import assert from "node:assert/strict";
import { test } from "node:test";

import { canonicalJson, parseJson } from "../../client/hushpoll_client_js/src/canonical.js";
import { codeAnswers } from "../../client/hushpoll_client_js/src/codec.js";
import { ManifestRefused } from "../../client/hushpoll_client_js/src/errors.js";
import { inWords, preview } from "../../client/hushpoll_client_js/src/preview.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { ANSWERS, SMALL, SMALL_DIGEST } from "./fixtures.js";

const refused = async (manifest, field) => {
  const error = await readPublished(manifest).catch((reason) => reason);
  assert.ok(error instanceof ManifestRefused, `${field}: ${error}`);
  assert.equal(error.field, field);
  return error.message;
};

test("lengths are counted in code points, as everywhere", async () => {
  await readPublished({ ...SMALL, title: "\u{1f3dd}".repeat(200) });
  await refused({ ...SMALL, title: "\u{1f3dd}".repeat(201) }, "title");
});

test("a value of another type that reads like the right one is refused", async () => {
  const [colour, ...rest] = SMALL.attributes;
  for (const [field, manifest] of [
    ["epsilon", { ...SMALL, epsilon: ["3"] }],
    ["name", { ...SMALL, name: ["small"] }],
    ["opens", { ...SMALL, opens: ["2026-01-31T09:00:00Z"] }],
    ["version", { ...SMALL, version: "3" }],
    ["format", { ...SMALL, format: true }],
    ["split", { ...SMALL, split: ["uniform"] }],
    ["attributes", { ...SMALL, attributes: { length: 1, 0: colour } }],
    ["attributes[colour].role", { ...SMALL, attributes: [{ ...colour, role: ["sensitive"] }, ...rest] }],
    ["attributes[colour].categories[0]", { ...SMALL, attributes: [{ ...colour, categories: [["red"], "green", "blue"] }, ...rest] }],
    ["attributes[colour].parameters.omega", { ...SMALL, attributes: [{ ...colour, parameters: { omega: "1" } }, ...rest] }],
    ["attributes[colour].thresholds", { ...SMALL, attributes: [{ ...colour, thresholds: { P: [colour.thresholds.P] } }, ...rest] }],
    ["manifest", [SMALL]],
    ["manifest", null],
  ]) {
    await refused(manifest, field);
  }
});

test("a later format is refused with the word update, whatever its keys are", async () => {
  assert.match(await refused({ ...SMALL, format: 3, draws: [] }, "format"), /format is 3.*update hushpoll/);
});

test("times that do not exist are refused", async () => {
  await readPublished({ ...SMALL, opens: "2028-02-29T23:59:59Z" });
  for (const opens of ["2027-02-29T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T09:00:60Z", "0000-01-01T00:00:00Z", "2026-01-31", "2026-01-31T09:00:00+00:00", "+002026-01-31T09:00:00Z", "2026-01-31T09:00:00.000Z"]) {
    await refused({ ...SMALL, opens }, "opens");
  }
});

test("a message shows a refused value without letting it rewrite the message", async () => {
  const shown = await refused({ ...SMALL, title: `\u202e${"x".repeat(5000)}` }, "title");
  assert.ok(shown.length < 300 && !shown.includes("\u202e"));
});

test("the digest is that of the bytes as they are served", async () => {
  const bytes = new TextEncoder().encode(canonicalJson(SMALL));
  assert.equal((await readPublished(bytes)).digest, SMALL_DIGEST);
  await refused(new TextEncoder().encode(` ${canonicalJson(SMALL)}`), "json");
  assert.deepEqual(parseJson(bytes), SMALL);
});

test("an answer is found in either normal form, by its number, and as missing", async () => {
  const { attributes } = await readPublished(SMALL);
  const code = (changes) => codeAnswers({ attributes }, { ...ANSWERS, ...changes });
  assert.deepEqual(code({}), [1, 2, 1, 1]);
  assert.deepEqual(code({ town: "Que\u0301bec" }), [1, 2, 0, 1]);
  assert.deepEqual(code({ age: "17", colour: undefined }), [3, 0, 1, 1]);
  for (const wrong of [{ age: 17.5 }, { age: true }, { age: null }, { age: 17n }, { happy: 1 }, { colour: "" }]) {
    assert.throws(() => code(wrong), { name: "InvalidParameter", field: Object.keys(wrong)[0] });
  }
});

test("the preview names what leaves in clear first, and what the rest reveals", async () => {
  const published = await readPublished(SMALL);
  const shown = preview(published, ANSWERS);
  assert.deepEqual(shown.clear.map(({ name, answer }) => [name, answer]), [["town", "Oslo"], ["happy", "yes"]]);
  assert.deepEqual(shown.perturbed.map(({ name, protocol, k, epsilon }) => [name, protocol, k, epsilon]), [
    ["colour", "SS", 4, "2"],
    ["age", "GRR", 5, "1"],
  ]);
  // e^2/(e^2 + 3) and e/(e + 4), by hand.
  assert.ok(Math.abs(Number(shown.perturbed[0].bestGuess) - 0.711234594) < 1e-9);
  assert.ok(Math.abs(Number(shown.perturbed[1].bestGuess) - 0.404609675) < 1e-9);
  assert.equal(shown.recordSize, 4);
  const words = inWords(shown);
  assert.ok(words.indexOf("town: Oslo") < words.indexOf("colour\n    SS with epsilon 2. "));
  assert.match(words, /would be right with a chance of 71\.2 %; without it, 25\.0 %/);
  assert.deepEqual(shown.notices, []);
  assert.doesNotMatch(words, /green|19\b/);
  assert.equal(preview(published).clear[0].answer, undefined);
  assert.match(inWords(preview(published)), /town: your answer as it is/);
});
