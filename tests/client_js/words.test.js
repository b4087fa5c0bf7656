import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { preview } from "../../client/hushpoll_client_js/src/preview.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { ENGLISH, Words } from "../../client/hushpoll_client_js/src/words.js";

const folder = new URL("../../client/hushpoll_client_js/src/words/", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));

const languages = readdirSync(folder).map((name) => name.replace(/\.js$/, ""));
const catalogues = new Map(await Promise.all(languages.map(async (language) => [language, await import(`${folder}${language}.js`)])));
const translations = languages.filter((language) => language !== "en");

/** The forms of a text: one, or one for each plural category. */
const formsOf = (text) => (typeof text === "string" ? [text] : Object.values(text));

const placeholders = (text) => [...new Set(formsOf(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();

/** The numbers in a text, as the language spells them. */
function figures(text, language) {
  const parts = new Intl.NumberFormat(language).formatToParts(1234567.5);
  const [group, decimal] = ["group", "decimal"].map((type) => parts.find((part) => part.type === type).value);
  const number = new RegExp(`(?:\\d{1,3}(?:[${group}]\\d{3})+|\\d+)(?:[${decimal}]\\d+)?`, "g");
  return (text.match(number) ?? []).map((digits) => Number(digits.replaceAll(group, "").replace(decimal, "."))).sort((a, b) => a - b);
}

test("there are four languages", () => {
  assert.deepEqual(languages.sort(), ["de", "en", "es", "fr"]);
});

for (const language of translations) {
  test(`${language} has the keys, placeholders and literal figures of English`, () => {
    const [own, english] = [catalogues.get(language), catalogues.get("en")];
    assert.equal(own.SCRIPT.language, language);
    for (const part of ["PAGE", "SCRIPT", "LABEL"]) {
      assert.deepEqual(Object.keys(own[part]), Object.keys(english[part]));
      for (const [key, text] of Object.entries(own[part])) {
        assert.deepEqual(placeholders(text), placeholders(english[part][key]), key);
        for (const form of formsOf(text)) assert.ok(form.trim(), key);
        // A text of several words is translated.
        if (/\w+ \w+ \w+/.test(formsOf(english[part][key])[0])) assert.notDeepEqual(text, english[part][key], key);
        if (typeof text === "string") assert.deepEqual(figures(text, language), figures(formsOf(english[part][key])[0], "en"), key);
      }
    }
  });

  test(`${language} has each plural form that its rules choose for a count`, () => {
    const rules = new Intl.PluralRules(language);
    const wanted = new Set([...Array(200).keys()].map((count) => rules.select(count)));
    for (const text of Object.values(catalogues.get(language).SCRIPT)) {
      if (typeof text === "object") assert.deepEqual(new Set(Object.keys(text)), wanted);
    }
  });
}

/** All that a preview says, by what it is about. */
const sentences = ({ notices, protection, perturbed }) => [
  ...notices,
  ...[protection, ...perturbed.map((line) => line.protection)].flatMap(({ words, limit, changes }) => [
    words,
    limit,
    ...changes.flatMap(({ before, range }) => [before, range]),
  ]),
  ...perturbed.flatMap(({ truth, guess }) => [truth, guess]),
];

test("every figure about every sample survey is the same in each language", async () => {
  const samples = [...read("protection").previews, ...read("manifests").manifests];
  let compared = 0;
  for (const { published: document } of samples) {
    const published = await readPublished(document);
    const english = sentences(preview(published));
    for (const language of translations) {
      const words = new Words(catalogues.get(language).SCRIPT);
      const own = sentences(preview(published, undefined, words));
      assert.equal(own.length, english.length);
      for (const [at, sentence] of own.entries()) {
        assert.deepEqual(figures(sentence, language), figures(english[at], "en"), `${sentence} — ${english[at]}`);
        assert.doesNotMatch(sentence, /[{}]/);
        compared += figures(sentence, language).length;
      }
    }
  }
  assert.ok(compared > 1000, `${compared} figures`);
});

test("figures are spelled as the language spells them", () => {
  const [german, spanish, french] = ["de", "es", "fr"].map((language) => new Words(catalogues.get(language).SCRIPT));
  assert.equal(german.decimal("0.693147180559"), "0,693147180559");
  assert.equal(ENGLISH.decimal("0.693147180559"), "0.693147180559");
  assert.deepEqual([german, spanish, french].map((words) => words.factor(30_000n)), ["30.000", "30.000", "30\u202f000"]);
  assert.equal(german.high(787), "78,7\u00a0%");
  assert.equal(german.say("faults", { count: 1 }), catalogues.get("de").SCRIPT.faults.one);
  assert.match(german.say("faults", { count: 3 }), /^Bei 3 Fragen/);
});
