/** The hosted page in Firefox, from the form to the receipt: where a site's wish to keep data is a question that nobody may answer. */

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";

import * as english from "../../client/hushpoll_client_js/src/words/en.js";
import { serve } from "./browser.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
/** Milliseconds that end a hang; no test depends on how fast a page is. */
const LONGEST = 300_000;

let browser, server, folder;

function firefox() {
  if (process.env.FIREFOX) return process.env.FIREFOX;
  const found = (process.env.PATH ?? "").split(delimiter).map((place) => join(place, "firefox-esr")).find(existsSync);
  assert.ok(found, "firefox-esr is missing; apt-get install firefox-esr, or name a Firefox by FIREFOX");
  return found;
}

before(async () => {
  const { default: puppeteer } = await import(require.resolve("puppeteer-core"));
  folder = mkdtempSync(join(tmpdir(), "hushpoll-firefox-"));
  [browser, server] = await Promise.all([
    // Its profile is new, and its port is one that is free; what it would keep in a home stays in the folder.
    puppeteer.launch({
      browser: "firefox",
      executablePath: firefox(),
      headless: true,
      timeout: LONGEST,
      protocolTimeout: LONGEST,
      env: { ...process.env, HOME: folder, XDG_CACHE_HOME: folder, XDG_CONFIG_HOME: folder, MOZ_CRASHREPORTER_DISABLE: "1" },
      extraPrefsFirefox: { "datareporting.policy.dataSubmissionEnabled": false, "app.update.disabledForTesting": true },
    }),
    serve(),
  ]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

test("in Firefox a survey is answered, although nobody answers the question whether the site may keep data", async () => {
  await server.publish({
    name: "firefox",
    version: 1,
    title: "Work",
    language: "en",
    epsilon: "4",
    minimum_batch: 1,
    release: "immediate",
    attributes: [
      { name: "smoker", role: "sensitive", protocol: "GRR", categories: ["no", "yes"], question: "Do you smoke?" },
      { name: "age", role: "sensitive", protocol: "OLH", range: [18, 90] },
    ],
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(LONGEST);
  const said = [];
  page.on("pageerror", (error) => said.push(String(error)));
  const shows = (text) => page.waitForFunction((wanted) => document.querySelector("main").innerText.includes(wanted), {}, text);
  const press = (selector) => page.evaluate((wanted) => document.querySelector(wanted).click(), selector);
  await page.goto(`${server.origin}/s/firefox`, { waitUntil: "domcontentloaded", timeout: LONGEST });
  await page.waitForSelector("#go-on:enabled");
  assert.equal(await page.$("#stalled"), null);
  await press("#q0-1");
  await page.type("#q1", "44");
  await press("#go-on");
  await shows(english.PAGE["review.heading"]);
  await press("#send");
  await shows(english.SCRIPT["receipt.thanks"]);
  assert.equal(await server.count("firefox"), 1);
  // What it keeps is there when the page is opened again.
  await page.goto(`${server.origin}/s/firefox`, { waitUntil: "domcontentloaded", timeout: LONGEST });
  await shows(english.SCRIPT["receipt.answered"]);
  assert.deepEqual(said, []);
});
