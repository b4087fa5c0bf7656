import assert from "node:assert/strict";
import { test } from "node:test";

import { unfold } from "./browser.js";
import { browser, offences, server } from "./site.js";

const PARTIES = ["North", "South", "East", "West", "Centre", "Another"];
const DRAFT = {
  version: 1,
  title: "Your town",
  epsilon: "6",
  protocol: "SS",
  minimum_batch: 1,
  release: "immediate",
  language: "en",
  thanks: "Thank you!\nResults are in the gazette in May.",
  attributes: [
    {
      name: "satisfied",
      role: "sensitive",
      section: "Living here",
      question: "How satisfied are you with life in the town?",
      help: "Think of the last twelve months.\nYour household counts, too.",
      range: [0, 10],
      scale: "ordinal",
      ends: ["not at all satisfied", "completely satisfied"],
      missing: "Prefer not to say",
    },
    {
      name: "party",
      role: "sensitive",
      section: "Voting",
      question: "Whom would you vote for?",
      categories: PARTIES,
      missing: "Prefer not to say",
      shuffle: { last: 1 },
    },
    {
      name: "sports",
      role: "plain",
      section: "Voting",
      question: "What do you do?",
      help: "Tick all of them.",
      categories: ["Run", "Swim", "Ride"],
      select: {},
      shuffle: {},
    },
    { name: "years", role: "sensitive", section: "Voting", question: "How long have you lived here?", range: [0, 30], scale: "ordinal", ends: ["just moved", "a generation"] },
  ],
  translations: {
    de: {
      title: "Ihre Stadt",
      thanks: "Danke!\nErgebnisse im Mai.",
      sections: { "Living here": "Leben hier", Voting: "Wahl" },
      attributes: {
        satisfied: { question: "Wie zufrieden sind Sie?", help: "Im letzten Jahr.", ends: ["gar nicht", "vollkommen"], missing: "k. A." },
        party: { question: "Wen würden Sie wählen?", missing: "k. A." },
        sports: { question: "Was tun Sie?", help: "Alles ankreuzen." },
        years: { question: "Wie lange wohnen Sie hier?", ends: ["neu", "lange"] },
      },
    },
  },
};

async function open(name, { go = true, ...options } = {}) {
  await server.publish({ ...DRAFT, name });
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, ...options });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  const load = async () => {
    await page.goto(`${server.origin}/s/${name}`);
    await page.locator("#go-on:enabled, #problem:visible").first().waitFor({ state: "attached" });
  };
  if (go) await load();
  return { page, said, load };
}

const shoot = async (page, name) => {
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true });
};

const next = (page) => page.locator("#next").click();
const labels = (page, field) => page.locator(`[data-${field}] label`).allInnerTexts();

// Each theme and each width: a theme changes colours and nothing else.
for (const [colorScheme, width] of [["light", 360], ["dark", 1440]]) {
  test(`0 to 10 stands in one row with its ends, at ${width} pixels in the ${colorScheme} theme`, async () => {
    const { page, said } = await open(`row-${colorScheme}-${width}`, { viewport: { width, height: 740 }, colorScheme });
    const steps = await page.locator("[data-attribute=satisfied] .step").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    assert.equal(steps.length, 11);
    assert.equal(new Set(steps).size, 1);
    const box = (selector) => page.locator(selector).evaluate((one) => one.getBoundingClientRect().toJSON());
    const [first, last] = [await box("[data-end] >> nth=0"), await box("[data-end] >> nth=1")];
    const row = await box("[data-attribute=satisfied] .scale");
    // Each end stands over its side of the row, and nothing is wider than the window.
    assert.ok(Math.abs(first.left - row.left) < 12 && Math.abs(last.right - row.right) < 12 && first.right < last.left);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    assert.equal(await page.locator("[data-attribute=satisfied] [data-help]").innerText(), "Think of the last twelve months.\nYour household counts, too.");
    const described = await page.locator("[data-attribute=satisfied]").getAttribute("aria-describedby");
    for (const id of described.split(" ")) assert.equal(await page.locator(`#${id}`).count(), 1, id);
    assert.deepEqual(await offences(page), []);
    await shoot(page, `page-1-${colorScheme}-${width}`);
    await page.getByLabel("7", { exact: true }).check();
    await next(page);
    assert.equal(await page.locator("#page-of").innerText(), "Page 2 of 2");
    // The page begins where its questions do, and says where it is.
    const top = (selector) => page.locator(selector).evaluate((one) => one.getBoundingClientRect().top);
    assert.ok((await top("#page-of")) >= -1 && (await top("[data-attribute=party]")) < 740);
    assert.deepEqual(await offences(page), []);
    await shoot(page, `page-2-${colorScheme}-${width}`);
    await page.getByLabel("East", { exact: true }).check();
    await page.getByLabel("Swim", { exact: true }).check();
    await page.getByRole("spinbutton").fill("12");
    await page.locator("#go-on").click();
    await page.locator("#review:visible").waitFor();
    await unfold(page);
    await shoot(page, `review-${colorScheme}-${width}`);
    await page.locator("#send").click();
    await page.getByRole("heading", { name: "Thank you. Your answers have arrived." }).waitFor();
    assert.match(await page.locator("#receipt-words").innerText(), /^Thank you!\nResults are in the gazette in May\./);
    assert.deepEqual(await offences(page), []);
    await shoot(page, `receipt-${colorScheme}-${width}`);
    assert.deepEqual(said, []);
  });
}

