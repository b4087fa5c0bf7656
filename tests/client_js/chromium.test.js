import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { browser, server } from "./site.js";

const esbuild = createRequire(new URL("../../client/hushpoll_client_js/package.json", import.meta.url))("esbuild");
const DRAFT = {
  title: "Work and health",
  epsilon: "6",
  minimum_batch: 1,
  release: "immediate",
  attributes: [
    { name: "smoker", role: "sensitive", protocol: "GRR", categories: ["no", "yes"], missing: "no answer" },
    { name: "age", role: "sensitive", protocol: "OLH", range: [18, 90] },
    { name: "trade", role: "sensitive", protocol: "SS", categories: ["farm", "shop", "office", "none"] },
    { name: "town", role: "plain", categories: ["Québec", "Oslo"] },
  ],
};
const ANSWERS = { smoker: "yes", age: 44, trade: "shop", town: "Oslo" };

/** A survey of its own for a test, and a tab in a profile of its own. */
async function open(name, { versions = 1 } = {}) {
  for (let version = 1; version <= versions; version++) await server.publish({ ...DRAFT, name, version });
  const context = await browser.newContext();
  const said = [];
  const newTab = async () => {
    const page = await context.newPage();
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    await page.goto(`${server.origin}/tests/client_js/page.html`);
    return page;
  };
  return { context, page: await newTab(), newTab, said, reports: `**/surveys/${name}/reports` };
}

/** Submit in a page, without waiting between attempts; `times` at once. */
const submit = (page, survey, answers = ANSWERS, options = {}) =>
  page.evaluate(
    async ([survey, answers, { times = 1, version, locks = true }]) => {
      const { SurveyClient } = await import("/client/hushpoll_client_js/src/index.js");
      if (!locks) Object.defineProperty(navigator, "locks", { value: undefined });
      const pacing = { sleep: async () => undefined, random: Math.random };
      const client = () => new SurveyClient(location.origin, survey, { version, pacing, wait: 300, requireConsent: false });
      return Promise.all(Array.from({ length: times }, () => client().submit(answers)));
    },
    [survey, answers, options],
  );

/** Everything that the SDK keeps in a page. */
const kept = (page) =>
  page.evaluate(async () => {
    const { indexedDbStorage } = await import("/client/hushpoll_client_js/src/storage.js");
    let all;
    await indexedDbStorage().update((entries) => void (all = entries));
    return all;
  });

test("every vector gives the same bytes in the page", async () => {
  const { page, said } = await open("vectors");
  // Bundled, since a browser does not find a package by its name.
  const runner = esbuild.buildSync({
    entryPoints: [fileURLToPath(new URL("vector_runner.js", import.meta.url))],
    bundle: true,
    format: "esm",
    write: false,
  });
  await page.route("**/vector_runner.js", (route) => route.fulfill({ contentType: "text/javascript", body: runner.outputFiles[0].text }));
  const { passed, failures } = await page.evaluate(async () => {
    const { FILES, runVectors } = await import("/tests/client_js/vector_runner.js");
    const load = async (name) => [name, await (await fetch(`/tests/vectors/${name}.json`)).json()];
    return runVectors(Object.fromEntries(await Promise.all(FILES.map(load))));
  });
  assert.deepEqual(failures, []);
  const total = Object.values(passed).reduce((sum, count) => sum + count, 0);
  assert.ok(total >= 1000, `${total} vectors`);
  assert.deepEqual(said, []);
});

test("an answer arrives once, and nothing of it is left in clear in the browser", async () => {
  const { page, context, said } = await open("once");
  assert.deepEqual((await submit(page, "once"))[0].status, "accepted");
  assert.equal((await submit(page, "once", { ...ANSWERS, smoker: "no" }))[0].status, "duplicate");
  assert.equal(await server.count("once"), 1);
  const entries = await kept(page);
  assert.equal(entries.length, 1);
  // In quotes, since a report's id and record may hold any few letters.
  assert.doesNotMatch(JSON.stringify(entries), /"(yes|shop|Oslo|44|age)\\?"|:44\b/);
  assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, ""]);
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual(said, []);
});

