// Pictures of the hosted page for the documentation, of a phone of 360 pixels. Run by scripts/screenshots.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { launch, serve } from "./browser.js";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
mkdirSync(folder, { recursive: true });
const [browser, server] = await Promise.all([launch(), serve()]);
try {
  await server.publish({
    name: "work-and-health",
    version: 1,
    title: "Work and health",
    description: "How work goes together with health. It takes two minutes.",
    epsilon: "6",
    attributes: [
      { name: "smoker", role: "sensitive", protocol: "GRR", categories: ["No", "Yes"], missing: "Prefer not to say", question: "Do you smoke?" },
      { name: "age", role: "sensitive", protocol: "OLH", range: [18, 90], missing: "Prefer not to say", question: "How old are you?" },
      { name: "trade", role: "sensitive", protocol: "SS", categories: ["Farm", "Shop", "Office", "None"], question: "Where do you work?" },
      { name: "town", role: "plain", categories: ["Bergen", "Delft", "Gent", "Graz", "Lyon", "Oslo", "Porto", "Québec", "Turin"], question: "Which town do you live in?" },
    ],
  });
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 }, deviceScaleFactor: 1, colorScheme });
    const page = await context.newPage();
    const shoot = (part) => page.screenshot({ path: `${folder}hosted-page-${part}-${colorScheme}.png`, fullPage: true });
    await page.goto(`${server.origin}/s/work-and-health`);
    await page.locator("#go-on:enabled").waitFor();
    await shoot("form");
    await page.getByLabel("Yes").check();
    await page.locator("#q1").fill("44");
    await page.getByLabel("Office").check();
    await page.locator("#q3").selectOption({ label: "Oslo" });
    await page.getByRole("button", { name: "See what would be sent" }).click();
    await page.getByRole("heading", { name: "What would be sent" }).waitFor();
    await shoot("review");
    await page.getByRole("button", { name: "Agree and send" }).click();
    await page.getByRole("heading", { name: "Thank you. Your answers have arrived." }).waitFor();
    await shoot("receipt");
    await context.close();
  }
} finally {
  await browser.close();
  await server.stop();
}
