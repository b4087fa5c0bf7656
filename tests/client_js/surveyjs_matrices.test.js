/** Matrices asked by SurveyJS, with models of survey-core. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { InvalidParameter } from "../../client/hushpoll_client_js/src/errors.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { attach, declareMarks, sayTreatment, showFollowUps } from "../../client/hushpoll_client_js/src/surveyjs.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
const { Model, Serializer } = require("survey-core");
declareMarks(Serializer);

const { sound_matrices } = JSON.parse(readFileSync(new URL("../vectors/refusals.json", import.meta.url), "utf8"));
const published = await readPublished(sound_matrices);

const SEX = { type: "radiogroup", name: "sex", choices: ["f", "m"], isRequired: true, hushpoll: "sex" };
const DRINKS = { type: "matrix", name: "cups", columns: ["never", "monthly", "weekly"], rows: ["Wine", "beer", { value: "s", text: "Spirits" }], hushpoll: "drinks" };
const TRUST = { type: "matrix", name: "trust", columns: [1, 2, 3, 4], rows: ["press", "police"], eachRowRequired: true, isRequired: true, hushpoll: "trust" };
const TOWN = { type: "matrix", name: "town", columns: ["no", "yes"], rows: ["tram", "pool"], eachRowRequired: true, isRequired: true, hushpoll: "town" };

async function attached(changes, follow = true) {
  const given = [];
  const elements = [SEX, DRINKS, TRUST, TOWN].map((one) => ({ ...one, ...changes[one.name] }));
  const survey = new Model({ elements });
  if (follow) showFollowUps(survey, published);
  await attach(survey, {
    published: async () => published,
    randomize: async (answers) => given.push(answers) && { digest: "kept" },
    send: async () => ({ status: "accepted" }),
  });
  return { survey, given };
}

async function answers(data, changes = {}) {
  const { survey, given } = await attached(changes);
  survey.data = data;
  survey.tryComplete();
  for (let wait = 0; wait < 60_000 && !given.length; wait++) await new Promise((resolve) => setTimeout(resolve, 1));
  return given[0];
}

test("a matrix that is marked by its name answers its items, rows being names or texts", async () => {
  const data = { sex: "f", cups: { Wine: "never", beer: "weekly" }, trust: { press: 1, police: 4 }, town: { tram: "no", pool: "yes" } };
  assert.deepEqual(await answers(data), { sex: "f", wine: "never", beer: "weekly", spirits: null, press: "1", police: "4", tram: "no", pool: "yes" });
  const away = { ...data, cups: { beer: "never" } };
  assert.deepEqual(await answers(away), { sex: "f", wine: null, beer: "never", spirits: null, press: null, police: null, tram: "no", pool: "yes" });
});

test("a follow-up of an item is shown by the row's value", async () => {
  const { survey } = await attached({});
  assert.equal(survey.getQuestionByName("trust").visibleIf, "{cups.beer} = 'weekly'");
});

test("a matrix in clear is said to be in clear", () => {
  const survey = new Model({ elements: [DRINKS, TOWN] });
  sayTreatment(survey, published);
  assert.match(survey.getQuestionByName("cups").description, /^Randomised/);
  assert.match(survey.getQuestionByName("town").description, /^Sent in clear/);
});

test("a select-all in clear is said to be in clear", () => {
  const options = ["a", "b"].map((question, at) => ({ name: `tags_${at + 1}`, question, domain: ["not selected", "selected"] }));
  const survey = new Model({ elements: [{ type: "checkbox", name: "tags", choices: ["a", "b"], hushpoll: "tags" }] });
  sayTreatment(survey, { attributes: options, selects: [{ name: "tags", attributes: ["tags_1", "tags_2"], at_least: 0, at_most: 2 }] });
  assert.match(survey.getQuestionByName("tags").description, /^Sent in clear/);
});

test("a matrix with other rows or columns, or of another type, is refused by name", async () => {
  for (const [name, changes, words] of [
    ["cups", { type: "radiogroup", choices: ["never"] }, /is of type radiogroup, and drinks is a matrix; use matrix/],
    ["cups", { rows: ["wine", "beer", "tea"] }, /has the row tea, which is no item of drinks; its items are wine, beer, spirits/],
    ["cups", { rows: ["wine", "beer"] }, /no question is marked as spirits/],
    ["cups", { columns: ["never", "daily"] }, /offers "daily", which is no category of wine/],
    ["town", { eachRowRequired: false }, /can be skipped, and tram has no missing category/],
  ]) {
    await assert.rejects(attached({ trust: { visibleIf: "{cups.beer} = 'weekly'" }, [name]: changes }, false), (error) => {
      assert.ok(error instanceof InvalidParameter);
      assert.match(error.message, words);
      return true;
    });
  }
});
