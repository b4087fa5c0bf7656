import assert from "node:assert/strict";
import { test } from "node:test";

import { browser, server } from "./site.js";

/** Pixels that the step before sending has at most, on a phone of 360 pixels, with ten questions. */
const MOST = 1600;
const LONG = "How often, in the last twelve months, have you thought that you could not go on like this, at work, at home or on your way between the two, and whom did you tell about it?".slice(0, 170);
const TEN = Array.from({ length: 10 }, (_, at) => at);
const yesNo = (at, rest = {}) => ({ name: `q${at}`, role: "sensitive", categories: ["no", "yes"], question: `Have you done the thing of number ${at}?`, ...rest });
const OPTIONS = Array.from({ length: 12 }, (_, at) => `Option of number ${at}`);
const select = (name, options = OPTIONS) => ({ name, role: "sensitive", categories: options, question: "Which of these have you done?", select: { at_most: 3 } });
const GERMAN = { translations: { de: { title: "Leben und Gesundheit", purpose: "Wir planen Rat für Leute, die welchen brauchen.", attributes: Object.fromEntries(TEN.map((at) => [`q${at}`, { question: `Haben Sie die Sache mit der Nummer ${at} getan?`, categories: ["nein", "ja"] }])) } } };

/** Surveys of ten questions, or with more than ten parts; what a phone shows before it sends. */
const SURVEYS = {
  randomised: { attributes: TEN.map((at) => yesNo(at)) },
  drawn: { attributes: TEN.map((at) => yesNo(at)), answer: 3, epsilon: "4" },
  options: { attributes: [select("news"), ...TEN.slice(1).map((at) => yesNo(at))] },
  drawn_options: { attributes: ["a", "b", "c", "d", "e"].map((name) => select(name, OPTIONS.slice(0, 4))), epsilon: "8" },
  long: { attributes: TEN.map((at) => yesNo(at, { question: `${LONG} (${at})` })) },
  matrix: { attributes: [{ name: "content", role: "sensitive", categories: ["no", "little", "much"], question: "How content are you with these?", items: TEN.map((at) => ({ name: `i${at}`, question: `The thing of number ${at}` })) }] },
  follow_ups: { attributes: TEN.map((at) => yesNo(at, at % 2 ? { ask_if: { [`q${at - 1}`]: ["yes"] } } : {})) },
  mixed: { attributes: TEN.map((at) => (at % 2 ? yesNo(at, { role: "plain" }) : yesNo(at))) },
  clear: { attributes: TEN.map((at) => yesNo(at, { role: at ? "plain" : "sensitive", question: `${LONG} (${at})` })) },
  weak: { attributes: TEN.map((at) => yesNo(at)), epsilon: "9" },
  at_once: { attributes: TEN.map((at) => yesNo(at)), release: "immediate", minimum_batch: 1, epsilon: "9" },
  token: { attributes: TEN.map((at) => yesNo(at)), submission: "token" },
  one: { attributes: [yesNo(0)] },
  ...Object.fromEntries(["de", "fr"].map((language) => [language, { attributes: TEN.map((at) => yesNo(at)), language: "en", ...(language === "de" ? GERMAN : {}), read: language }])),
  large: { attributes: TEN.map((at) => yesNo(at)), size: "200%" },
};

for (const [kind, { read = "en", size, ...draft }] of Object.entries(SURVEYS)) {
  test(`the step before sending is short on a phone: ${kind}`, async () => {
    const name = `short-${kind.replaceAll("_", "-")}`;
    await server.publish({ version: 1, title: "Life and health", operator: "Institute of Public Health", purpose: "We plan advice for people who need some.", epsilon: "5", protocol: "SS", release: "daily", minimum_batch: 100, ...draft, name });
    const page = await browser.newPage({ viewport: { width: 360, height: 800 } });
    await page.goto(`${server.origin}/s/${name}?lang=${read}${draft.submission ? "#token=abcdefghijklmnopqrstuv" : ""}`);
    await page.locator("#survey-form:not([hidden])").waitFor();
    await page.evaluate(async (size) => {
      if (size) document.documentElement.style.fontSize = size;
      for (const field of document.querySelectorAll("fieldset[data-attribute], fieldset[data-select]")) {
        [...field.querySelectorAll("input")].filter((one) => !one.disabled).at(-1)?.click();
      }
    }, size);
    await page.locator("#go-on").click();
    await page.locator("#review:not([hidden])").waitFor();
    await page.waitForFunction(() => document.querySelector("#review-cost").childElementCount);
    const { height, width, end } = await page.evaluate(() => ({
      height: document.documentElement.scrollHeight,
      width: document.documentElement.scrollWidth,
      end: document.querySelector("#send").getBoundingClientRect().bottom + scrollY,
    }));
    console.log(`${kind}: ${height} px, the button ends at ${Math.round(end)}`);
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/review-${kind}.png`, fullPage: true });
    assert.ok(width <= 360);
    // Letters of twice the size have four times the area: all of it is there, in more screens.
    if (!size) assert.ok(height <= MOST && end < height, `${height} px`);
    assert.equal(await page.locator("#review details[open]").count(), 0);
    const folds = page.locator("#review details > summary");
    for (let at = 0; at < (await folds.count()); at++) await folds.nth(at).click();
    for (const figure of [/What is sent (is|holds|agrees)|Mit einer Wahrscheinlichkeit|Ce qui est envoyé|Was gesendet wird/, /epsilon|Epsilon/]) {
      assert.equal(await page.locator("#review-perturbed").getByText(figure).first().isVisible(), true);
    }
    assert.equal(await page.locator("#review-label table").isVisible(), true);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
    await page.close();
  });
}
