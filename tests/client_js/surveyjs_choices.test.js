/** The choices, rules and expressions of SurveyJS that a marked question may have, with models of survey-core. */

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";

import { InvalidParameter } from "../../client/hushpoll_client_js/src/errors.js";
import { attach, declareMarks } from "../../client/hushpoll_client_js/src/surveyjs.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
const { Model, Serializer, settings } = require("survey-core");
declareMarks(Serializer);

const attribute = (name, categories, missing) => ({ name, missing, domain: [...categories, ...(missing ? [missing] : [])] });
const TRADE = attribute("trade", ["farm", "shop"], "skipped");
const FIRM = attribute("trade", ["farm", "shop"]);
const ILLS = ["asthma", "gout"].map((name) => attribute(name, ["yes", "no"], "no answer"));
const SURE = ["asthma", "gout"].map((name) => attribute(name, ["yes", "no"]));

const JOB = { type: "radiogroup", name: "job", choices: ["farm", "shop"], hushpoll: "trade" };
const SICK = { type: "checkbox", name: "ills", choices: ["asthma", "gout"], hushpoll: { asthma: "asthma", gout: "gout" } };
const ASK = { type: "boolean", name: "ask" };

/** A survey of these elements that is attached, and what its client is given. */
async function attached(elements, attributes, { unsent = [], ...json } = {}) {
  const given = [];
  const survey = new Model({ elements: [elements].flat(), ...json });
  const client = {
    published: async () => ({ attributes: [attributes].flat() }),
    randomize: async (answers) => given.push(answers) && { digest: "kept" },
    send: async () => ({ status: "accepted" }),
  };
  await attach(survey, client, { unsent });
  return { survey, given };
}

