import assert from "node:assert/strict";
import { test } from "node:test";

import { unfold } from "./browser.js";
import { browser, server } from "./site.js";

const DRAFT = {
  name: "matrices",
  version: 1,
  title: "Drinks and trust",
  epsilon: "6",
  protocol: "SS",
  minimum_batch: 1,
  release: "immediate",
  language: "en",
  attributes: [
    {
      name: "drinks",
      role: "sensitive",
      categories: ["never", "monthly", "weekly"],
      question: "How often do you drink this?",
      items: [{ name: "wine", question: "Wine" }, { name: "beer", question: "Beer" }, { name: "spirits", question: "Spirits" }],
      together: true,
    },
    {
      name: "trust",
      role: "sensitive",
      range: [0, 10],
      scale: "nps",
      missing: "no answer",
      ask_if: { beer: ["weekly"] },
      question: "How much do you trust them?",
      help: "Think of the last year.",
      ends: ["not at all", "completely"],
      shuffle: {},
      items: [{ name: "press", question: "Newspapers" }, { name: "police", question: "The police" }],
    },
    {
      name: "town",
      role: "plain",
      categories: ["no", "yes"],
      question: "Does your town have this?",
      items: [{ name: "tram", question: "A tram" }, { name: "pool", question: "A pool" }],
    },
    {
      name: "years",
      role: "plain",
      range: [1900, 2026],
      question: "Since when do you live there?",
      items: [{ name: "here", question: "In this town" }, { name: "home", question: "In this home" }],
    },
  ],
  translations: {
    de: {
      title: "Getränke und Vertrauen",
      attributes: {
        drinks: { question: "Wie oft trinken Sie das?", categories: ["nie", "monatlich", "wöchentlich"] },
        wine: { question: "Wein" },
        beer: { question: "Bier" },
        spirits: { question: "Schnaps" },
        trust: { question: "Wie sehr vertrauen Sie ihnen?", missing: "keine Angabe", help: "Denken Sie an das letzte Jahr.", ends: ["gar nicht", "vollkommen"] },
        press: { question: "Zeitungen" },
        police: { question: "Der Polizei" },
        town: { question: "Hat Ihre Stadt das?", categories: ["nein", "ja"] },
        tram: { question: "Eine Straßenbahn" },
        pool: { question: "Ein Schwimmbad" },
        years: { question: "Seit wann wohnen Sie da?" },
        here: { question: "In dieser Stadt" },
        home: { question: "In dieser Wohnung" },
      },
    },
  },
};

