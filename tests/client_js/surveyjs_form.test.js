import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { attach, declareMarks, formOf, showFollowUps } from "../../client/hushpoll_client_js/src/surveyjs.js";
import { inLanguage } from "../../client/hushpoll_client_js/src/wording.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
const { Model, Serializer } = require("survey-core");
declareMarks(Serializer);

const MANIFESTS = JSON.parse(readFileSync(new URL("../vectors/manifests.json", import.meta.url), "utf8")).manifests;
const surveyOf = (name) => readPublished(MANIFESTS.find(({ published }) => published.name === name).published);

/** Counts up, so that the order that it draws is known. */
const steps = () => {
  let at = 0n;
  return () => [at++];
};

test("ends, help, thanks and drawn orders are in the form, in the language that is shown", async () => {
  const published = await surveyOf("presented");
  const german = formOf(published, inLanguage(published, "de"), steps());
  const [scale, party, sports] = german.pages[0].elements;
  assert.deepEqual([scale.type, scale.minRateDescription, scale.maxRateDescription, scale.rateValues.length], ["rating", "gar nicht", "vollkommen", 11]);
  assert.equal(scale.isRequired, false);
  assert.equal(german.completedHtml, "<p>Danke!<br>Bis bald.</p>");
  assert.deepEqual(party.choices.map(({ value }) => value).toSorted(), ["North", "South", "another"]);
  assert.equal(party.choices[2].value, "another");
  assert.equal(sports.choicesOrder, "random");
  const helped = await surveyOf("helped");
  assert.deepEqual(formOf(helped).pages[0].elements.map(({ description }) => description), [
    "Count cigarettes.\nDo not count e-cigarettes.",
    "In the last year.",
    "Where you sleep.",
  ]);
});

test("a matrix is one question, with its help text, the ends of its scale, and its rows in a drawn order", async () => {
  const published = await surveyOf("matrices");
  const [, drinks, trust] = formOf(published, inLanguage(published, "de"), steps()).pages[0].elements;
  assert.deepEqual([drinks.type, drinks.hushpoll, drinks.title], ["matrix", "drinks", "Wie oft trinken Sie das?"]);
  assert.equal(drinks.description, "Denken Sie an das letzte Jahr.");
  assert.deepEqual(drinks.columns.map(({ text }) => text), ["nie: am wenigsten", "monatlich", "wöchentlich: am meisten"]);
  assert.deepEqual(drinks.rows.map(({ value }) => value).toSorted(), ["beer", "spirits", "wine"]);
  assert.equal(drinks.rows[2].value, "spirits");
  assert.ok(trust.eachRowRequired && !drinks.eachRowRequired);
});

test("a section is a page with its heading", async () => {
  const published = await surveyOf("presented");
  const sections = { ...published, attributes: published.attributes.map((one, at) => ({ ...one, section: at < 1 ? "One" : "Two" })) };
  assert.deepEqual(formOf(sections).pages.map(({ title, elements }) => [title, elements.length]), [["One", 1], ["Two", 2]]);
});

test("thanks bring no markup into the form", async () => {
  const published = await surveyOf("presented");
  assert.equal(formOf({ ...published, thanks: "<img src=x onerror=y> & more" }).completedHtml, "<p>&lt;img src=x onerror=y&gt; &amp; more</p>");
});

for (const { published: document } of MANIFESTS) {
  test(`the form of ${document.name} asks what the survey asks: it attaches as it is`, async () => {
    const published = await readPublished(document);
    const survey = new Model(formOf(published));
    showFollowUps(survey, published);
    const client = { published: async () => published };
    const detach = await attach(survey, client);
    assert.equal(typeof detach, "function");
  });
}

test("what is chosen in a drawn order is what is handed over", async () => {
  const published = await surveyOf("presented");
  const survey = new Model(formOf(published));
  const given = [];
  const client = { published: async () => published, randomize: async (answers) => given.push(answers) && { digest: "kept" }, send: async () => ({ status: "accepted" }) };
  await attach(survey, client);
  survey.setValue("satisfied", "7");
  survey.setValue("party", "South");
  survey.setValue("sports", ["another", "running"]);
  survey.doComplete();
  for (let wait = 0; wait < 2000 && survey.state !== "completed"; wait++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(given, [{ satisfied: "7", party: "South", sports: ["another", "running"] }]);
});
