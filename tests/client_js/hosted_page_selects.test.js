import assert from "node:assert/strict";
import { test } from "node:test";

import { unfold } from "./browser.js";
import { browser, server } from "./site.js";

const DRAFT = {
  name: "selects",
  version: 1,
  title: "Drugs and sports",
  epsilon: "6",
  protocol: "SS",
  minimum_batch: 1,
  release: "immediate",
  language: "en",
  attributes: [
    {
      name: "drugs",
      role: "sensitive",
      categories: ["Cannabis", "Cocaine", "Heroin", "Other"],
      select: { at_least: 1, at_most: 2 },
      question: "Which of these have you taken?",
    },
    {
      name: "news",
      role: "sensitive",
      categories: ["Radio", "Papers", "Television", "Web", "Talk", "Books", "Elsewhere"],
      select: {},
      question: "Where do you read news?",
    },
    { name: "sports", role: "plain", categories: ["Chess", "Golf"], select: {}, question: "Which sports do you like?" },
  ],
  translations: {
    de: {
      title: "Drogen und Sport",
      attributes: {
        drugs: { question: "Was haben Sie genommen?", categories: ["Hanf", "Kokain", "Heroin", "Anderes"] },
        news: { question: "Woher haben Sie Nachrichten?" },
        sports: { question: "Welchen Sport mögen Sie?" },
      },
    },
  },
};

test("at phone size a select-all is answered within its limits, and sent in either language", async () => {
  await server.publish(DRAFT);
  const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
  const page = await context.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(`${server.origin}/s/selects?lang=en`);
  await page.locator("#go-on:enabled, #problem:visible").first().waitFor({ state: "attached" });
  const onward = page.getByRole("button", { name: "See what would be sent" });
  const drugs = page.getByRole("group", { name: "Which of these have you taken?" });
  assert.match(await drugs.innerText(), /Select 1 to 2\./);
  assert.match(await drugs.innerText(), /These 4 answers are weakly protected/);
  await onward.click();
  const problem = page.locator("#problem").filter({ hasText: "Which of these have you taken?: select 1 to 2" });
  await problem.waitFor({ state: "visible" });
  for (const option of ["Cannabis", "Heroin", "Other"]) await drugs.getByLabel(option).check();
  await onward.click();
  assert.ok(await page.locator("#survey").isVisible());
  await drugs.getByLabel("Other").uncheck();
  assert.ok(await page.locator("#problem").isHidden());
  await page.getByLabel("Golf").check();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 360));
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/form.png`, fullPage: true });
  await onward.click();
  const review = page.locator("#review");
  await review.waitFor({ state: "visible" });
  await unfold(page);
  const shown = await review.innerText();
  assert.match(shown, /Which of these have you taken\?\s+Cannabis, Heroin/);
  assert.match(shown, /Where do you read news\?\s+none of these/);
  assert.match(shown, /Which sports do you like\?\s+Golf/);
  assert.match(shown, /These 7 answers together/);
  assert.match(shown, /For each of these answers by itself: What is sent/);
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/review.png`, fullPage: true });
  await page.getByRole("button", { name: "Agree and send" }).click();
  await page.getByText("Thank you. Your answers have arrived.").waitFor();
  assert.deepEqual(said, []);
  await context.close();

  const second = await browser.newContext({ viewport: { width: 360, height: 740 } });
  const german = await second.newPage();
  await german.goto(`${server.origin}/s/selects?lang=de`);
  await german.locator("#go-on:enabled, #problem:visible").first().waitFor({ state: "attached" });
  const genommen = german.getByRole("group", { name: "Was haben Sie genommen?" });
  assert.match(await genommen.innerText(), /Wählen Sie 1 bis 2 aus\./);
  await genommen.getByLabel("Hanf").check();
  await german.locator("#go-on").click();
  await german.locator("#review").waitFor({ state: "visible" });
  await unfold(german);
  assert.match(await german.locator("#review").innerText(), /Was haben Sie genommen\?\s+Hanf/);
  await german.locator("#send").click();
  await german.locator("#receipt").waitFor({ state: "visible" });
  await second.close();
});