async function opened(width, language) {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(`${server.origin}/s/matrices?lang=${language}`);
  await page.locator("#go-on:enabled, #problem:visible").first().waitFor({ state: "attached" });
  const picture = async (name) => {
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}-${width}.png`, fullPage: true });
  };
  return { context, page, said, picture };
}

/** Where the answers of a row stand, and whether the words beside them are seen. */
const places = (page, row) =>
  page.locator(`[data-attribute=${row}] .choice`).evaluateAll((cells) => cells.map((cell) => Math.round(cell.getBoundingClientRect().top)));

test("a matrix is a table on a wide screen and stacked on a phone", async () => {
  await server.publish(DRAFT);
  for (const [width, rows] of [[1440, 1], [360, 3]]) {
    const { context, page, said, picture } = await opened(width, "en");
    const drinks = page.getByRole("group", { name: "How often do you drink this?" });
    assert.equal(new Set(await places(page, "wine")).size, rows);
    assert.equal(await drinks.locator(".heads").isVisible(), width === 1440);
    if (width === 1440) {
      // Each answer stands below its word.
      const edges = async (part) => (await drinks.locator(part).evaluateAll((all) => all.map((one) => one.getBoundingClientRect()))).map(({ left, right }) => [left, right].map(Math.round));
      const cells = await edges("[data-attribute=beer] .choice");
      assert.deepEqual(await edges("[data-head]"), cells);
    }
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await picture("matrix");
    assert.deepEqual(said, []);
    await context.close();
  }
});

test("a matrix is answered by keyboard, its rows one by one, and sent", async () => {
  const { context, page, said } = await opened(1440, "en");
  const beer = page.getByRole("group", { name: "Beer" });
  assert.match(await page.locator("[data-matrix=drinks] .treatment").innerText(), /These 3 answers are/);
  assert.match(await page.locator("[data-matrix=trust] .treatment").innerText({ timeout: 1 }).catch(() => "hidden"), /^$|hidden/);
  assert.match(await page.locator("#answered-words").innerText(), /0 of 7/);
  await page.locator("#go-on").click();
  await page.locator("#problem:visible").waitFor();
  assert.match(await page.locator("#problem").innerText(), /Wine: choose an answer/);
  assert.equal(await page.locator("[data-attribute=wine] .fault").innerText(), "Choose an answer.");
  await page.locator("[data-attribute=wine] input").first().focus();
  await page.keyboard.press("Space");
  for (const row of ["beer", "spirits"]) {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.closest("[data-attribute]").dataset.attribute), row);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
  }
  assert.ok(await beer.getByLabel("weekly").isChecked());
  assert.ok(await page.locator("[data-attribute=wine] .fault").isHidden());
  // The follow-up has come, with both of its rows.
  assert.match(await page.locator("#answered-words").innerText(), /3 of 9/);
  const trust = page.getByRole("group", { name: "How much do you trust them?" });
  assert.match(await trust.locator(".treatment").first().innerText(), /For each of these answers by itself: /);
  await page.getByRole("group", { name: "The police" }).getByLabel("10", { exact: true }).check({ force: true });
  for (const row of ["A tram", "A pool"]) await page.getByRole("group", { name: row }).getByLabel("yes").check({ force: true });
  for (const row of ["In this town", "In this home"]) await page.getByRole("spinbutton", { name: row }).fill("1990");
  await page.locator("#go-on").click();
  const review = page.locator("#review");
  await review.waitFor({ state: "visible" });
  await unfold(page);
  const shown = await review.innerText();
  assert.match(shown, /How often do you drink this\? Beer\s+weekly/);
  assert.match(shown, /How much do you trust them\? Newspapers\s+no answer/);
  assert.match(shown, /Does your town have this\? A tram\s+yes/);
  await page.goBack();
  await beer.getByLabel("never").check({ force: true });
  assert.ok(await trust.isHidden());
  await page.locator("#go-on").click();
  await review.waitFor({ state: "visible" });
  await unfold(page);
  assert.match(await review.innerText(), /How much do you trust them\? Newspapers\s+Not asked/i);
  await page.locator("#send").click();
  await page.getByText("Thank you. Your answers have arrived.").waitFor();
  assert.deepEqual(said, []);
  await context.close();
});

test("a matrix has its help text and the ends of its scale once, and its rows in a drawn order", async () => {
  const context = await browser.newContext({ viewport: { width: 360, height: 800 } });
  // An odd number of 64 bits takes the second of two rows first.
  await context.addInitScript(() => (crypto.getRandomValues = (array) => new Uint8Array(array.buffer).fill(1) && array));
  const page = await context.newPage();
  await page.goto(`${server.origin}/s/matrices?lang=de`);
  await page.locator("#go-on:enabled, #problem:visible").first().waitFor({ state: "attached" });
  const trust = page.locator("[data-matrix=trust]");
  assert.deepEqual(await trust.locator("[data-help]").allTextContents(), ["Denken Sie an das letzte Jahr."]);
  assert.deepEqual(await trust.locator(".ends > span").allTextContents(), ["0: gar nicht", "10: vollkommen"]);
  assert.deepEqual(await trust.locator(".row").evaluateAll((rows) => rows.map(({ dataset }) => dataset.attribute)), ["police", "press"]);
  assert.deepEqual(await page.locator("[data-matrix=drinks] .row").evaluateAll((rows) => rows.map(({ dataset }) => dataset.attribute)), ["wine", "beer", "spirits"]);
  await context.close();
});

test("a matrix is read and answered in another language, at phone size", async () => {
  const { context, page, said } = await opened(360, "de");
  const drinks = page.getByRole("group", { name: "Wie oft trinken Sie das?" });
  for (const row of ["Wein", "Bier", "Schnaps"]) await drinks.getByRole("group", { name: row }).getByLabel("nie", { exact: true }).check();
  for (const row of ["Eine Straßenbahn", "Ein Schwimmbad"]) await page.getByRole("group", { name: row }).getByLabel("ja").check();
  for (const row of ["In dieser Stadt", "In dieser Wohnung"]) await page.getByRole("spinbutton", { name: row }).fill("2001");
  await page.locator("#go-on").click();
  await page.locator("#review").waitFor({ state: "visible" });
  await unfold(page);
  assert.match(await page.locator("#review").innerText(), /Wie oft trinken Sie das\? Bier\s+nie/);
  await page.locator("#send").click();
  await page.locator("#receipt").waitFor({ state: "visible" });
  assert.deepEqual(said, []);
  await context.close();
});

test("a page whose column says another answer than the manifest is refused", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route("**/s/matrices?lang=en", async (route) => {
    const answer = await route.fetch();
    const html = (await answer.text()).replace(/(<span data-head[^>]*>)never/, "$1weekly");
    await route.fulfill({ response: answer, body: html });
  });
  await page.goto(`${server.origin}/s/matrices?lang=en`);
  await page.locator("#problem:visible").waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  assert.match(await page.locator("#problem").innerText(), /asks something else than the survey's manifest/);
  await context.close();
});
