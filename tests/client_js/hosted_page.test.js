import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { preview } from "../../client/hushpoll_client_js/src/preview.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { ENGLISH } from "../../client/hushpoll_client_js/src/words.js";
import * as german from "../../client/hushpoll_client_js/src/words/de.js";
import { unfold } from "./browser.js";
import { browser, offences, server } from "./site.js";

const PHONE = { width: 360, height: 740 };
const MOST_BYTES = 40_000;

const DRAFT = {
  title: "Work and health",
  description: "How work goes together with health.",
  epsilon: "6",
  minimum_batch: 1,
  release: "immediate",
  attributes: [
    {
      name: "smoker",
      role: "sensitive",
      protocol: "GRR",
      categories: ["no", "yes"],
      missing: "Prefer not to say",
      question: "Do you smoke?",
    },
    { name: "age", role: "sensitive", protocol: "OLH", range: [18, 90], missing: "Not told", question: "How old are you?" },
    { name: "trade", role: "sensitive", protocol: "SS", categories: ["farm", "shop", "office", "none"] },
    {
      name: "town",
      role: "plain",
      question: "Which town do you live in?",
      categories: ["Bergen", "Delft", "Gent", "Graz", "Lyon", "Oslo", "Porto", "Québec", "Turin"],
    },
  ],
};

/** A published survey, and its page in a profile of its own. */
async function open(name, { draft = {}, fragment = "", go = true, ...options } = {}) {
  const published = await server.publish({ ...DRAFT, ...draft, name, version: 1 });
  const context = await browser.newContext({ viewport: PHONE, ...options });
  const said = [];
  const requests = [];
  const page = await context.newPage();
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => requests.push(request));
  const url = `${server.origin}/s/${name}`;
  const goTo = async (address = url + fragment) => {
    await page.goto(address);
    await page.locator("#go-on:enabled, #problem:visible").first().waitFor({ state: "attached" });
  };
  if (go) await goTo();
  return { page, context, said, requests, url, goTo, digest: published.digest, reports: `**/surveys/${name}/reports` };
}

async function fill(page, { smoker = "yes" } = {}) {
  await page.getByLabel(smoker, { exact: true }).check();
  await page.getByRole("spinbutton", { name: "How old are you?" }).fill("44");
  await page.getByLabel("office").check();
  await page.getByLabel("Which town do you live in?").selectOption({ label: "Oslo" });
}

const toReview = (page) => page.getByRole("button", { name: "See what would be sent" }).click();
const agree = (page) => page.getByRole("button", { name: "Agree and send" }).click();
const heading = async (page, name) => {
  await page.getByRole("heading", { name }).waitFor();
  if (name === "What would be sent") await unfold(page);
};

const receiptOf = (page) => page.locator("#receipt").innerText();

/** Every row that the browser keeps for this site. */
const stored = (page) =>
  page.evaluate(async () => {
    const rows = [];
    for (const { name } of await indexedDB.databases()) {
      const database = await new Promise((resolve) => (indexedDB.open(name).onsuccess = (event) => resolve(event.target.result)));
      for (const store of database.objectStoreNames) {
        rows.push(...(await new Promise((resolve) => (database.transaction(store).objectStore(store).getAll().onsuccess = (event) => resolve(event.target.result)))));
      }
      database.close();
    }
    return rows;
  });

/** Answer the survey up to its receipt. */
async function submit(page) {
  await fill(page);
  await toReview(page);
  await agree(page);
}

/** Whether all of an element can be seen without scrolling. */
const inSight = (locator) =>
  locator.evaluate((element) => {
    const { top, bottom, height } = element.getBoundingClientRect();
    return height > 0 && top >= 0 && bottom <= innerHeight;
  });

test("a survey is answered on a phone, and the server's estimate has it", async () => {
  const { page, said, requests } = await open("phone");
  await fill(page);
  await toReview(page);
  await heading(page, "What would be sent");
  const clear = await page.locator("#review-clear").innerText();
  assert.match(clear, /Which town do you live in\?\s*Oslo/);
  const perturbed = await page.locator("#review-perturbed").innerText();
  // e^2 / (e^2 + 2) for three answers under GRR at epsilon 6 / 3, rounded up; and e^2 o / (1 + e^2 o) at odds o of 9.
  assert.match(perturbed, /What is sent is your true answer with a chance of 78\.7 %\./);
  assert.match(perturbed, /9 in 10\s+54\.9\s% to 98\.6\s%/);
  const notices = await page.locator("#review-notices").innerText();
  assert.match(notices, /^Protection is weak[^]*soon after they arrive[^]*as few as 1 new reports/);
  assert.match(await page.locator("#review-cost").innerText(), /at most 6\./);
  assert.equal(requests.filter((request) => request.method() === "POST").length, 0);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await server.count("phone"), 1);
  const posts = requests.filter((request) => request.method() === "POST");
  assert.equal(posts.length, 1);
  assert.deepEqual(Object.keys(posts[0].postDataJSON()).sort(), ["digest", "id", "record"]);
  assert.deepEqual(said, []);
});

for (const [epsilon, words] of [
  ["0.9", "Your randomised answers are strongly protected."],
  ["5.9", "Your randomised answers are protected to a limited degree."],
  ["6", "Protection is weak: what is sent can say a lot about you."],
  ["60", "Your answers are hardly protected: treat them as if they were sent as they are."],
]) {
  test(`every sentence about protection at epsilon ${epsilon} is one that tests compute from the law`, async () => {
    const name = `words-${epsilon.replace(".", "-")}`;
    const { page, said } = await open(name, { draft: { epsilon, release: "daily", minimum_batch: 100 } });
    // The SDK's sentences: vectors hold them to those of the Python SDK, whose figures are computed from the law.
    const published = await readPublished(await (await fetch(`${server.origin}/api/v1/surveys/${name}`)).json());
    const { protection, perturbed, notices } = preview(published);
    assert.equal(protection.words, words);
    const notice = await page.locator("#survey-notices p").allInnerTexts();
    assert.deepEqual(notice, Number(epsilon) >= 6 ? [words] : []);
    assert.deepEqual(notice, notices);
    assert.deepEqual(
      await page.locator("[data-treatment=perturbed] .treatment").allInnerTexts(),
      perturbed.map((line) => `Randomised on this device. ${line.protection.words}`),
    );
    await fill(page);
    await toReview(page);
    await heading(page, "What would be sent");
    assert.deepEqual(await page.locator("#review-notices p").allInnerTexts(), notices);
    assert.deepEqual(await page.locator("#review-together p:not(.legend)").allInnerTexts(), [
      ENGLISH.say("review.answers"),
      ...(notices.includes(protection.words) ? [] : [protection.words]),
      protection.limit,
      ENGLISH.say("reading"),
      ENGLISH.say("this_survey_alone"),
    ]);
    assert.deepEqual(await page.locator("#review-perturbed p").allInnerTexts(), perturbed.flatMap((line) => [
      line.protection.words,
      line.truth,
      line.protection.limit,
      line.guess,
      `${line.protocol}, epsilon ${line.epsilon}`,
    ]));
    const rows = await page.locator(".beliefs tbody tr").evaluateAll((rows) =>
      rows.map((row) => {
        const [before, after] = ["before", "after"].map((name) => Number(row.querySelector(`.bar .${name}`).getAttribute("width")));
        return [row.cells[0].innerText, before, after, row.cells[2].innerText.replaceAll("\u00a0", " ")];
      }),
    );
    assert.deepEqual(rows, [protection, ...perturbed.map((line) => line.protection)].flatMap(({ changes }) =>
      changes.map(({ before, prior, high, range }) => [before, prior, high, range]),
    ));
    for (const untrue of [/not your answer/, /can only guess/, /Nothing is sent as you answered/]) {
      assert.doesNotMatch(await page.locator("main").innerText(), untrue);
    }
    assert.deepEqual(said, []);
  });
}

