/** Measures in Chromium how soon the hosted page can be used over a slow network: scripts/page-speed. */

import { launch, serve } from "./browser.js";

const LATENCY_MS = 400;
const BYTES_PER_SECOND = 1_000_000 / 8;
const ROUNDS = 5;
const GOAL_MS = 1_000;

const range = [...Array(12).keys()];
const DRAFT = {
  name: "speed",
  version: 1,
  title: "Work and health",
  protocol: "GRR",
  epsilon: "6",
  attributes: range.map((number) => ({
    name: `question-${number}`,
    role: "sensitive",
    categories: ["never", "seldom", "often", "always"],
    question: `How often does ${number} happen?`,
  })),
};

/** Milliseconds from the address to the first question on the screen, and to the button that goes on. */
async function once(browser, url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  await network.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: BYTES_PER_SECOND,
    uploadThroughput: BYTES_PER_SECOND,
  });
  const begun = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await page.getByLabel("often").first().check();
  const input = performance.now() - begun;
  await page.locator("#go-on:enabled").waitFor();
  const whole = performance.now() - begun;
  const requests = await page.evaluate(() => performance.getEntriesByType("resource").length + 1);
  await context.close();
  return { input, whole, requests };
}

const [browser, server] = await Promise.all([launch(), serve()]);
try {
  await server.publish(DRAFT);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await once(browser, `${server.origin}/s/speed`));
  const middle = (key) => rounds.map((round) => round[key]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  const input = middle("input");
  console.log(`${LATENCY_MS} ms latency, 1 Mbit/s, median of ${ROUNDS}: ${middle("requests")} requests;`);
  console.log(`first answer can be given after ${Math.round(input)} ms (goal ${GOAL_MS}: ${input <= GOAL_MS ? "reached" : "missed"}), `);
  console.log(`answers can be checked and randomised after ${Math.round(middle("whole"))} ms`);
} finally {
  await browser.close();
  await server.stop();
}
