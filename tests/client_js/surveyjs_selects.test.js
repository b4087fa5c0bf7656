/** Select-alls asked by SurveyJS, with models of survey-core. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import { InvalidParameter } from "../../client/hushpoll_client_js/src/errors.js";
import { attach, declareMarks } from "../../client/hushpoll_client_js/src/surveyjs.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
const { Model, Serializer } = require("survey-core");
declareMarks(Serializer);

const OPTIONS = ["Cannabis", "Cocaine", "Heroin"];
const published = (limits) => ({
  attributes: OPTIONS.map((question, at) => ({ name: `drugs_${at + 1}`, question, domain: ["not selected", "selected"] })),
  selects: [{ name: "drugs", attributes: ["drugs_1", "drugs_2", "drugs_3"], at_least: 0, at_most: 3, ...limits }],
});
const DRUGS = { type: "checkbox", name: "taken", choices: OPTIONS, hushpoll: "drugs" };

async function attached(element, limits) {
  const given = [];
  const survey = new Model({ elements: [element] });
  await attach(survey, {
    published: async () => published(limits),
    randomize: async (answers) => given.push(answers) && { digest: "kept" },
    send: async () => ({ status: "accepted" }),
  });
  return { survey, given };
}

async function answers(element, value, limits) {
  const { survey, given } = await attached(element, limits);
  survey.data = { taken: value };
  survey.tryComplete();
  for (let wait = 0; wait < 60_000 && !given.length; wait++) await new Promise((resolve) => setTimeout(resolve, 1));
  return given[0];
}

test("a checkbox and a tagbox give the options that are chosen", async () => {
  assert.deepEqual(await answers(DRUGS, ["Heroin", "Cannabis"]), { drugs: ["Heroin", "Cannabis"] });
  assert.deepEqual(await answers({ ...DRUGS, type: "tagbox" }, ["Cocaine"]), { drugs: ["Cocaine"] });
  assert.deepEqual(await answers(DRUGS, undefined), { drugs: [] });
  assert.deepEqual(await answers({ ...DRUGS, showNoneItem: true }, ["none"]), { drugs: [] });
  const coded = { ...DRUGS, choices: ["c", "k", "h"], hushpollCategories: { c: "Cannabis", k: "Cocaine", h: "Heroin" } };
  assert.deepEqual(await answers(coded, ["k"]), { drugs: ["Cocaine"] });
  const limited = { ...DRUGS, minSelectedChoices: 1, maxSelectedChoices: 2, isRequired: true };
  assert.deepEqual(await answers(limited, ["Heroin"], { at_least: 1, at_most: 2 }), { drugs: ["Heroin"] });
});

test("what may give another answer than a selection within the limits is refused by name", async () => {
  for (const [changes, words, limits] of [
    [{}, /may give fewer than 1; set minSelectedChoices to 1 and isRequired/, { at_least: 1 }],
    [{ minSelectedChoices: 1 }, /may give fewer than 1/, { at_least: 1 }],
    [{}, /may give more than 2; set maxSelectedChoices to 2/, { at_most: 2 }],
    [{ type: "radiogroup" }, /takes several answers; use checkbox or tagbox/],
    [{ showOtherItem: true }, /takes free text/],
    [{ showRefuseItem: true }, /switch showRefuseItem off/],
    [{ showNoneItem: true, minSelectedChoices: 1, isRequired: true }, /switch showNoneItem off/, { at_least: 1 }],
    [{ choices: [...OPTIONS, "Crack"] }, /offers "Crack", which is no option of drugs/],
    [{ choices: OPTIONS.slice(1) }, /offers "Cannabis" 0 times/],
    [{ choicesVisibleIf: "{x} = 1" }, /hides some of its choices/],
    [{ visibleIf: "{x} = 1" }, /can be hidden/],
    [{ hushpoll: undefined }, /has no mark/],
  ]) {
    await assert.rejects(attached({ ...DRUGS, ...changes }, limits), (error) => {
      assert.ok(error instanceof InvalidParameter);
      assert.match(error.message, words);
      return true;
    });
  }
});