test("what is folded in the review of ten questions is one tap away", async () => {
  const question = (at) => ({ name: `q${at}`, role: "sensitive", protocol: "GRR", categories: ["no", "yes"], question: `Have you done the thing of number ${at}?`, help: "Think of the last twelve months.\nCount it once." });
  const draft = { epsilon: "5", release: "daily", minimum_batch: 100, attributes: Array.from({ length: 10 }, (_, at) => question(at)) };
  const { page, said } = await open("ten", { draft, viewport: { width: 360, height: 800 } });
  for (let at = 0; at < 10; at++) await page.locator(`[data-attribute="q${at}"]`).getByLabel("yes").check();
  await toReview(page);
  await page.getByRole("heading", { name: "What would be sent" }).waitFor();
  assert.deepEqual(await offences(page), []);
  const figures = page.getByText("What is sent is your true answer with a chance of").first();
  assert.equal(await figures.isVisible(), false);
  await page.getByText("Each answer by itself").click();
  assert.equal(await figures.isVisible(), true);
  const operator = page.getByRole("row", { name: "The operator of the server" });
  assert.equal(await operator.isVisible(), false);
  await page.getByText("Who can learn what").first().click();
  assert.equal(await operator.getByRole("cell").innerText(), "a hint: odds times 150 at most; with other scripts, your answer");
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  assert.deepEqual(await offences(page), []);
  await page.getByText("Your answers", { exact: true }).click();
  assert.equal(await page.locator("#review-together dd").first().isVisible(), true);
  assert.deepEqual(said, []);
  await page.close();
});

test("a block is asked question by question, reviewed as one, and sent as one value", async () => {
  const draft = { together: [{ name: "habits", attributes: ["trade", "smoker"], protocol: "SS" }], attributes: DRAFT.attributes.map(({ protocol, ...rest }) => (rest.role === "sensitive" ? { ...rest, ...(rest.name === "age" && { protocol }) } : rest)) };
  const { page, said, requests } = await open("block", { draft });
  assert.match(await page.locator('[data-attribute="smoker"]').innerText(), /It is randomised together with the answers to: “trade”\. These 2 answers are weakly protected/);
  await fill(page);
  await toReview(page);
  await heading(page, "What would be sent");
  assert.match(await page.locator("#review-together").innerText(), /trade\s*office\s*Do you smoke\?\s*yes/);
  const each = await page.locator("#review-perturbed").innerText();
  assert.match(each, /These 2 answers together\s*trade\s*Do you smoke\?\s*These 2 answers are weakly protected/);
  assert.match(each, /best guess of all 2 answers/);
  assert.deepEqual(await offences(page), []);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await server.count("block"), 1);
  assert.equal(requests.filter((request) => request.method() === "POST").length, 1);
  assert.deepEqual(said, []);
  await page.close();
});

test("a follow-up comes and goes with its router's answer, and what went away is not kept", async () => {
  const [smoker, age, trade, town] = DRAFT.attributes;
  const draft = {
    protocol: "GRR",
    attributes: [
      town,
      smoker,
      { name: "amount", role: "sensitive", categories: ["up to 20", "more than 20"], question: "How many a day?", section: "Smoking", ask_if: { smoker: ["yes"] } },
      { name: "brand", role: "sensitive", categories: ["red", "blue"], missing: "Not told", section: "Smoking", ask_if: { amount: ["more than 20"] } },
      { ...age, ask_if: undefined },
      trade,
    ],
    together: [{ name: "habits", attributes: ["smoker", "amount"] }],
  };
  const { page, said } = await open("follow", { draft });
  const shown = async () => page.locator("fieldset:visible").evaluateAll((fields) => fields.map(({ dataset }) => dataset.attribute));
  const progress = () => page.locator("#answered-words").innerText();
  const pages = () => page.locator("#page-of").innerText();
  const turn = (name) => page.getByRole("button", { name, exact: true }).click();
  assert.deepEqual(await shown(), ["town", "smoker"]);
  assert.equal(await page.getByRole("heading", { name: "Smoking" }).isVisible(), false);
  assert.match(await progress(), /0 of 4/);
  assert.equal(await pages(), "Page 1 of 2");
  await page.getByLabel("yes", { exact: true }).check();
  assert.equal(await pages(), "Page 1 of 3");
  // A page is left when its questions have what they want, and not before.
  await turn("Next page");
  await page.getByRole("alert").getByText("One question wants an answer:").waitFor();
  assert.deepEqual(await shown(), ["town", "smoker"]);
  await page.locator('[data-attribute="town"] select').selectOption({ label: "Oslo" });
  await turn("Next page");
  assert.deepEqual(await shown(), ["amount"]);
  await page.getByLabel("more than 20").check();
  await page.getByLabel("blue").check();
  assert.deepEqual(await shown(), ["amount", "brand"]);
  assert.equal(await page.getByRole("heading", { name: "Smoking" }).isVisible(), true);
  assert.match(await progress(), /4 of 6/);
  assert.deepEqual(await offences(page), []);
  await turn("Back");
  await page.getByLabel("no", { exact: true }).check();
  assert.equal(await pages(), "Page 1 of 2");
  await page.getByLabel("yes", { exact: true }).check();
  await turn("Next page");
  assert.deepEqual(await shown(), ["amount"]);
  assert.equal(await page.locator('[data-attribute="amount"] input:checked').count(), 0);
  await page.getByLabel("up to 20").check();
  await turn("Next page");
  assert.deepEqual(await shown(), ["age", "trade"]);
  assert.equal(await pages(), "Page 3 of 3");
  // What is asked must be answered, what is not asked must not.
  await page.getByRole("spinbutton", { name: "How old are you?" }).fill("44");
  await toReview(page);
  await page.getByRole("alert").getByText("One question wants an answer:").waitFor();
  await page.getByLabel("office").check();
  await turn("Back");
  await turn("Back");
  await page.getByLabel("no", { exact: true }).check();
  await turn("Next page");
  assert.equal(await pages(), "Page 2 of 2");
  await toReview(page);
  await heading(page, "What would be sent");
  const together = await page.locator("#review-together").innerText();
  assert.match(together, /Do you smoke\?\s*no\s*How many a day\?\s*not asked\s*brand\s*not asked/);
  const each = await page.locator("#review-perturbed").innerText();
  assert.match(each, /“How many a day\?” is asked only after some answers to “Do you smoke\?”; “not asked” counts as one of its answers\./);
  assert.match(each, /Together with their follow-ups, which tell whether they were asked, they change the odds/);
  assert.match(each, /This guess does not use what is sent of follow-ups\./);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await server.count("follow"), 1);
  assert.deepEqual(said, []);
  await page.close();
});