test("the outbox survives a reload, and sends the bytes that it kept", async () => {
  const { page, context, reports } = await open("reload");
  await context.route(reports, (route) => route.abort());
  assert.equal((await submit(page, "reload"))[0].status, "waiting");
  const [before] = await kept(page);
  assert.equal(before.state, "waiting");
  await page.reload();
  await context.unroute(reports);
  const sent = page.waitForRequest(reports);
  const waiting = await page.evaluate(async () => {
    const { SurveyClient } = await import("/client/hushpoll_client_js/src/index.js");
    return new SurveyClient(location.origin, "reload").flush();
  });
  assert.equal(waiting, 0);
  assert.equal((await sent).postData(), before.report);
  assert.equal(await server.count("reload"), 1);
  assert.equal((await kept(page))[0].state, "accepted");
});

test("an acknowledgement that is lost costs neither a report nor a second draw", async () => {
  const { page, context, reports } = await open("lost");
  const bodies = [];
  await context.route(reports, async (route) => {
    bodies.push(route.request().postData());
    if (bodies.length > 2) return route.continue();
    await route.fetch(); // the server commits
    return route.abort();
  });
  assert.equal((await submit(page, "lost"))[0].status, "duplicate");
  assert.equal(bodies.length, 3);
  assert.equal(new Set(bodies).size, 1);
  assert.equal(await server.count("lost"), 1);
});

for (const locks of [true, false]) {
  test(`two tabs do not randomise twice (${locks ? "with" : "without"} Web Locks)`, async () => {
    const name = locks ? "tabs" : "tabs-without-locks";
    const rounds = 3;
    const { page, newTab, context, reports } = await open(name, { versions: rounds });
    const other = await newTab();
    const bodies = new Set();
    await context.route(reports, (route) => bodies.add(route.request().postData()) && route.continue());
    for (let version = 1; version <= rounds; version++) {
      await Promise.all([
        submit(page, name, ANSWERS, { times: 5, version, locks }),
        submit(other, name, { ...ANSWERS, smoker: null, town: "Québec" }, { times: 5, version, locks }),
      ]);
      const entries = await kept(other);
      assert.equal(entries.length, version);
      assert.equal(bodies.size, version);
      assert.equal(await server.count(name), version);
    }
  });
}

test("a browser that keeps nothing sends nothing", async () => {
  const { page, context, reports } = await open("forgetful");
  let posts = 0;
  await context.route(reports, (route) => ++posts && route.continue());
  const name = await page.evaluate(async (answers) => {
    indexedDB.constructor.prototype.open = () => {
      throw new DOMException("denied", "SecurityError");
    };
    const { StorageError, SurveyClient } = await import("/client/hushpoll_client_js/src/index.js");
    const error = await new SurveyClient(location.origin, "forgetful", { requireConsent: false }).submit(answers).catch((reason) => reason);
    return error instanceof StorageError && error.message;
  }, ANSWERS);
  assert.match(name, /keeps no data/);
  assert.equal(posts, 0);
});

test("many respondents in the page: the server's estimates hold the truth", async () => {
  const { page } = await open("many");
  const respondents = 400;
  const accepted = await page.evaluate(async (respondents) => {
    const { SurveyClient } = await import("/client/hushpoll_client_js/src/index.js");
    const { memoryStorage } = await import("/client/hushpoll_client_js/src/memory_storage.js");
    // One manifest for all: the requests wanted are the reports.
    const manifest = await (await fetch("/api/v1/surveys/many")).arrayBuffer();
    const headers = { "Content-Type": "application/json" };
    const fetchOnce = (url, init) => (init.method ? fetch(url, init) : Promise.resolve(new Response(manifest.slice(0), { headers })));
    let accepted = 0;
    const respond = async (at) => {
      const client = new SurveyClient(location.origin, "many", { fetch: fetchOnce, storage: memoryStorage(), wait: 300, requireConsent: false });
      const { status } = await client.submit({
        smoker: at % 4 ? "no" : "yes",
        age: 18 + (at % 73),
        trade: ["farm", "shop", "office", "none"][at % 4],
        town: at % 2 ? "Oslo" : "Québec",
      });
      accepted += status === "accepted";
    };
    for (let at = 0; at < respondents; at += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, more) => respond(at + more)));
    }
    return accepted;
  }, respondents);
  assert.equal(accepted, respondents);
  const { n, attributes } = await server.ask("surveys/many/versions/1/estimates");
  assert.equal(n, respondents);
  const categoriesOf = (name) => attributes.find((attribute) => attribute.name === name).categories;
  assert.equal(categoriesOf("town")[1].frequency, 0.5);
  for (const [name, truth] of [["smoker", [0.75, 0.25, 0]], ["trade", [0.25, 0.25, 0.25, 0.25]]]) {
    categoriesOf(name).forEach(({ frequency, standard_error }, at) => {
      assert.ok(Math.abs(frequency - truth[at]) < 6 * standard_error + 1e-9, `${name}[${at}]: ${frequency}`);
    });
  }
});

