/** The examples run by their one command, and their respondents' answers reach the server that it starts. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launch } from "./browser.js";

const run = fileURLToPath(new URL("../../client/hushpoll_client_js/examples/run.js", import.meta.url));
let browser, examples, child;

before(async () => {
  child = spawn(process.execPath, [run, "--json"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  const first = once(lines, "line");
  const ended = once(child, "exit").then(() => Promise.reject(new Error("the examples ended")));
  ended.catch(() => undefined);
  // Known before anything is awaited that can fail, so that it is closed in any case.
  browser = await launch();
  const [line] = await Promise.race([first, ended]);
  examples = JSON.parse(line);
});

after(async () => {
  await browser?.close();
  child.stdin.end();
  if (child.exitCode === null) await once(child, "exit");
});

/** That the server has a report, which it then knows when it is sent again; analysts see it only from its release on. */
async function assertArrived(posts) {
  assert.deepEqual(posts.map((request) => Object.keys(request.postDataJSON()).sort()), [["digest", "id", "record"]]);
  const [request] = posts;
  const headers = { "Content-Type": "application/json" };
  const again = await fetch(request.url(), { method: "POST", headers, body: request.postData() });
  assert.deepEqual([again.status, (await again.json()).status], [200, "duplicate"]);
  assert.ok(request.url().startsWith(examples.server));
}

/** An example in a browser profile of its own, up to the respondent's consent. */
async function open(name) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const [said, posts] = [[], []];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => request.method() === "POST" && posts.push(request));
  await page.goto(`${examples.origin}/${name}/`);
  await page.getByRole("button", { name: "I agree" }).waitFor();
  return { page, context, said, posts, status: page.getByRole("status") };
}

const refusal = (route) =>
  route.fulfill({
    status: 410,
    headers: { "Access-Control-Allow-Origin": "*" },
    contentType: "application/problem+json",
    body: JSON.stringify({ type: "urn:hushpoll:problem:survey-closed", title: "closed", status: 410, detail: "the survey is closed" }),
  });

for (const name of ["react", "vue"]) {
  describe(`the example with ${name}`, () => {
    const answer = async (page) => {
      await page.getByRole("button", { name: "I agree" }).click();
      await page.getByRole("group", { name: "Do you smoke?" }).getByLabel("yes").check();
      await page.getByRole("group", { name: "Where do you work?" }).getByLabel("shop").check();
      await page.getByRole("button", { name: "Send" }).click();
    };

    test("shows what is sent, asks, and delivers a report", async () => {
      const { page, said, posts, status } = await open(name);
      assert.equal(await page.getByRole("group").filter({ has: page.locator("legend") }).count(), 0, "no question before consent");
      await page.getByText("What will be sent, and what it reveals").click();
      await page.getByText(/What is sent is your true answer with a chance of/).first().waitFor();
      await answer(page);
      await status.getByText("Delivered. Privacy loss: at most epsilon 4.").waitFor();
      await page.getByRole("group", { name: "Where do you work?" }).getByText("Sent in clear: the survey's operator can read it").waitFor();
      await page.getByRole("group", { name: "Do you smoke?" }).getByText("Randomised on this device").waitFor();
      await assertArrived(posts);
      assert.deepEqual(said, []);
      // Consent lasts; a second answer on this device is not taken, and it says so.
      await page.reload();
      await page.getByRole("group", { name: "Where do you work?" }).getByLabel("farm").check();
      await page.getByRole("button", { name: "Send" }).click();
      await status.getByText("was neither randomised nor sent").waitFor();
    });

    test("says that nothing was delivered if the server refuses", async () => {
      const { page, context, status } = await open(name);
      await context.route("**/reports", refusal);
      await answer(page);
      await status.getByText(/Nothing was delivered: .*the survey is closed/).waitFor();
    });
  });
}

describe("the example with SurveyJS", () => {
  const complete = async (page) => {
    await page.getByText("shop", { exact: true }).click();
    await page.getByText("asthma", { exact: true }).click();
    await page.getByRole("textbox", { name: /remark/ }).fill("nobody's business");
    await page.getByRole("button", { name: "Complete" }).click();
  };

  test("a respondent's answers arrive randomised, and nothing else leaves", async () => {
    const { page, context, said, posts, status } = await open("surveyjs");
    assert.match(await page.locator("#preview").textContent(), /What is sent is your true answer with a chance of/);
    await page.getByRole("button", { name: "I agree" }).click();
    await page.getByText("Sent in clear: the survey's operator can read it.").waitFor();
    await page.getByText("Not sent: it stays on this page.").waitFor();
    await page.getByText("Randomised on this device before anything is sent.").first().waitFor();
    await complete(page);
    await status.getByText("Delivered. Privacy loss: at most epsilon 5.").waitFor();
    await page.getByText("Thank you for completing the survey").waitFor();
    await assertArrived(posts);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, globalThis.survey.data]));
    assert.equal(kept, '[{},{},"",{"remark":"nobody\'s business"}]');
    assert.deepEqual(await context.cookies(), []);
    assert.deepEqual(said, []);
  });

  test("a server that refuses keeps the survey from completing", async () => {
    const { page, context } = await open("surveyjs");
    await page.getByRole("button", { name: "I agree" }).click();
    await context.route("**/reports", refusal);
    await complete(page);
    await page.getByText(/the survey is closed/).first().waitFor();
    await page.getByRole("status").getByText("Nothing was delivered: the server refused the report (survey-closed).").waitFor();
    assert.equal(await page.evaluate(() => globalThis.survey.state), "running");
  });

  test("a survey that completes before the server has answered says that nothing is delivered yet", async () => {
    const { page, context, status } = await open("surveyjs");
    await page.getByRole("button", { name: "I agree" }).click();
    await context.route("**/reports", (route) => route.abort());
    await complete(page);
    await page.getByText("Thank you for completing the survey").waitFor();
    await status.getByText("Nothing is delivered yet").waitFor();
  });

  test("a server that cannot be reached leaves words, and no blank page", async () => {
    const page = await browser.newPage();
    await page.route("**/api/v1/surveys/*", (route) =>
      route.fulfill({ status: 404, headers: { "Access-Control-Allow-Origin": "*" }, body: "{}" }),
    );
    await page.goto(`${examples.origin}/surveyjs/`);
    await page.getByRole("status").getByText(/Nothing was delivered: what answered \(404\) is not the survey's server/).waitFor();
  });
});