test("the order of answers is drawn anew at each visit, and what stays last stays", async () => {
  const { page, load, said } = await open("orders");
  const orders = new Set();
  const options = new Set();
  for (let visit = 0; visit < 12; visit++) {
    if (visit) await load();
    const parties = await labels(page, "attribute=party");
    assert.deepEqual(parties.slice(5), ["Another", "Prefer not to say"]);
    assert.deepEqual(parties.toSorted(), [...PARTIES, "Prefer not to say"].toSorted());
    orders.add(parties.join());
    options.add((await labels(page, "select=sports")).join());
    assert.deepEqual(await labels(page, "attribute=satisfied"), [...Array(11).keys(), "Prefer not to say"].map(String));
  }
  // Of 120 orders 12 visits show one alone with a chance of 120^-11.
  assert.ok(orders.size > 1 && options.size > 1);
  assert.deepEqual(said, []);
});

test("what is sent does not depend on the order that was shown", async () => {
  const { page } = await open("orders-sent");
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.postDataJSON()));
  await page.getByLabel("7", { exact: true }).check();
  await next(page);
  await page.getByLabel("Ride", { exact: true }).check();
  await page.getByLabel("West", { exact: true }).check();
  await page.getByRole("spinbutton").fill("0");
  await page.locator("#go-on").click();
  await page.locator("#review:visible").waitFor();
  await unfold(page);
  const review = await page.locator("#review").innerText();
  assert.match(review, /What do you do\?\s*Ride/);
  await page.locator("#send").click();
  await page.getByRole("heading", { name: "Thank you. Your answers have arrived." }).waitFor();
  assert.equal(sent.length, 1);
  assert.deepEqual(Object.keys(sent[0]).toSorted(), ["digest", "id", "record"]);
  // The options in clear are three bytes: not run, not swum, ridden.
  const record = [...Buffer.from(sent[0].record, "base64url")];
  assert.deepEqual(record.filter((_, at) => record.slice(at, at + 3).join() === "0,0,1").length >= 1, true);
});

test("a respondent reads help, ends and thanks in their language", async () => {
  const { page, said } = await open("german", { locale: "de-CH" });
  assert.deepEqual(await page.locator("[data-end]").allInnerTexts(), ["gar nicht", "vollkommen", "neu", "lange"].map((text) => text));
  assert.equal(await page.locator("[data-help]").first().innerText(), "Im letzten Jahr.");
  assert.equal(await page.locator("[data-help]").first().getAttribute("lang"), "de");
  assert.deepEqual(said, []);
});

test("a page with another help text than the manifest's is refused", async () => {
  await server.publish({ ...DRAFT, name: "other-help" });
  const page = await (await browser.newContext()).newPage();
  await page.route("**/s/other-help", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace("Think of the last", "Think of the best") });
  });
  await page.goto(`${server.origin}/s/other-help`);
  await page.locator("#problem:visible").waitFor();
  assert.match(await page.locator("#problem").innerText(), /asks something else than the survey's manifest says|questions/);
  assert.equal(await page.locator("#survey").isHidden(), true);
});
