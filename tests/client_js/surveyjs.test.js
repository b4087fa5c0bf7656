import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, test } from "node:test";

import { secureBits } from "../../client/hushpoll_client_js/src/bits.js";
import { codeAnswers, encode } from "../../client/hushpoll_client_js/src/codec.js";
import { InvalidParameter } from "../../client/hushpoll_client_js/src/errors.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { attach, declareMarks, sayTreatment, showFollowUps } from "../../client/hushpoll_client_js/src/surveyjs.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
const { Model, Serializer } = require("survey-core");
declareMarks(Serializer);

const example = (name) => new URL(`../../client/hushpoll_client_js/examples/surveyjs/${name}`, import.meta.url);
const SURVEY = JSON.parse(readFileSync(example("survey.json"), "utf8"));
const MANIFEST = JSON.parse(readFileSync(example("manifest.json"), "utf8"));

/** What the adapter needs of a published survey. */
const published = {
  attributes: MANIFEST.attributes.map(({ name, categories, range: [least, most] = [], missing }) => ({
    name,
    missing,
    domain: [
      ...(categories ?? Array.from({ length: most - least + 1 }, (_, step) => String(least + step))),
      ...(missing ? [missing] : []),
    ],
  })),
};

/** A client that keeps what it is given, for looking at it. */
function recording({ send = async () => ({ status: "accepted" }) } = {}) {
  const given = [];
  return {
    given,
    published: async () => published,
    randomize: async (answers) => given.push(answers) && { digest: "kept" },
    send,
  };
}

const changed = (change) => {
  const json = structuredClone(SURVEY);
  change(json.elements, json);
  return new Model(json);
};

async function completed(survey) {
  survey.doComplete();
  await until(() => survey.state === "completed");
  return survey.state;
}

