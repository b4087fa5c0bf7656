import assert from "node:assert/strict";
import { test } from "node:test";

import * as english from "../../client/hushpoll_client_js/src/words/en.js";
import { unfold } from "./browser.js";
import { browser, offences, server } from "./site.js";

const MOST_BYTES = 44_400;

/** The survey's texts in one language; they are letters and no words, so that no text of theirs is one of the page's. */
const texts = (letters) => ({
  title: `${letters} title`,
  purpose: `${letters} purpose`,
  attributes: {
    mood: { question: `${letters} mood?`, categories: [`${letters} bad`, `${letters} good`], missing: `${letters} none` },
    age: { question: `${letters} age?` },
    town: { question: `${letters} town?` },
  },
});

const own = texts("xx");
const DRAFT = {
  version: 1,
  language: "en",
  title: own.title,
  purpose: own.purpose,
  operator: "yy",
  epsilon: "7.5",
  minimum_batch: 1,
  release: "immediate",
  attributes: [
    { name: "mood", role: "sensitive", protocol: "GRR", ...own.attributes.mood },
    { name: "age", role: "sensitive", protocol: "OUE", ...own.attributes.age, range: [17, 90] },
    { name: "town", role: "plain", ...own.attributes.town, categories: ["Oslo", "Delft"] },
  ],
  translations: Object.fromEntries(["de", "fr", "es"].map((language) => [language, texts(language)])),
};

/** Pieces of several words of a catalogue's texts. */
const pieces = ({ PAGE, SCRIPT }) =>
  [...Object.values(PAGE), ...Object.values(SCRIPT)]
    .flatMap((text) => (typeof text === "string" ? [text] : Object.values(text)))
    .flatMap((text) => text.split(/\{\w+\}/))
    .map((piece) => piece.trim())
    .filter((piece) => /\p{L}+\s\p{L}+/u.test(piece));

for (const language of ["de", "fr", "es"]) {
  test(`no English sentence is on the page in ${language}, from the form to the receipt`, async () => {
    const catalogue = await import(`../../client/hushpoll_client_js/src/words/${language}.js`);
    const { PAGE, SCRIPT } = catalogue;
    const name = `words-${language}`;
    await server.publish({ ...DRAFT, name });
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    const page = await context.newPage();
    const said = [];
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    const seen = [];
    const look = async () => {
      seen.push(await page.locator("body").innerText());
      // What a screen reader reads and nobody sees.
      seen.push(...(await page.locator("caption").allTextContents()));
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
      // The structure is the same in each language.
      if (language !== "de") return;
      assert.deepEqual(await offences(page), []);
    };
    await page.goto(`${server.origin}/s/${name}?lang=${language}`);
    await page.locator("#go-on:enabled").waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), language);
    await page.getByText(PAGE.why).click();
    await page.getByRole("button", { name: PAGE.go_on }).click();
    await page.getByRole("alert").getByText(SCRIPT["fault.choice"]).waitFor();
    await look();
    await page.locator("#q1").fill("44");
    await page.getByLabel("Delft").check();
    await page.getByRole("button", { name: PAGE.go_on }).click();
    await page.getByRole("heading", { name: PAGE["review.heading"] }).waitFor();
    await unfold(page);
    // 7.5 in all, 3.75 for each: e^7.5 and e^3.75, rounded up, in the language's spelling.
    assert.match(await page.locator("#review-together").innerText(), language === "es" ? /\b1900\b/ : /\b1[.\u202f]900\b/);
    assert.match(await page.locator("#review-perturbed").innerText(), /\b43\b[^]*GRR, [eé]psilon 3,75/i);
    assert.match(await page.locator("#review-cost").innerText(), /\b7,5\b/);
    await look();
    await page.getByRole("button", { name: PAGE.send }).click();
    await page.getByRole("heading", { name: SCRIPT["receipt.thanks"] }).waitFor();
    await look();
    await page.reload();
    await page.getByRole("heading", { name: SCRIPT["receipt.answered"] }).waitFor();
    await look();
    assert.deepEqual(said, []);
    await page.goto(`${server.origin}/s/none?lang=${language}`);
    await page.getByRole("heading", { name: PAGE["notice.unknown-survey"] }).waitFor();
    await look();
    const translated = new Set(pieces(catalogue));
    const text = seen.join("\n").replace(/\s+/g, " ");
    for (const piece of pieces(english)) {
      if (!translated.has(piece)) assert.ok(!text.includes(piece), piece);
    }
    await context.close();
  });
}

test("the words of another language come with the page, in no more requests, at most 44.4 kB, and without a network", async () => {
  await server.publish({ ...DRAFT, name: "weight" });
  const { SCRIPT } = await import("../../client/hushpoll_client_js/src/words/de.js");
  const requested = async (language) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const addresses = new Set();
    page.on("request", (request) => addresses.add(request.url()));
    await page.goto(`${server.origin}/s/weight?lang=${language}`);
    await page.locator("html[data-offline=ready]").waitFor();
    const all = [...addresses];
    if (language === "de") {
      // Without a network the page has its words too.
      await context.setOffline(true);
      await page.reload();
      await page.getByText(SCRIPT["level.survey.2"]).first().waitFor();
    }
    await context.close();
    return all;
  };
  const [own, others] = await Promise.all(["en", "de"].map(requested));
  assert.equal(others.length, own.length);
  const sizes = await Promise.all(
    others.map(async (address) => Number((await fetch(address, { headers: { "Accept-Encoding": "gzip" } })).headers.get("Content-Length"))),
  );
  const sent = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`${sizes.length} files: ${sent} bytes sent in German`);
  assert.ok(sent <= MOST_BYTES, `${sent} bytes`);
});

test("a failure is said in the page's language, and its details are marked as English", async () => {
  const { SCRIPT } = await import("../../client/hushpoll_client_js/src/words/de.js");
  await server.publish({ ...DRAFT, name: "failing" });
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.origin}/s/failing?lang=de#sha256=${"0".repeat(64)}`);
  const alert = page.getByRole("alert");
  await alert.getByText(SCRIPT["error.manifest"]).waitFor();
  assert.match(await alert.locator("[lang=en]").innerText(), /digest is/);
});

test("a survey without a translation keeps its own texts, marked, among the page's words in the language asked for", async () => {
  const { translations, ...untranslated } = DRAFT;
  const { PAGE } = await import("../../client/hushpoll_client_js/src/words/de.js");
  await server.publish({ ...untranslated, name: "untranslated" });
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${server.origin}/s/untranslated?lang=de`);
  await page.locator("#go-on:enabled").waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  assert.equal(await page.getByRole("heading", { name: own.title }).getAttribute("lang"), "en");
  await page.locator("#q1").fill("44");
  await page.getByLabel("Delft").check();
  await page.getByRole("button", { name: PAGE.go_on }).click();
  await page.getByRole("heading", { name: PAGE["review.heading"] }).waitFor();
  await unfold(page);
  const languages = await page.locator("#review dt, #review-perturbed h4").evaluateAll((parts) => parts.map((part) => part.lang));
  assert.deepEqual([...new Set(languages)], ["en"]);
});