test("no other server is asked, and the answers are in the report alone", async () => {
  const { page, context, requests } = await open("nobody");
  await fill(page);
  await toReview(page);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.deepEqual([...new Set(requests.map((request) => new URL(request.url()).origin))], [server.origin]);
  for (const request of requests) assert.doesNotMatch(request.url() + (request.postData() ?? ""), /office|["=]Oslo|=44\b/);
  const kept = JSON.stringify([
    await stored(page),
    await page.evaluate(() => [{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href]),
  ]);
  assert.doesNotMatch(kept, /office|"Oslo|"44"/);
  assert.deepEqual(await context.cookies(), []);
  // The form itself forgets, so that neither "back" nor a restored session shows the answers.
  assert.deepEqual(await page.locator("input:checked").count(), 0);
  assert.equal(await page.locator("#q1").inputValue(), "");
});

test("the page loads the scripts that it names, no part for other surveys, and at most 40 kB in all", async () => {
  const { page, requests, url } = await open("size");
  const sizes = await Promise.all(
    [...new Set(requests.map((request) => request.url()))].map(async (address) => {
      const answer = await fetch(address, { headers: { "Accept-Encoding": "gzip" } });
      return [(await answer.arrayBuffer()).byteLength, Number(answer.headers.get("Content-Length"))];
    }),
  );
  assert.ok(requests.some((request) => request.url() === url));
  // Of the service worker, which is another program, the browser alone asks for the script.
  const scripts = requests.filter((request) => request.resourceType() === "script" && !request.url().endsWith("worker.js"));
  const named = await page.locator("link[data-kept]").evaluateAll((links) => links.map((link) => link.href));
  assert.deepEqual(scripts.map((request) => request.url()).sort(), named.sort());
  for (const address of named) assert.match(address, /\/page\/main\.js$|\/parts\/chunk-\w+\.js$/);
  const [decoded, sent] = [0, 1].map((at) => sizes.reduce((sum, size) => sum + size[at], 0));
  console.log(`${sizes.length} files: ${sent} bytes sent, ${decoded} bytes unpacked`);
  assert.ok(sent <= MOST_BYTES, `${sent} bytes`);
  await page.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in any part of the page (${colorScheme})`, async () => {
    const { page } = await open(`axe-${colorScheme}`, { colorScheme });
    assert.deepEqual(await offences(page), []);
    await toReview(page);
    await page.getByRole("alert").getByText("2 questions want an answer:").waitFor();
    assert.deepEqual(await offences(page), []);
    await fill(page);
    await toReview(page);
    await heading(page, "What would be sent");
    assert.deepEqual(await offences(page), []);
    await agree(page);
    await heading(page, "Thank you. Your answers have arrived.");
    assert.deepEqual(await offences(page), []);
    await page.goto(`${server.origin}/s/no-such-survey`);
    await heading(page, "There is no such survey here");
    assert.deepEqual(await offences(page), []);
  });
}

test("nothing is wider than a phone of 360 pixels", async () => {
  const long = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenauszahlungsstelle";
  const attributes = [{ ...DRAFT.attributes[0], question: `${long}?`, categories: [long, `${long} no`] }, ...DRAFT.attributes.slice(1)];
  const { page } = await open("narrow", { draft: { title: long, attributes } });
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.equal(await overflow(), 0);
  await fill(page, { smoker: long });
  await toReview(page);
  await heading(page, "What would be sent");
  assert.equal(await overflow(), 0);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await overflow(), 0);
});

test("the page says that all answers of a draw are read and some are sent", async () => {
  const draft = { draws: [{ name: "rota", blocks: ["smoker", "age", "trade"], answer: 1 }], together: undefined };
  const { page, said } = await open("draw", { draft });
  const beside = await page.locator('[data-attribute="smoker"] .treatment').innerText();
  assert.match(beside, /Your device sends 1 of 3 such answers, chosen at random, so this one is sent with a chance of 1 in 3\./);
  assert.doesNotMatch(await page.locator('[data-attribute="town"] .treatment').innerText(), /random/);
  await page.getByLabel("yes", { exact: true }).check();
  await page.getByRole("spinbutton", { name: "How old are you?" }).fill("44");
  await page.getByLabel("office").check();
  await page.locator('[data-attribute="town"] select').selectOption({ label: "Oslo" });
  await toReview(page);
  await heading(page, "What would be sent");
  const sentence = /Your device reads all of these 3 answers and sends 1 of them, chosen at random by your device, whatever the answers are\./;
  assert.match(await page.locator("#review-together").innerText(), sentence);
  const each = await page.locator("#review-perturbed").innerText();
  assert.match(each, sentence);
  assert.equal(each.match(/It is sent with a chance of 1 in 3; the sentences below hold where it is sent\./g).length, 3);
  assert.deepEqual(await offences(page), []);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await server.count("draw"), 1);
  assert.deepEqual(said, []);
  await page.close();
});

test("the keyboard alone is enough, and the focus follows", async () => {
  const { page } = await open("keyboard");
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press("Tab", "Enter"); // why this is safe
  await page.getByText("proves nobody's answer").waitFor();
  await press("Tab", "Space", "ArrowDown"); // "no", then "yes"
  await press("Tab");
  await page.keyboard.type("44");
  await press("Tab", "Tab", "Space", "Tab");
  await page.keyboard.type("Os");
  await press("Tab", "Enter");
  await heading(page, "What would be sent");
  assert.equal(await page.evaluate(() => document.activeElement.id), "review-heading");
  await press("Tab", "Tab", "Tab", "Tab", "Tab"); // answers in clear, three folds, and the label of consequences
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Who can learn what");
  await press("Tab", "Tab", "Enter"); // more about the loss, and the button
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await page.evaluate(() => document.activeElement.id), "receipt-heading");
  assert.equal(await server.count("keyboard"), 1);
});

test("unanswered questions are named, linked and marked; a missing category stands in for a skipped one", async () => {
  const { page } = await open("faults");
  await page.locator("#q1").fill("17");
  await toReview(page);
  const alert = page.getByRole("alert");
  await alert.waitFor();
  assert.match(await alert.innerText(), /3 questions want an answer:\s*How old are you\?: give a whole number from 18 to 90\s*trade: choose an answer\s*Which town/);
  assert.equal(await page.locator("[aria-invalid=true]").count(), 3);
  const beside = () => page.locator(".fault:visible").allInnerTexts();
  assert.deepEqual(await beside(), ["Give a whole number from 18 to 90.", "Choose an answer.", "Choose an answer."]);
  assert.deepEqual(await page.locator(".need").allInnerTexts(), [
    "You may skip it: “Prefer not to say” is then randomised in place of an answer.",
    "You may skip it: “Not told” is then randomised in place of an answer.",
    "An answer is required.",
    "An answer is required.",
  ]);
  await alert.getByRole("link", { name: "trade" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "q2-0");
  // What is right again is no longer called wrong, and what is wrong now is not said before it is asked.
  await page.locator("#q1").fill("");
  await page.locator("#q1").blur();
  assert.deepEqual(await beside(), ["Choose an answer.", "Choose an answer."]);
  await page.getByLabel("office").check();
  assert.deepEqual(await beside(), ["Choose an answer."]);
  assert.equal(await page.locator("[aria-invalid=true]").count(), 1);
  assert.equal(await alert.isVisible(), true);
  await page.locator("#q1").fill("17");
  await page.locator("#q1").blur();
  assert.deepEqual(await beside(), ["Choose an answer."]);
  await page.locator("#q1").fill("");
  await page.getByLabel("Which town do you live in?").selectOption({ label: "Oslo" });
  assert.deepEqual(await beside(), []);
  assert.equal(await page.locator("#problem").isVisible(), false);
  await toReview(page);
  await heading(page, "What would be sent");
  assert.equal(await page.locator("#problem").isVisible(), false);
  const skipped = "(you skipped this question; this is randomised in its place)";
  assert.deepEqual(await page.locator("#review-together dd").allInnerTexts(), [`Prefer not to say ${skipped}`, `Not told ${skipped}`, "office"]);
  assert.deepEqual(await page.locator("#review-clear dd").allInnerTexts(), ["Oslo"]);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
});

test("a digest in the link is what the survey must have", async () => {
  const { page, goTo, url, digest, requests } = await open("pinned", { fragment: `#sha256=${"0".repeat(64)}` });
  assert.match(await page.getByRole("alert").innerText(), /digest is [0-9a-f]{64}, not 0{64} as pinned; nothing was sent/);
  // Answers that cannot be sent are not asked for.
  assert.equal(await page.locator("#survey").isVisible(), false);
  assert.equal(await page.locator("#go-on").isEnabled(), false);
  await page.goto("about:blank");
  await goTo(`${url}#sha256=${digest.toUpperCase()}`);
  assert.equal(await page.locator("#go-on").isEnabled(), true);
  assert.ok(requests.every((request) => !request.url().includes("sha256")));
});

test("a page that asks something else than its manifest is refused", async () => {
  const { page, context, url } = await open("swapped", { go: false });
  await context.route(url, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace(">no</label>", ">yes</label>").replace('value="1"><label for="q0-1">yes', 'value="1"><label for="q0-1">no');
    await route.fulfill({ response: answer, body });
  });
  await page.goto(url);
  await page.getByRole("alert").getByText("asks something else").waitFor();
  assert.equal(await page.locator("#go-on").isEnabled(), false);
});

test("a token travels in the fragment, leaves the address bar, and is spent once", async () => {
  const { page, context, url, requests } = await open("tokens", { draft: { submission: "token" }, go: false });
  const { tokens } = await server.ask("surveys/tokens/tokens", { count: 1 });
  const answer = async (tab, address) => {
    await tab.goto(address);
    await tab.locator("#go-on:enabled").waitFor();
    await fill(tab);
    await toReview(tab);
    await agree(tab);
  };
  await answer(page, `${url}#token=${tokens[0]}`);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(page.url(), url);
  assert.ok(requests.every((request) => !request.url().includes(tokens[0])));
  assert.equal(await server.count("tokens"), 1);
  await context.close();
  const other = await (await browser.newContext()).newPage();
  await answer(other, `${url}#token=${tokens[0]}`);
  await heading(other, "The server did not take the answers.");
  assert.match(await receiptOf(other), /open the survey on this device by a link with another token/);
  // The same report goes out with another token, and only when there is one.
  const sent = [];
  other.on("request", (request) => request.method() === "POST" && sent.push(request.postDataJSON().id));
  await other.goto("about:blank");
  await other.goto(url);
  await heading(other, "The server did not take the answers.");
  assert.deepEqual(sent, []);
  const number = await other.getByText("Number of the report").locator("xpath=following-sibling::dd[1]").innerText();
  const { tokens: more } = await server.ask("surveys/tokens/tokens", { count: 1 });
  await other.goto("about:blank");
  await other.goto(`${url}#token=${more[0]}`);
  await other.getByText("The report has arrived").waitFor();
  assert.deepEqual(sent, [number]);
  assert.equal(await server.count("tokens"), 2);
  const third = await (await browser.newContext()).newPage();
  await answer(third, url);
  assert.match(await third.getByRole("alert").innerText(), /token/);
  assert.equal(await server.count("tokens"), 2);
});

test("an invitation is redeemed blindly, leaves the address bar, and is worth one report", async () => {
  const { page, context, url, requests, said } = await open("invited", { draft: { submission: "invited" }, go: false });
  const { invitations } = await server.ask("surveys/invited/versions/1/invitations", { count: 2 });
  const answer = async (tab, invitation) => {
    await tab.goto(invitation ? `${url}#invitation=${invitation}` : url);
    await tab.locator("#go-on:enabled").waitFor();
    await fill(tab);
    await toReview(tab);
    await heading(tab, "What would be sent");
  };
  await answer(page, invitations[0]);
  while (!(await stored(page)).some((row) => row.token)) await page.waitForTimeout(20);
  // Loaded again, the address has the invitation no more, and this device has its token.
  await answer(page);
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.match(await page.locator("#review").innerText(), /not linkable from what is stored, once your report is mixed with others/);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(page.url(), url);
  assert.ok(requests.every((request) => !request.url().includes(invitations[0])));
  const posts = requests.filter((request) => request.method() === "POST");
  const sent = posts.map((request) => [request.url().split("/").at(-1), request.headers()["authorization"]]);
  assert.deepEqual(sent.map(([to]) => to), ["redemptions", "reports"]);
  assert.equal(sent[0][1], `Bearer ${invitations[0]}`);
  assert.match(sent[1][1], /^Bearer [\w-]{128}$/);
  assert.equal(await server.count("invited"), 1);
  const kept = JSON.stringify(await stored(page));
  assert.ok(!kept.includes(invitations[0]) && !kept.includes(sent[1][1].slice(7)));
  assert.deepEqual(said, []);
  await context.close();
  // Another device with the same link.
  const other = await (await browser.newContext()).newPage();
  await answer(other, invitations[0]);
  await agree(other);
  assert.match(await other.getByRole("alert").innerText(), /does not accept the token or the invitation/);
  await other.context().close();
  const none = await (await browser.newContext()).newPage();
  await none.goto(url);
  assert.match(await none.getByRole("alert").innerText(), /wants a token or an invitation/);
  await answer(none);
  await agree(none);
  assert.match(await none.getByRole("alert").innerText(), /wants a token or an invitation/);
  assert.equal(await server.count("invited"), 1);
  await none.context().close();
});

test("without a network the page opens, keeps the answers randomised, and sends them later", async () => {
  const { page, context, goTo } = await open("offline");
  await page.locator("html[data-offline=ready]").waitFor();
  await context.setOffline(true);
  await goTo();
  await fill(page);
  await toReview(page);
  await agree(page);
  await heading(page, "Sending your answers …");
  await page.getByRole("alert").getByText("cannot be reached").waitFor();
  assert.equal(await server.count("offline"), 0);
  // Closed and opened again, still without a network: perhaps by another person.
  await goTo();
  await heading(page, "This device has answered this survey.");
  assert.match(await receiptOf(page), /The answers wait to be sent/);
  await context.setOffline(false);
  await page.getByText("The report has arrived").waitFor();
  assert.equal(await server.count("offline"), 1);
  await goTo();
  await heading(page, "This device has answered this survey.");
  assert.doesNotMatch(await receiptOf(page), /Thank you|Your answers have arrived/);
});

test("without JavaScript nothing can leave the page", async () => {
  const { page, requests, url } = await open("scriptless", { javaScriptEnabled: false, go: false });
  await page.goto(url);
  assert.match(await page.locator("noscript").innerText(), /needs JavaScript/);
  await page.locator("#q1").fill("44");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#go-on").isEnabled(), false);
  assert.equal(page.url(), url);
  // The address but for the port and the hashes of the page's files, which may hold any digits.
  const path = (request) => new URL(request.url()).pathname.replace(/[0-9a-f]{16}/, "").replace(/-[0-9A-Z]{8}(?=\.js$)/, "");
  assert.ok(requests.every((request) => request.method() === "GET" && !path(request).includes("44")));
  assert.ok(requests.every((request) => new URL(request.url()).search === ""));
});

test("a manifest's text is text", async () => {
  const nasty = `<img src=x onerror="document.title='owned'">`;
  const attributes = [{ ...DRAFT.attributes[0], question: nasty, categories: [nasty, "</fieldset></form>"] }];
  const { page, said } = await open("nasty", { draft: { title: nasty, description: nasty, attributes } });
  assert.equal(await page.getByRole("heading", { level: 1 }).innerText(), nasty);
  await page.locator("input[type=radio]").first().check();
  await toReview(page);
  await heading(page, "What would be sent");
  assert.match(await page.locator("#review-perturbed").innerText(), /<img src=x/);
  assert.equal(await page.title(), nasty);
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(said, []);
});

test("the receipt can be saved, and says what was spent", async () => {
  const { page, url, digest, requests } = await open("receipt");
  await fill(page);
  await toReview(page);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Save this receipt" }).click()]);
  assert.equal(download.suggestedFilename(), "receipt-1-receipt.json");
  const facts = JSON.parse(readFileSync(await download.path(), "utf8"));
  const { id } = requests.find((request) => request.method() === "POST").postDataJSON();
  assert.deepEqual(facts, {
    report: id,
    survey: "receipt",
    version: 1,
    title: "Work and health",
    server: new URL(url).origin,
    digest,
    epsilon: "6",
    state: "accepted",
  });
});

test("after the server has taken a report, the browser keeps no more than a second answer is refused by", async () => {
  const { page, requests, digest } = await open("forgets");
  await submit(page);
  await heading(page, "Thank you. Your answers have arrived.");
  const { id, record } = requests.find((request) => request.method() === "POST").postDataJSON();
  const rows = await stored(page);
  assert.deepEqual(rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))), [
    { digest, survey: "forgets", version: 1, epsilon: "6", api: `${server.origin}/api/v1`, state: "accepted", id, secret: rows[0].secret },
  ]);
  assert.ok(!JSON.stringify(rows).includes(record));
});