test("the README's example runs as it stands", async () => {
  const readme = readFileSync(new URL("../../client/hushpoll_client_js/README.md", import.meta.url), "utf8");
  const [example, ...others] = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
  assert.deepEqual(others, []);
  const { page, context, said } = await open("work-and-health");
  // Served as a module of the site, at the address that the example imports from.
  const served = example
    .replace('"https://polls.example.org"', "location.origin")
    .replace("wait: 5,", "wait: 300,")
    .replace('"hushpoll"', '"/client/hushpoll_client_js/src/index.js"');
  assert.notEqual(served, example);
  await context.route("**/example.js", (route) => route.fulfill({ contentType: "text/javascript", body: served }));
  await page.evaluate(() => import("/example.js"));
  assert.match(said[0], /Sent in clear.*town: your answer as it is.*smoker\n    GRR with epsilon 2\./s);
  assert.deepEqual(said.slice(1), ["accepted", "0"]);
  assert.equal(await server.count("work-and-health"), 1);
});

test("the form of the page on SurveyJS completes as it stands, with consent, in a browser", async () => {
  // Guards: the page left out consent, so that its form never completed.
  const text = readFileSync(new URL("../../docs/how-to/use-surveyjs.md", import.meta.url), "utf8");
  const [manifest, questions] = [...text.matchAll(/^ *```json\n(.*?)^ *```$/gms)].map(([, block]) => block);
  const [snippet, ...others] = [...text.matchAll(/^ *```js\n(.*?)^ *```$/gms)].map(([, block]) => block);
  assert.deepEqual(others, []);
  const { digest } = await server.publish({ ...JSON.parse(manifest), minimum_batch: 1, release: "immediate" });
  const { page, context, said } = await open("for-the-form");
  const src = fileURLToPath(new URL("../../client/hushpoll_client_js/src/", import.meta.url));
  const { outputFiles } = await esbuild.build({
    stdin: { contents: snippet.replace('"https://polls.example.org"', "location.origin"), resolveDir: src },
    alias: { "hushpoll/surveyjs": `${src}surveyjs.js`, hushpoll: `${src}index.js` },
    loader: { ".css": "empty" },
    ...{ bundle: true, format: "esm", write: false, logLevel: "error" },
  });
  await context.route("**/form.js", (route) => route.fulfill({ contentType: "text/javascript", body: outputFiles[0].text }));
  await page.evaluate(
    async ([elements, digest]) => {
      const shown = [];
      document.body.innerHTML = '<div id="survey"></div>';
      const agrees = async (words) => shown.push(words) > 0;
      Object.assign(globalThis, { formJson: { elements }, PINNED: digest, agrees, say: (words) => shown.push(words), shown });
      await import("/form.js");
    },
    [questions.trim().split("\n").map((line) => JSON.parse(line)), digest],
  );
  await page.locator("[data-name=job]").getByText("Refuse to answer").click();
  await page.locator("[data-name=mood] label").first().click();
  await page.locator("[data-name=email] input").fill("me@example.org");
  const sent = page.waitForRequest((request) => request.method() === "POST");
  await page.getByRole("button", { name: "Complete" }).click();
  const body = (await sent).postData();
  await page.getByText("Thank you for completing the survey").waitFor();
  await page.waitForFunction(() => globalThis.shown.length > 1);
  const [words, receipt] = await page.evaluate(() => globalThis.shown);
  assert.match(words, /trade/);
  assert.equal(receipt, "Your answers have arrived.");
  assert.deepEqual(Object.keys(JSON.parse(body)).sort(), ["digest", "id", "record"]);
  assert.doesNotMatch(body, /me@example/);
  assert.equal(await server.count("shop-survey"), 1);
  assert.deepEqual(said.filter((line) => /error/i.test(line) && !/Content Security Policy/.test(line)), []);
});