/** Complete, and return the answers that were randomised, or why there are none. */
async function completed({ survey, given }) {
  const said = [];
  survey.notify = (message) => said.push(message);
  survey.tryComplete();
  for (let wait = 0; wait < 60_000 && !given.length && !said.length && survey.state !== "completed"; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return given[0] ?? said[0];
}

async function answers(elements, attributes, data, options) {
  const { survey, given } = await attached(elements, attributes, options);
  survey.data = data;
  return completed({ survey, given });
}

const refused = (elements, attributes, words, options) =>
  assert.rejects(attached(elements, attributes, options), (error) => {
    assert.ok(error instanceof InvalidParameter);
    assert.match(error.message, words);
    return true;
  });

describe("a refusal", () => {
  const every = { showNoneItem: true, showRefuseItem: true, showDontKnowItem: true };

  for (const type of ["radiogroup", "dropdown"]) {
    test(`of a ${type} is the missing category`, async () => {
      // Guards: "refused" is no category, so that a respondent who refused could not complete.
      const question = { ...JOB, type, ...every, isRequired: true };
      for (const value of ["none", "refused", "dontknow"]) {
        assert.deepEqual(await answers(question, TRADE, { job: value }), { trade: null });
      }
      assert.deepEqual(await answers(question, TRADE, { job: "farm" }), { trade: "farm" });
    });
  }

  test("is refused at once where there is no missing category, with what to do", async () => {
    for (const [shown, value] of [["showNoneItem", "none"], ["showRefuseItem", "refused"], ["showDontKnowItem", "dontknow"]]) {
      await refused(
        { ...JOB, isRequired: true, [shown]: true },
        FIRM,
        RegExp(`question job offers "${value}", and trade has no missing category; .* hushpollCategories, or switch ${shown} off`),
      );
    }
  });

  test("is a category where it is one, or is translated into one", async () => {
    const withNone = attribute("trade", ["farm", "shop", "none"]);
    assert.deepEqual(await answers({ ...JOB, isRequired: true, showNoneItem: true }, withNone, { job: "none" }), { trade: "none" });
    const question = { ...JOB, isRequired: true, showDontKnowItem: true, hushpollCategories: { dontknow: "shop" } };
    assert.deepEqual(await answers(question, FIRM, { job: "dontknow" }), { trade: "shop" });
    await refused({ ...question, hushpollCategories: { dontknow: "sea" } }, FIRM, /offers "dontknow", which is no category of trade/);
  });

  test("has whatever value the app has given it", async (context) => {
    const { noneItemValue, refuseItemValue, dontKnowItemValue } = settings;
    context.after(() => Object.assign(settings, { noneItemValue, refuseItemValue, dontKnowItemValue }));
    Object.assign(settings, { noneItemValue: "-1", refuseItemValue: "-2", dontKnowItemValue: "-3" });
    for (const value of ["-1", "-2", "-3"]) {
      assert.deepEqual(await answers({ ...JOB, ...every }, TRADE, { job: value }), { trade: null });
    }
    assert.deepEqual(await answers({ ...SICK, ...every }, ILLS, { ills: ["-2"] }), { asthma: null, gout: null });
  });

  test("of a checkbox is no answer to any of its choices, and None is a no to each", async () => {
    // Guards: a refusal was sent as "no" to each choice.
    const question = { ...SICK, ...every };
    for (const value of ["refused", "dontknow"]) {
      assert.deepEqual(await answers(question, ILLS, { ills: [value] }), { asthma: null, gout: null });
    }
    assert.deepEqual(await answers(question, ILLS, { ills: ["none"] }), { asthma: "no", gout: "no" });
    assert.deepEqual(await answers({ ...SICK, showNoneItem: true, isRequired: true }, SURE, { ills: ["none"] }), { asthma: "no", gout: "no" });
    await refused({ ...SICK, showRefuseItem: true }, SURE, /ills offers "refused", and asthma has no missing category/);
    const mixed = [attribute("asthma", ["yes", "no", "unsure"]), attribute("gout", ["yes", "no", "unsure"])];
    const translated = { ...SICK, showDontKnowItem: true, hushpollCategories: { dontknow: "unsure" } };
    assert.deepEqual(await answers(translated, mixed, { ills: ["dontknow"] }), { asthma: "unsure", gout: "unsure" });
  });
});

describe("a ticked box is a yes", () => {
  test("where its value stands in an object", async () => {
    // Guards: with valuePropertyName a ticked box was sent as "no".
    const { survey, given } = await attached({ ...SICK, valuePropertyName: "ill" }, ILLS);
    survey.getQuestionByName("ills").renderedValue = ["asthma"];
    assert.deepEqual(survey.data, { ills: [{ ill: "asthma" }] });
    assert.deepEqual(await completed({ survey, given }), { asthma: "yes", gout: "no" });
  });

  test("where all are selected at once, and where values are numbers", async () => {
    const { survey, given } = await attached({ ...SICK, showSelectAllItem: true }, ILLS);
    survey.getQuestionByName("ills").selectAll();
    assert.deepEqual(await completed({ survey, given }), { asthma: "yes", gout: "yes" });
    const numbers = { ...SICK, choices: [1, { value: 2 }], hushpoll: { 1: "asthma", 2: "gout" } };
    assert.deepEqual(await answers(numbers, ILLS, { ills: [2] }), { asthma: "no", gout: "yes" });
    assert.deepEqual(await answers(numbers, ILLS, { ills: ["2"] }), { asthma: "no", gout: "yes" });
  });
});

describe("what is not offered is not asked", () => {
  const hidden = [
    ["by a rule of the question", { ...SICK, choicesVisibleIf: "{ask} = true or {item} = 'gout'" }],
    ["by a rule of the choice", { ...SICK, choices: [{ value: "asthma", visibleIf: "{ask} = true" }, "gout"] }],
    ["by a rule that disables it", { ...SICK, choices: [{ value: "asthma", enableIf: "{ask} = true" }, "gout"] }],
    ["by a rule that disables some", { ...SICK, choicesEnableIf: "{ask} = true or {item} = 'gout'" }],
  ];
  for (const [name, question] of hidden) {
    test(`a box that is hidden ${name} is the missing category, not a no`, async () => {
      const options = { unsent: ["ask"] };
      assert.deepEqual(await answers([ASK, question], ILLS, { ask: false, ills: ["gout"] }, options), { asthma: null, gout: "yes" });
      assert.deepEqual(await answers([ASK, question], ILLS, { ask: true, ills: ["gout"] }, options), { asthma: "no", gout: "yes" });
      await refused([ASK, question], SURE, /question ills can be skipped, and asthma has no missing category/, options);
    });
  }

  test("a choice that was made and then hidden is not answered", async () => {
    const question = { ...JOB, choices: ["farm", { value: "shop", visibleIf: "{ask} = true" }] };
    const { survey, given } = await attached([ASK, question], TRADE, { unsent: ["ask"] });
    survey.setValue("ask", true);
    survey.setValue("job", "shop");
    survey.setValue("ask", false);
    assert.deepEqual(await completed({ survey, given }), { trade: null });
  });

  for (const [name, elements] of [
    ["a question", [ASK, { ...JOB, visibleIf: "{ask} = true" }]],
    ["a panel", [ASK, { type: "panel", name: "p", visibleIf: "{ask} = true", elements: [JOB] }]],
  ]) {
    for (const clearInvisibleValues of ["none", "onComplete", "onHidden"]) {
      test(`${name} that was answered and then hidden is the missing category (${clearInvisibleValues})`, async () => {
        const { survey, given } = await attached(elements, TRADE, { unsent: ["ask"], clearInvisibleValues });
        survey.setValue("ask", true);
        survey.setValue("job", "shop");
        survey.setValue("ask", false);
        assert.deepEqual(await completed({ survey, given }), { trade: null });
        await refused(elements, FIRM, /job can be skipped/, { unsent: ["ask"] });
      });
    }
  }

  test("a row that a rule hides is the missing category", async () => {
    const rows = ["asthma", { value: "gout", visibleIf: "{ask} = true" }];
    const matrix = { type: "matrix", name: "ills", columns: ["yes", "no"], rows, hushpoll: { asthma: "asthma", gout: "gout" } };
    const data = { ask: false, ills: { asthma: "yes", gout: "yes" } };
    assert.deepEqual(await answers([ASK, matrix], ILLS, data, { unsent: ["ask"] }), { asthma: "yes", gout: null });
    await refused([ASK, { ...matrix, isRequired: true, eachRowRequired: true }], SURE, /ills can be skipped, and gout/, { unsent: ["ask"] });
  });

  for (const [name, change, json] of [
    ["read-only", { readOnly: true }],
    ["disabled by a rule", { enableIf: "{ask} = true" }],
    ["required by a rule", { isRequired: false, requiredIf: "{ask} = true" }],
    ["passed over by a trigger", {}, { triggers: [{ type: "skip", expression: "{ask} = true", gotoName: "ask" }] }],
    ["left out by a trigger", {}, { triggers: [{ type: "complete", expression: "{ask} = true" }] }],
    ["shown by a trigger", {}, { triggers: [{ type: "visible", expression: "{ask} = true", questions: ["job"] }] }],
    ["cut off by a time limit", {}, { timeLimit: 9 }],
    ["gone with its choices", { hideIfChoicesEmpty: true, choicesVisibleIf: "{ask} = true" }],
  ]) {
    test(`a question that is ${name} needs a missing category`, async () => {
      const elements = [ASK, { ...JOB, isRequired: true, ...change }];
      await refused(elements, FIRM, /job can be skipped, and trade has no missing category/, { unsent: ["ask"], ...json });
      await attached(elements, TRADE, { unsent: ["ask"], ...json });
    });
  }
});

describe("the values of a question", () => {
  test("of a dropdown of numbers, a rating and a boolean are all looked at", async () => {
    const numbers = { type: "dropdown", name: "job", choicesMin: 1, choicesMax: 5, choicesStep: 2, hushpoll: "trade" };
    assert.deepEqual(await answers(numbers, attribute("trade", ["1", "3", "5"], "skipped"), { job: 3 }), { trade: "3" });
    await refused(numbers, attribute("trade", ["1", "3"], "skipped"), /job offers 5, which is no category/);
    const rating = { type: "rating", name: "job", rateValues: ["farm", { value: "shop", text: "Shop" }], hushpoll: "trade" };
    assert.deepEqual(await answers(rating, TRADE, { job: "shop" }), { trade: "shop" });
    await refused({ ...rating, rateValues: ["farm", "sea"] }, TRADE, /job offers "sea"/);
    const boolean = { type: "boolean", name: "job", valueTrue: "farm", valueFalse: "shop", hushpoll: "trade" };
    assert.deepEqual(await answers(boolean, TRADE, { job: "shop" }), { trade: "shop" });
    assert.deepEqual(await answers(boolean, TRADE, {}), { trade: null });
    await refused({ ...boolean, valueFalse: "N" }, TRADE, /job offers "N"/);
    for (const renderAs of ["checkbox", "radio"]) {
      const plain = { type: "boolean", name: "job", renderAs, hushpoll: "asthma" };
      assert.deepEqual(await answers(plain, ILLS[0], { job: false }), { asthma: "no" });
      assert.deepEqual(await answers(plain, ILLS[0], {}), { asthma: null });
    }
  });

  test("that it begins with are looked at, too", async () => {
    assert.deepEqual(await answers({ ...JOB, defaultValue: "farm" }, TRADE, {}), { trade: null });
    const { survey, given } = await attached({ ...JOB, defaultValue: "farm" }, TRADE);
    assert.deepEqual(await completed({ survey, given }), { trade: "farm" });
    await refused({ ...JOB, defaultValue: "sea" }, TRADE, /job offers "sea", which is no category of trade/);
  });

  test("that are none of its choices are not sent, and not shown", async () => {
    for (const [question, attributes, value] of [[JOB, TRADE, "mine"], [SICK, ILLS, ["asthma", "mine"]], [{ ...SICK, valuePropertyName: "x" }, ILLS, ["asthma"]]]) {
      const { survey, given } = await attached(question, attributes);
      survey.keepIncorrectValues = true;
      survey.data = { [question.name]: value };
      assert.equal(await completed({ survey, given }), `question ${question.name} has a value that is none of its choices; choose one of them`);
    }
  });

  test("are read behind a name of their own, on the page of the preview, and on single pages", async () => {
    const elements = [{ ...JOB, valueName: "work" }, { type: "comment", name: "remark", valueName: "note" }];
    for (const json of [{}, { showPreviewBeforeComplete: true }, { questionsOnPageMode: "singlePage" }, { questionsOnPageMode: "questionPerPage" }]) {
      const { survey, given } = await attached(elements, TRADE, { unsent: ["remark"], ...json });
      survey.data = { work: "shop", note: "mine" };
      if (json.showPreviewBeforeComplete) survey.showPreview();
      survey.currentPageNo = survey.visiblePages.length - 1;
      assert.deepEqual(await completed({ survey, given }), { trade: "shop" });
      assert.deepEqual(survey.data, { note: "mine" });
    }
  });
});

describe("attach refuses by name, with what to do,", () => {
  const refusals = [
    ["choices from a URL", { ...JOB, choicesByUrl: { url: "https://example.org/jobs", valueName: "id" } }, /question job takes its choices from a server/],
    ["choices that are loaded when asked for", { ...JOB, type: "dropdown", choicesLazyLoadEnabled: true }, /question job takes its choices from a server/],
    ["choices from another question", { ...JOB, choicesFromQuestion: "ask" }, /question job takes its choices from another question; .*choicesVisibleIf/],
    ["choices that respondents add", { ...JOB, type: "dropdown", allowCustomChoices: true }, /question job takes choices that respondents add; switch allowCustomChoices off/],
    ["an Other choice", { ...JOB, showOtherItem: true, storeOthersAsComment: false }, /question job takes free text/],
    ["a comment to a choice", { ...JOB, choices: ["farm", { value: "shop", showCommentArea: true }] }, /question job takes free text/],
    ["questions inside a choice", { ...JOB, choices: ["farm", { value: "shop", elements: [{ type: "text", name: "x" }] }] }, /question job takes free text/],
    ["a value by an expression", { ...JOB, setValueExpression: "{ask}" }, /question job takes its value from an expression/],
    ["a first value by an expression", { ...JOB, defaultValueExpression: "{ask}" }, /question job takes its value from an expression/],
    ["choices that are objects", { ...JOB, choices: [{ value: { a: 1 } }, { value: { a: 2 } }] }, /question job has a choice whose value is an object/],
    ["a tag box", { ...JOB, type: "tagbox" }, /question job is of type tagbox/],
    ["a masked text", { type: "text", name: "job", maskType: "pattern", maskSettings: { pattern: "99" }, hushpoll: "trade" }, /question job is of type text/],
    ["a matrix of rows that respondents add", { type: "matrixdynamic", name: "job", columns: [{ name: "a" }], hushpoll: "trade" }, /question job is of type matrixdynamic/],
    ["a panel that respondents add", { type: "paneldynamic", name: "job", templateElements: [JOB], hushpoll: "trade" }, /question job is of type paneldynamic/],
    ["a panel that respondents add, without a mark", { type: "paneldynamic", name: "jobs", templateElements: [JOB] }, /question jobs has no mark/],
  ];
  for (const [name, question, words] of refusals) {
    test(name, () => refused([ASK, question], TRADE, words, { unsent: ["ask"] }));
  }

  test("several answers in a row of a matrix", () =>
    refused(
      { type: "matrix", name: "ills", cellType: "checkbox", columns: ["yes", "no"], rows: ["asthma", "gout"], hushpoll: SICK.hushpoll },
      ILLS,
      /question ills takes several answers in each row/,
    ));

  test("a choice or a row without an attribute, whose answer would go nowhere", async () => {
    await refused({ ...SICK, choices: ["asthma", "gout", "flu"] }, ILLS, /question ills names no attribute for flu/);
    const rows = ["asthma", "gout", "flu"];
    await refused({ type: "matrix", name: "ills", columns: ["yes", "no"], rows, hushpoll: SICK.hushpoll }, ILLS, /ills names no attribute for flu/);
  });

  for (const [name, elements, json, words] of [
    ["a trigger that sets an answer", [JOB], { triggers: [{ type: "setvalue", expression: "{ask} = true", setToName: "job", setValue: "sea" }] }, /question job is set by a trigger/],
    ["a trigger that copies an answer", [JOB, { type: "text", name: "note" }], { triggers: [{ type: "copyvalue", expression: "{ask} = true", fromName: "job", setToName: "note" }] }, /question note is unsent, and a trigger would keep the answer to job/],
    ["a trigger that computes with one", [JOB, { type: "text", name: "note" }], { triggers: [{ type: "runexpression", expression: "{ask} = true", runExpression: "'x' + {job}", setToName: "note" }] }, /question note is unsent, and a trigger would keep the answer to job/],
    ["an expression that keeps an answer", [JOB, { type: "expression", name: "note", expression: "{JOB}" }], {}, /question note is unsent, and its expression would keep the answer to job/],
    ["a text that is set to an answer", [JOB, { type: "text", name: "note", setValueExpression: "{job}" }], {}, /question note is unsent, and its expression would keep/],
    ["a text that shares an answer's value", [JOB, { type: "text", name: "note", valueName: "job" }], {}, /question note is unsent, and shares its value with job/],
  ]) {
    test(name, () => refused([ASK, ...elements], TRADE, words, { unsent: ["ask", "note"], ...json }));
  }

  test("but no calculated value keeps an answer", async () => {
    const calculatedValues = [{ name: "copy", expression: "{job}", includeIntoResult: true }];
    const { survey, given } = await attached([JOB, { type: "expression", name: "shown", expression: "{job}" }], TRADE, { calculatedValues });
    let seen;
    survey.onComplete.add((sender) => (seen = structuredClone(sender.data)));
    survey.data = { job: "shop" };
    assert.equal(survey.data.copy, "shop");
    assert.deepEqual(await completed({ survey, given }), { trade: "shop" });
    while (survey.state !== "completed") await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(seen, {});
  });
});

test("comments on questions that are not sent stay with the app", async () => {
  const { survey, given } = await attached([JOB, { ...ASK, showCommentArea: true }], TRADE, { unsent: ["ask"] });
  survey.data = { job: "farm", ask: true, "ask-Comment": "mine" };
  await completed({ survey, given });
  assert.deepEqual(survey.data, { ask: true, "ask-Comment": "mine" });
});