test("reports that an earlier release kept are forgotten when the page is opened", async () => {
  const { page, goTo } = await open("older");
  await page.evaluate(async () => {
    const database = await new Promise((resolve) => (indexedDB.open("hushpoll", 1).onsuccess = (event) => resolve(event.target.result)));
    const transaction = database.transaction("answers", "readwrite");
    const row = { survey: "older", version: 9, epsilon: "1", api: "https://polls.example.org/api/v1" };
    for (const [digest, state] of [["a", "accepted"], ["b", "accepted"], ["c", "refused"]]) {
      transaction.objectStore("answers").put({ ...row, digest, state, report: JSON.stringify({ digest, id: `id-${digest}`, record: "AAAA" }) });
    }
    await new Promise((resolve) => (transaction.oncomplete = resolve));
    database.close();
  });
  await goTo();
  const rows = await stored(page);
  assert.deepEqual(rows.map(({ digest, id, report }) => [digest, id, Boolean(report)]), [
    ["a", "id-a", false],
    ["b", "id-b", false],
    ["c", undefined, true],
  ]);
});

test("the receipt says what is kept, where and for how long, clear answers included", async () => {
  const { page, requests } = await open("kept");
  await submit(page);
  await heading(page, "Thank you. Your answers have arrived.");
  const words = await receiptOf(page);
  assert.match(words, /In this browser: that it has answered this survey, the epsilon, and the number of the report/);
  assert.match(words, /until this site's data are deleted/);
  assert.match(words, /Neither the answers nor the report is kept here/);
  assert.match(words, /On the server: .* for as long as the survey's operator keeps it/);
  assert.match(words, /as you gave them the answers to “Which town do you live in\?”/);
  assert.match(words, /Also the secret with which this browser can have the report deleted/);
  assert.match(words, /Until the server has mixed it with others, you can have it deleted below\. After that nobody can/);
  assert.doesNotMatch(words, /never stored/);
  assert.ok(words.includes(requests.find((request) => request.method() === "POST").postDataJSON().id));
});

for (const sealed of [false, true]) {
  test(`answers are taken back from the receipt, ${sealed ? "after" : "before"} the server has sealed them`, async () => {
    const name = sealed ? "back-late" : "back";
    const { page, goTo, requests, digest } = await open(name, { draft: { minimum_batch: sealed ? 1 : 3 } });
    await submit(page);
    await heading(page, "Thank you. Your answers have arrived.");
    const counts = () => server.ask(`surveys/${name}/versions/1/counts`);
    // An estimate of a survey that releases immediately seals what waits.
    if (sealed) await server.ask(`surveys/${name}/versions/1/estimates`);
    await page.locator("summary", { hasText: "Take my answers back" }).click();
    assert.match(await receiptOf(page), /The epsilon stays spent.* This cannot be undone\./);
    assert.deepEqual(await offences(page), []);
    const before = await stored(page);
    await page.getByRole("button", { name: "Take my answers back" }).click();
    await heading(page, "You have withdrawn your answers to this survey.");
    assert.match(await receiptOf(page), sealed ? /no longer there: it was released, or never received/ : /has deleted your report\. It is counted nowhere/);
    const { accepted, withdrawn } = await counts();
    assert.deepEqual([accepted, withdrawn], sealed ? [1, 0] : [0, 1]);
    const posts = requests.filter((request) => request.method() === "POST");
    assert.deepEqual(posts.at(-1).postDataJSON(), { digest, secret: before[0].secret });
    assert.ok(!posts.at(-1).url().includes(before[0].secret));
    const [row] = await stored(page);
    assert.deepEqual([row.state, row.epsilon, row.report, row.secret, row.id], ["withdrawn", "6", undefined, undefined, undefined]);
    // The page does not ask the questions again, nor the server.
    await goTo();
    await heading(page, "You have withdrawn your answers to this survey.");
    assert.equal(requests.filter((request) => request.method() === "POST").length, posts.length);
  });
}

test("a withdrawal that the server did not answer is asked again when the page is opened", async () => {
  const { page, goTo } = await open("back-later", { draft: { minimum_batch: 3 } }); // so that it is not sealed meanwhile
  await submit(page);
  await heading(page, "Thank you. Your answers have arrived.");
  await page.route("**/surveys/back-later/withdrawals", (route) => route.fulfill({ status: 200, contentType: "text/html", body: "<p>Welcome to the train</p>" }));
  await page.locator("summary", { hasText: "Take my answers back" }).click();
  const asked = page.waitForRequest("**/surveys/back-later/withdrawals");
  await page.getByRole("button", { name: "Take my answers back" }).click();
  await asked;
  await page.unroute("**/surveys/back-later/withdrawals");
  await goTo();
  await page.getByText("The server has deleted your report.").waitFor();
});

test("a receipt of a survey without clear attributes names none", async () => {
  const { page } = await open("all-hidden", { draft: { attributes: DRAFT.attributes.slice(0, 1) } });
  await page.getByLabel("yes", { exact: true }).check();
  await toReview(page);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  assert.match(await receiptOf(page), /The report holds the randomised answers\. /);
});

test("a second person on the device is told that it has answered, without a date, and what can be done", async () => {
  const { page, goTo, requests } = await open("household");
  await submit(page);
  await heading(page, "Thank you. Your answers have arrived.");
  await goTo();
  await heading(page, "This device has answered this survey.");
  const words = await receiptOf(page);
  assert.match(words, /If another person did, you cannot answer here as well/);
  assert.match(words, /a browser profile of your own/);
  assert.doesNotMatch(words.replaceAll(server.origin, ""), /Thank you|\b20\d\d\b|\d:\d\d/);
  assert.deepEqual(await offences(page), []);
  assert.equal(requests.filter((request) => request.method() === "POST").length, 1);
});

for (const until of ["the form", "the review"]) {
  test(`answers in a second tab that is at ${until} are not dropped with thanks`, async () => {
    const name = until === "the form" ? "tab-form" : "tab-review";
    const { page, context, url } = await open(name);
    const second = await context.newPage();
    await second.goto(url);
    await second.locator("#go-on:enabled").waitFor();
    await fill(second, { smoker: "no" });
    if (until === "the review") await toReview(second);
    await submit(page);
    await heading(page, "Thank you. Your answers have arrived.");
    await (until === "the form" ? toReview(second) : agree(second));
    await heading(second, "This device has answered this survey.");
    await second.getByRole("alert").getByText("neither randomised nor sent").waitFor();
    assert.doesNotMatch(await receiptOf(second), /Thank you|Your answers have arrived/);
    assert.equal(await second.locator("input:checked").count(), 0);
    assert.deepEqual(await offences(second), []);
    assert.equal(await server.count(name), 1);
  });
}

test("what a network answers in the server's place ends no report", async () => {
  // Guards: one 308, or a login page's 403, 404 or 511, marked the report as refused.
  const { page, context, reports } = await open("portal", { serviceWorkers: "block" });
  const answers = [
    { status: 308, headers: { Location: "/elsewhere" } },
    ...[200, 403, 404, 511].map((status) => ({ status, contentType: "text/html", body: "<html>Log in</html>" })),
  ];
  let tried = 0;
  await context.route(reports, (route) => (tried < answers.length ? route.fulfill(answers[tried++]) : route.continue()));
  await submit(page);
  for (const at of answers.keys()) {
    await page.getByRole("alert").getByText("The server cannot be reached.").waitFor();
    for (let wait = 0; wait < 12_000 && tried <= at; wait++) await page.waitForTimeout(25);
    if (tried === at + 1) await page.getByRole("button", { name: "Try again now" }).click();
  }
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(tried, answers.length);
  assert.equal(await server.count("portal"), 1);
});

for (const viewport of [PHONE, { width: 1280, height: 800 }]) {
  test(`a network that is lost while sending is said where the person looks (${viewport.width} pixels)`, async () => {
    const name = `lost-${viewport.width}`;
    const description = "A long description. ".repeat(120).trim();
    const { page, context, reports } = await open(name, { viewport, draft: { description }, serviceWorkers: "block" });
    let lost = true;
    let arrived = 0;
    // The server takes the report, and its answer is lost.
    await context.route(reports, async (route) => {
      arrived++;
      const answer = await route.fetch();
      await (lost ? route.abort() : route.fulfill({ response: answer }));
    });
    await submit(page);
    const notice = page.getByRole("alert").getByText("The server cannot be reached.");
    await notice.waitFor();
    assert.equal(await server.count(name), 1);
    assert.ok(await inSight(notice));
    assert.ok(await inSight(page.locator("#receipt-heading")));
    assert.equal(await page.evaluate(() => document.activeElement.id), "receipt-heading");
    // Nothing says any more that nothing has left, and nothing offers to change it.
    const seen = await page.locator("main").innerText();
    assert.doesNotMatch(seen, /Nothing has left|nothing was sent/i);
    assert.match(seen, /They may have left this device already, so they cannot be changed any more/);
    assert.match(seen, /may have arrived all the same/);
    assert.equal(await page.getByRole("button", { name: "Change my answers" }).isVisible(), false);
    assert.equal(await page.getByRole("button", { name: "Agree and send" }).isVisible(), false);
    assert.deepEqual(await offences(page), []);
    // Nor does the browser's own button lead back to answers.
    await page.goBack();
    await heading(page, "Sending your answers …");
    const before = arrived;
    await page.getByRole("button", { name: "Try again now" }).click();
    for (let wait = 0; wait < 12_000 && arrived === before; wait++) await page.waitForTimeout(25);
    assert.ok(arrived > before);
    lost = false;
    await heading(page, "Thank you. Your answers have arrived.");
    assert.equal(await server.count(name), 1);
  });
}

test("the review counts other surveys as spent, and not this one", async () => {
  const { page, context } = await open("spent-before");
  await submit(page);
  await heading(page, "Thank you. Your answers have arrived.");
  await server.publish({ ...DRAFT, epsilon: "5", name: "spent-now", version: 1 });
  await page.goto(`${server.origin}/s/spent-now`);
  await page.locator("#go-on:enabled").waitFor();
  await fill(page);
  const cost = () => page.locator("#review-cost").innerText();
  await toReview(page);
  await heading(page, "What would be sent");
  assert.match(await cost(), /at most 5\b/);
  assert.match(await cost(), /spent 6 /);
  await page.getByRole("button", { name: "Change my answers" }).click();
  await page.locator("#survey").waitFor();
  await toReview(page);
  await heading(page, "What would be sent");
  assert.match(await cost(), /spent 6 /);
  // In the middle of sending, the review is left for good.
  await context.setOffline(true);
  await agree(page);
  await heading(page, "Sending your answers …");
  assert.equal(await page.locator("#review").isVisible(), false);
});

test("the browser asks before a reload, or a way back, that loses answers, and only then", async () => {
  const { page, url } = await open("leaving", { go: false });
  const asked = [];
  let answer = "dismiss";
  page.on("dialog", async (dialog) => {
    asked.push(dialog.type());
    await dialog[answer]();
  });
  await page.goto(`${server.origin}/s/no-such-survey`);
  await page.goto(url);
  await page.locator("#go-on:enabled").waitFor();
  // An untouched form is left without a question.
  await page.reload();
  await page.locator("#go-on:enabled").waitFor();
  assert.deepEqual(asked, []);
  await fill(page);
  await Promise.all([page.waitForEvent("dialog"), page.reload({ timeout: 2000 }).catch(() => undefined)]);
  assert.deepEqual(asked, ["beforeunload"]);
  await Promise.all([page.waitForEvent("dialog"), page.goBack({ timeout: 2000 }).catch(() => undefined)]);
  assert.deepEqual(asked, ["beforeunload", "beforeunload"]);
  assert.equal(page.url(), url);
  assert.equal(await page.getByLabel("yes", { exact: true }).isChecked(), true);
  // What is kept as a report is not lost, so nothing is asked.
  await toReview(page);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  await page.reload();
  await heading(page, "This device has answered this survey.");
  assert.equal(asked.length, 2);
});

test("back leads from the review to the form with its answers, forward to the review again", async () => {
  const { page } = await open("steps");
  await fill(page);
  await toReview(page);
  await heading(page, "What would be sent");
  await page.goBack();
  await page.locator("#survey").waitFor();
  assert.equal(await page.locator("#q1").inputValue(), "44");
  assert.equal(await page.locator("#review").isVisible(), false);
  await page.locator("#q1").fill("45");
  await page.goForward();
  await heading(page, "What would be sent");
  await page.getByRole("button", { name: "Change my answers" }).click();
  await page.locator("#survey").waitFor();
  assert.equal(await page.locator("#q1").inputValue(), "45");
  await toReview(page);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  await page.goBack();
  await heading(page, "Thank you. Your answers have arrived.");
  assert.equal(await page.locator("#survey").isVisible(), false);
});

test("a page that is frozen after its warning has no answers in it; without a warning it keeps them", async () => {
  // Chromium under test freezes no pages, so the events of a page that is left and comes back are played.
  const { page } = await open("frozen");
  const freeze = (...events) =>
    page.evaluate((names) => {
      for (const name of names) {
        dispatchEvent(name === "beforeunload" ? new Event(name, { cancelable: true }) : new PageTransitionEvent(name, { persisted: true }));
      }
    }, events);
  await fill(page);
  await toReview(page);
  await heading(page, "What would be sent");
  await freeze("pagehide", "pageshow");
  await heading(page, "What would be sent");
  assert.equal(await page.locator("#q1").inputValue(), "44");
  await freeze("beforeunload", "pagehide", "pageshow");
  await page.locator("#survey").waitFor();
  assert.equal(await page.locator("input:checked").count(), 0);
  assert.equal(await page.locator("#q1").inputValue(), "");
});

test("a link from an error to its question leaves the digest in the address", async () => {
  const { page, url, digest, goTo } = await open("anchors", { go: false });
  await goTo(`${url}#sha256=${digest}`);
  await toReview(page);
  await page.getByRole("alert").getByRole("link", { name: "trade" }).click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "q2-0");
  assert.equal(page.url(), `${url}#sha256=${digest}`);
});

test("a survey that is over, or not begun, says so with its status", async () => {
  const { page } = await open("over");
  await server.ask("surveys/over/versions/1/close", {});
  assert.equal((await page.goto(`${server.origin}/s/over`)).status(), 410);
  await heading(page, "This survey is closed");
  await server.publish({ ...DRAFT, name: "early", version: 1, opens: "2999-01-01T00:00:00Z" });
  assert.equal((await page.goto(`${server.origin}/s/early`)).status(), 403);
  await heading(page, "This survey has not begun");
  assert.equal((await page.goto(`${server.origin}/s/early/versions/7`)).status(), 404);
  await heading(page, "There is no such survey here");
});

const WORDED = {
  language: "en",
  operator: "The Institute",
  purpose: "To plan\nthe week.",
  attributes: [
    { name: "mood", role: "sensitive", protocol: "GRR", section: "Today", scale: "ordinal", question: "How are you?", categories: ["bad", "so so", "good"], missing: "no answer" },
    { name: "age", role: "sensitive", protocol: "GRR", range: [17, 30] },
    { name: "score", role: "plain", scale: "nps", section: "Last", question: "Would you recommend us?", range: [0, 10] },
  ],
  translations: {
    de: {
      title: "Arbeit und Gesundheit",
      description: "Wie Arbeit und Gesundheit zusammenhängen.",
      purpose: "Damit wir die Woche\nplanen können.",
      sections: { Today: "Heute", Last: "Zuletzt" },
      attributes: {
        mood: { question: "Wie geht es Ihnen?", categories: ["schlecht", "geht so", "gut"], missing: "keine Angabe" },
        score: { question: "Würden Sie uns empfehlen?" },
      },
    },
  },
};

test("a respondent reads the survey in the browser's language, and answers with the same codes", async () => {
  const { page, said, digest, url, goTo, requests } = await open("worded", { draft: WORDED, go: false, locale: "de-CH" });
  await goTo(`${url}#sha256=${digest}`);
  await heading(page, "Arbeit und Gesundheit");
  assert.deepEqual(await page.locator("h2.section").allInnerTexts(), ["Heute", "Zuletzt"]);
  assert.match(await page.locator("header").innerText(), /Gefragt von The Institute[^]*Damit wir die Woche\nplanen können\./);
  assert.equal(await page.locator("legend").first().getAttribute("lang"), "de");
  await page.getByLabel("gut", { exact: true }).check();
  const turn = () => page.getByRole("button", { name: german.PAGE.next }).click();
  assert.equal(await page.locator("#page-of").innerText(), "Seite 1 von 3");
  assert.equal(await page.locator("#answered-words").innerText(), "Beantwortete Fragen: 1 von 3");
  await turn();
  await page.getByRole("spinbutton", { name: "age" }).fill("30");
  await turn();
  await page.getByLabel("9", { exact: true }).check();
  assert.equal(await page.locator("#answered-words").innerText(), "Beantwortete Fragen: 3 von 3");
  await page.getByRole("button", { name: german.PAGE.go_on }).click();
  await heading(page, german.PAGE["review.heading"]);
  await unfold(page);
  assert.match(await page.locator("#review-clear").innerText(), /Würden Sie uns empfehlen\?\s*9/);
  assert.match(await page.locator("#review-together").innerText(), /Wie geht es Ihnen\?\s*gut/);
  await page.getByRole("button", { name: german.PAGE.send }).click();
  await heading(page, german.SCRIPT["receipt.thanks"]);
  const record = Buffer.from(requests.find((request) => request.method() === "POST").postDataJSON().record, "base64url");
  assert.equal(record.at(-1), 9);
  assert.deepEqual(said, []);
});

test("a link to another language keeps the digest and the token, and has its own name", async () => {
  const { page, digest, url, goTo } = await open("switched", { draft: { ...WORDED, submission: "token" }, go: false });
  const { tokens: [token] } = await server.ask("surveys/switched/tokens", { count: 1 });
  await goTo(`${url}#sha256=${digest}&token=${token}`);
  await heading(page, "Work and health");
  await page.getByRole("link", { name: "Deutsch" }).click();
  await heading(page, "Arbeit und Gesundheit");
  await page.locator("#go-on:enabled").waitFor({ state: "attached" });
  assert.equal(page.url(), `${url}?lang=de#sha256=${digest}`);
  await page.getByLabel("keine Angabe").check();
  await page.getByRole("button", { name: german.PAGE.next }).click();
  await page.getByRole("spinbutton", { name: "age" }).fill("17");
  await page.getByRole("button", { name: german.PAGE.next }).click();
  await page.getByLabel("0", { exact: true }).check();
  await page.getByRole("button", { name: german.PAGE.go_on }).click();
  await page.getByRole("button", { name: german.PAGE.send }).click();
  await heading(page, german.SCRIPT["receipt.thanks"]);
});

test("a page whose words are not the manifest's translation takes no answers", async () => {
  const { page, url } = await open("mistranslated", { draft: WORDED, go: false, locale: "de" });
  await page.route(url, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace(">schlecht<", ">gut<") });
  });
  await page.goto(url);
  await page.locator("#problem:visible").waitFor();
  assert.match(await page.locator("#problem").innerText(), /asks something else than the survey's manifest/);
  assert.equal(await page.locator("#survey").isVisible(), false);
});