async function until(condition) {
  for (let wait = 0; wait < 60_000 && !condition(); wait++) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("the answers that a SurveyJS survey gives", () => {
  test("every type of question becomes categories", async () => {
    const survey = new Model(SURVEY);
    const client = recording();
    await attach(survey, client, { unsent: ["remark"] });
    survey.data = {
      smoking: true,
      job: "shop",
      hours: 2,
      mood: 4,
      habits: { drink: "often", gamble: "never" },
      ills: ["asthma"],
      remark: "for me",
    };
    assert.equal(await completed(survey), "completed");
    assert.deepEqual(client.given, [
      {
        smoker: "yes",
        trade: "shop",
        hours: "20 to 40",
        content: "4",
        drinks: "often",
        gambles: "never",
        has_asthma: "yes",
        has_diabetes: "no",
      },
    ]);
  });

  test("what visibility rules skip, and what is not answered, is the missing category", async () => {
    const survey = new Model(SURVEY);
    const client = recording();
    await attach(survey, client, { unsent: ["remark"] });
    survey.setValue("job", "shop");
    survey.setValue("hours", 2);
    survey.setValue("job", "none"); // hides the hours, whose value is still there
    survey.setValue("habits", { drink: "often" });
    assert.equal(await completed(survey), "completed");
    assert.deepEqual(client.given, [
      { smoker: null, trade: "none", hours: null, content: null, drinks: "often", gambles: null, has_asthma: null, has_diabetes: null },
    ]);
  });

  test("nothing ticked but None is a no", async () => {
    const survey = new Model(SURVEY);
    const client = recording();
    await attach(survey, client, { unsent: ["remark"] });
    survey.data = { job: "farm", ills: ["none"] };
    await completed(survey);
    assert.deepEqual([client.given[0].has_asthma, client.given[0].has_diabetes], ["no", "no"]);
  });

  test("handlers of onComplete find no answer, but what is unsent", async () => {
    const survey = new Model(SURVEY);
    await attach(survey, recording(), { unsent: ["remark"] });
    let seen;
    survey.onComplete.add((sender) => (seen = structuredClone(sender.data)));
    survey.data = { job: "farm", smoking: true, remark: "for me" };
    await completed(survey);
    assert.deepEqual(seen, { remark: "for me" });
  });

  test("detached, the survey completes by itself", async () => {
    const survey = new Model(SURVEY);
    const client = recording();
    const detach = await attach(survey, client, { unsent: ["remark"] });
    detach();
    survey.data = { job: "farm" };
    assert.equal(await completed(survey), "completed");
    assert.deepEqual(client.given, []);
  });
});

describe("completing", () => {
  test("is vetoed where nothing could be randomised, and the answers stay", async () => {
    const survey = new Model(SURVEY);
    const client = recording();
    client.randomize = async () => {
      throw new InvalidParameter("the budget is spent");
    };
    await attach(survey, client, { unsent: ["remark"] });
    const said = [];
    survey.notify = (message, kind) => said.push([message, kind]);
    survey.data = { job: "farm" };
    survey.doComplete();
    await until(() => said.length > 0);
    assert.equal(survey.state, "running");
    assert.deepEqual(survey.data, { job: "farm" });
    assert.deepEqual(said, [["the budget is spent", "error"]]);
  });

  test("shows no words that are not the SDK's", async () => {
    const survey = new Model(SURVEY);
    const client = recording();
    client.randomize = async (answers) => {
      throw new TypeError(`cannot read ${answers.trade}`);
    };
    await attach(survey, client, { unsent: ["remark"] });
    const said = [];
    survey.notify = (message) => said.push(message);
    survey.data = { job: "farm" };
    survey.doComplete();
    await until(() => said.length > 0);
    assert.deepEqual(said, ["The answers could not be sent."]);
  });

  test("is vetoed where this device has answered before, and what waits of that is sent", async () => {
    const survey = new Model(SURVEY);
    let sent = 0;
    const client = recording({ send: async () => ++sent && { status: "accepted" } });
    client.randomize = async () => ({ digest: "kept", known: true });
    const receipts = [];
    await attach(survey, client, { unsent: ["remark"], onReceipt: (receipt) => receipts.push(receipt) });
    const said = [];
    survey.notify = (message) => said.push(message);
    survey.data = { job: "farm" };
    survey.doComplete();
    await until(() => said.length > 0);
    assert.equal(survey.state, "running");
    assert.match(said[0], /This device has answered this survey before\. .* neither randomised nor sent/);
    assert.deepEqual([sent, receipts, survey.data], [1, [], {}]);
  });

  test("does not wait for a slow server longer than its patience", async () => {
    const survey = new Model(SURVEY);
    let settle;
    const client = recording({ send: () => new Promise((resolve) => (settle = resolve)) });
    const receipts = [];
    await attach(survey, client, { unsent: ["remark"], patience: 0.01, onReceipt: (receipt) => receipts.push(receipt) });
    survey.data = { job: "farm" };
    assert.equal(await completed(survey), "completed");
    assert.deepEqual(receipts, []);
    settle({ status: "accepted" });
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual(receipts, [{ status: "accepted" }]);
  });
});

describe("a survey is refused at once", () => {
  const refusals = {
    "with a question that has no mark": [(all) => delete all[0].hushpoll, /smoking has no mark/],
    "with a marked text": [(all) => (all[6].hushpoll = "smoker"), /remark is marked and listed as unsent/],
    "with free text": [(all) => all.push({ type: "text", name: "words", hushpoll: "smoker" }), /words is of type text, whose answers are free/],
    "with an Other choice": [(all) => (all[1].showOtherItem = true), /job takes free text/],
    "with a comment area": [(all) => (all[1].showCommentArea = true), /job takes free text/],
    "with an unknown attribute": [(all) => (all[0].hushpoll = "smokers"), /smoking is marked as smokers, which the survey has not/],
    "with an attribute asked twice": [(all) => (all[4].hushpoll.gamble = "drinks"), /habits is marked as drinks, which .* is asked twice/],
    "with an attribute that is not asked": [(all) => all.splice(0, 1), /no question is marked as smoker/],
    "with a choice that is no category": [(all) => all[1].choices.push("sea"), /job offers "sea", which is no category of trade/],
    "with a matrix marked as one": [(all) => (all[4].hushpoll = "drinks"), /habits must name one attribute for each row/],
    "with an unknown row": [(all) => (all[4].hushpoll = { sing: "drinks", gamble: "gambles" }), /habits has no row sing/],
    "with an unknown choice": [(all) => (all[5].hushpoll = { gout: "has_asthma" }), /ills has no choice gout/],
    "with a skippable question and no missing category": [(all) => delete all[1].isRequired, /job can be skipped, and trade has no missing/],
    "with a hidden panel and no missing category": [
      (all) => all.splice(1, 1, { type: "panel", name: "p", visibleIf: "{smoking} = true", elements: [all[1]] }),
      /job can be skipped/,
    ],
    "that sends its pages": [(_, json) => (json.partialSendEnabled = true), /partialSendEnabled would send the answers in clear/],
    "that posts itself": [(_, json) => (json.surveyPostId = "x"), /surveyPostId would send/],
  };
  for (const [name, [change, words]] of Object.entries(refusals)) {
    test(name, async () => {
      const survey = changed(change);
      await assert.rejects(attach(survey, recording(), { unsent: ["remark"] }), (error) => {
        assert.ok(error instanceof InvalidParameter);
        assert.match(error.message, words);
        return true;
      });
      assert.equal(survey.onCompleting.isEmpty, true);
    });
  }
});

test("each question says how its answer is sent", () => {
  const clear = ["content", "drinks"];
  const attributes = MANIFEST.attributes.map(({ name }) => ({ name, oracle: clear.includes(name) ? undefined : {} }));
  const survey = changed((all) => (all[1].description = "In the last week."));
  sayTreatment(survey, { attributes }, ["remark"]);
  const said = Object.fromEntries(survey.getAllQuestions().map(({ name, description }) => [name, description]));
  const randomised = "Randomised on this device before anything is sent.";
  const open = "Sent in clear: the survey's operator can read it.";
  assert.deepEqual(said, {
    smoking: randomised,
    job: `${randomised} In the last week.`,
    hours: randomised,
    mood: open,
    habits: `${randomised} But drink: ${open}`,
    ills: randomised,
    remark: "Not sent: it stays on this page.",
  });
});

describe("a question that answers a follow-up", () => {
  const FOLLOWING = {
    elements: [
      { type: "radiogroup", name: "smoking", isRequired: true, choices: ["never", "sometimes", "daily"], hushpoll: "smokes" },
      { type: "radiogroup", name: "number", isRequired: true, choices: ["few", "many"], hushpoll: "amount" },
      { type: "boolean", name: "quit", isRequired: true, hushpoll: "stops" },
    ],
  };
  const following = {
    attributes: [
      { name: "smokes", categories: ["never", "now and then", "daily"], domain: ["never", "now and then", "daily"] },
      {
        name: "amount",
        categories: ["few", "many"],
        domain: ["few", "many", "not asked"],
        ask_if: { smokes: ["now and then", "daily"] },
        router: 0,
        asking: new Set(["now and then", "daily"]),
      },
      {
        name: "stops",
        categories: ["no", "yes"],
        domain: ["no", "yes", "not asked"],
        ask_if: { amount: ["many"] },
        router: 1,
        asking: new Set(["many"]),
      },
    ],
  };
  const model = (rules = {}) => {
    const json = structuredClone(FOLLOWING);
    json.elements[0].hushpollCategories = { sometimes: "now and then" };
    for (const element of json.elements) if (rules[element.name]) element.visibleIf = rules[element.name];
    return new Model(json);
  };
  const client = () => ({ ...recording(), published: async () => following });
  const RULES = { number: "{smoking} anyof ['sometimes', 'daily']", quit: "{number} = 'many'" };

  test("is shown by the rule that is written for it", async () => {
    const survey = model();
    showFollowUps(survey, following);
    assert.deepEqual(survey.getAllQuestions().map(({ visibleIf }) => visibleIf ?? ""), ["", RULES.number, RULES.quit]);
    await attach(survey, client());
  });

  for (const [number, quit] of [
    [RULES.number, RULES.quit],
    ["{smoking} = 'daily' or {smoking} = 'sometimes'", '{number} == "many"'],
    ["{smoking} anyof [daily, 'sometimes']", "{Number} equal many"],
  ]) {
    test(`may have the rule ${number}`, async () => {
      await attach(model({ number, quit }), client());
    });
  }

  for (const [what, rules, words] of [
    ["no rule", { quit: RULES.quit }, /question number answers amount, a follow-up; give it visibleIf: "\{smoking\} anyof \['sometimes', 'daily'\]"/],
    ["other values", { ...RULES, number: "{smoking} = 'daily'" }, /question number is shown by another rule than amount/],
    ["another question", { ...RULES, quit: "{smoking} = 'daily'" }, /question quit is shown by another rule than stops/],
    ["another form", { ...RULES, number: "{smoking} <> 'never'" }, /question number answers amount, a follow-up; give it visibleIf/],
    ["two questions", { ...RULES, quit: "{number} = 'many' or {smoking} = 'daily'" }, /question quit answers stops, a follow-up/],
    ["a conjunction", { ...RULES, quit: "{number} = 'many' and {smoking} = 'daily'" }, /question quit answers stops, a follow-up/],
  ]) {
    test(`is refused with ${what}`, async () => {
      await assert.rejects(attach(model(rules), client()), words);
    });
  }

  test("gives no answer once it went away, and neither does what is asked after it", async () => {
    const survey = model(RULES);
    const device = client();
    await attach(survey, device);
    survey.setValue("smoking", "daily");
    survey.setValue("number", "many");
    survey.setValue("quit", true);
    survey.setValue("smoking", "never");
    await completed(survey);
    assert.deepEqual(device.given, [{ smokes: "never", amount: null, stops: null }]);
  });

  test("gives its answer where it is asked", async () => {
    const survey = model(RULES);
    const device = client();
    await attach(survey, device);
    survey.data = { smoking: "sometimes", number: "many", quit: false };
    await completed(survey);
    assert.deepEqual(device.given, [{ smokes: "now and then", amount: "many", stops: "no" }]);
  });
});

test("questions of blocks, with follow-ups, are answered one by one and randomised together", async () => {
  const vectors = new URL("../vectors/manifests.json", import.meta.url);
  const { manifests } = JSON.parse(readFileSync(vectors, "utf8"));
  const { published: form, record_size: size } = manifests.find(
    ({ published: one }) => one?.together?.length === 2 && one.attributes.some(({ ask_if }) => ask_if),
  );
  const whole = await readPublished(form);
  const survey = new Model({
    elements: whole.attributes.map(({ name, domain, missing, ask_if }) => ({
      type: "radiogroup",
      name,
      isRequired: missing === undefined,
      choices: domain.filter((one) => one !== missing && !(ask_if && one === "not asked")),
      hushpoll: name,
    })),
  });
  showFollowUps(survey, whole);
  const device = { ...recording(), published: async () => whole };
  device.randomize = async (answers) => device.given.push(answers) && { digest: "kept" };
  await attach(survey, device);
  const first = (name) => survey.getQuestionByName(name).choices[0].value;
  survey.data = {
    ...Object.fromEntries(whole.attributes.map(({ name }) => [name, first(name)])),
    smokes: "daily",
    amount: "more than 20",
    drinks: "yes",
  };
  await completed(survey);
  const [answers] = device.given;
  assert.equal(answers.amount, "more than 20");
  assert.equal(answers.brand, first("brand"));
  assert.equal(answers.wine, first("wine"));
  assert.equal(encode(whole, codeAnswers(whole, answers), secureBits).length, size);
});

describe("a number", () => {
  const numbers = {
    attributes: [
      {
        name: "income",
        missing: "not told",
        categories: ["0", "2500", "5000"],
        domain: ["0", "2500", "5000", "not told"],
        number: { low: 0, high: 5000, unit: "euros" },
        read: (text) => (/^\d+$/.test(text) && text <= 5000 ? +text : text === "not told" ? 5001 : -1),
      },
    ],
  };
  const question = { type: "text", inputType: "number", min: 0, max: 5000, name: "pay", hushpoll: "income" };
  const attached = async (changes) => {
    const survey = new Model({ elements: [{ ...question, ...changes }] });
    const client = { ...recording(), published: async () => numbers };
    await attach(survey, client, { unsent: [] });
    return { survey, client };
  };

  test("is what was typed, or the missing category", async () => {
    for (const [value, answer] of [[1234, "1234"], [0, "0"], [undefined, null]]) {
      const { survey, client } = await attached({});
      if (value !== undefined) survey.setValue("pay", value);
      await completed(survey);
      assert.deepEqual(client.given, [{ income: answer }]);
    }
  });

  test("is refused in a question with other limits or of another type", async () => {
    for (const changes of [{ max: 6000 }, { min: undefined }, { inputType: "text" }]) {
      await assert.rejects(attached(changes), /pay answers income, a whole number from 0 to 5000; give it inputType number, min 0 and max 5000/);
    }
    await assert.rejects(attached({ type: "rating" }), /pay is of type rating, and income is a number; use text with inputType number/);
    await assert.rejects(attached({ defaultValue: 7000 }), /default value that is no whole number/);
  });
});
