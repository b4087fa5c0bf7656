/** For the tests of a file: a browser, and the server with the survey's pages. What a test has opened is closed after it. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, before } from "node:test";

import { launch, serve } from "./browser.js";

const require = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url));
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export let browser, server;

before(async () => {
  // Each is known as soon as it is there, so that it is closed where the other one fails.
  await Promise.all([launch().then((one) => (browser = one)), serve().then((one) => (server = one))]);
});

afterEach(async () => {
  for (const context of browser?.contexts() ?? []) {
    // What a route is about to fetch would fail with the context, and with it the file.
    for (const routed of [...context.pages(), context]) await routed.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  }
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Offences against the rules of WCAG 2.2 AA and axe's best practices. */
export async function offences(page) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  // Of what passes nothing is gathered, and no selector is made for a node.
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"], selectors: false }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}