for (const colorScheme of ["light", "dark"]) {
  test(`sections, scales and languages fit a phone and offend no rule of axe, ${colorScheme}`, async () => {
    const { page } = await open(`scales-${colorScheme}`, { draft: { ...WORDED, shared_device: true }, colorScheme });
    assert.deepEqual(await offences(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
    // Five longer words: none of them is broken, and each stays on one line.
    const lines = await page.locator(".scale").first().evaluate((scale) => {
      const words = ["none", "mild", "moderate", "severe", "unbearable"];
      scale.replaceChildren(...words.map((word) => {
        const step = scale.querySelector(".step").cloneNode(true);
        step.querySelector("label").textContent = word;
        return step;
      }));
      const range = document.createRange();
      return [...scale.querySelectorAll("label")].map((label) => {
        range.selectNodeContents(label);
        return range.getClientRects().length;
      });
    });
    assert.deepEqual(lines, [1, 1, 1, 1, 1]);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
    // From 0 to 10 is one row, each step wide enough for a finger (24 px).
    await page.locator(".scale input").first().check();
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByRole("spinbutton", { name: "age" }).fill("20");
    await page.getByRole("button", { name: "Next page" }).click();
    const steps = await page.locator(".scale:visible .step").evaluateAll((all) => all.map((step) => step.getBoundingClientRect()).map(({ top, width }) => [top, width]));
    assert.equal(steps.length, 11);
    assert.equal(new Set(steps.map(([top]) => top)).size, 1);
    assert.ok(steps.every(([, width]) => width >= 24), JSON.stringify(steps));
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
    assert.deepEqual(await offences(page), []);
  });
}

test("two people answer on one device where the survey allows it, each with a ledger", async () => {
  const { page, said } = await open("shared", { draft: { ...WORDED, shared_device: true } });
  const answer = async () => {
    await page.getByLabel("bad", { exact: true }).check();
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByRole("spinbutton", { name: "age" }).fill("20");
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByLabel("10", { exact: true }).check();
    await toReview(page);
    await agree(page);
    await heading(page, "Thank you. Your answers have arrived.");
  };
  await answer();
  assert.match(await page.locator("#people").innerText(), /You answer as person 1\./);
  await page.getByRole("button", { name: "I am another person" }).click();
  await page.getByText("You answer as person 2.").waitFor();
  await page.locator("#go-on:enabled").waitFor({ state: "attached" });
  await answer();
  assert.match(await receiptOf(page), /6 for this survey, 6 by person 2 in all/);
  assert.equal(await server.count("shared"), 2);
  assert.equal((await stored(page)).length, 2);
  // Both can be chosen again, and neither answers twice.
  await page.getByRole("button", { name: "I am person 1" }).click();
  await heading(page, "Person 1 has answered this survey.");
  await page.getByRole("button", { name: "I am person 2" }).click();
  await heading(page, "Person 2 has answered this survey.");
  assert.deepEqual(said, []);
});

test("a number is typed within its limits, in its unit, and the review says what stands for it", async () => {
  const attributes = [
    {
      name: "income",
      role: "sensitive",
      protocol: "GRR",
      number: { low: 0, high: 5000, unit: "euros" },
      missing: "Not told",
      question: "What do you earn a month?",
    },
    { name: "children", role: "plain", number: { low: 0, high: 12 }, question: "How many children?" },
  ];
  const { page, requests } = await open("amount", { draft: { epsilon: "4", attributes } });
  const [income, children] = [page.locator("#q0"), page.locator("#q1")];
  assert.equal(await page.locator("[data-unit]").innerText(), "euros");
  const parts = requests.map((request) => new URL(request.url()).pathname).filter((path) => /\/(parts|numbers)/.test(path));
  assert.ok(parts.some((path) => /numbers(-\w+)?\.js$/.test(path)) && !parts.some((path) => path.includes("blocks")), parts.join());
  await income.fill("5001");
  await children.fill("1.5");
  await toReview(page);
  await page.getByText("Give a whole number from 0 to 5000").first().waitFor();
  assert.equal(await page.locator(".fault:visible").count(), 2);
  await income.fill("1234");
  await children.fill("2");
  await toReview(page);
  await heading(page, "What would be sent");
  const review = await page.locator("#review-perturbed").innerText();
  assert.match(review, /replaced by one of the two values beside it in this list, the nearer one more often: 0, 1250, 2500, 3750, 5000, Not told\./);
  assert.match(review, /If the 5002 answers were equally likely beforehand/);
  assert.match(await page.locator("#review-together").innerText(), /1234/);
  assert.match(await page.locator("#review-clear").innerText(), /How many children\?\s+2/);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width);
  await agree(page);
  await heading(page, "Thank you. Your answers have arrived.");
  const { record } = requests.find((request) => request.method() === "POST").postDataJSON();
  const [anchor, clear] = Buffer.from(record, "base64url");
  assert.ok(anchor <= 5);
  assert.equal(clear, 2);
  await page.close();
});
