import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";

import {
  BudgetExhausted,
  InvalidParameter,
  ManifestRefused,
  SurveyClient,
  TransportError,
} from "../../client/hushpoll_client_js/src/index.js";
import { memoryStorage } from "../../client/hushpoll_client_js/src/memory_storage.js";
import { parseReport } from "../../client/hushpoll_client_js/src/report_reader.js";
import { decodeClear } from "../../client/hushpoll_client_js/src/inspection.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import {
  ANSWERS,
  entries,
  FakeServer,
  json,
  login,
  ORIGIN,
  problem,
  respondent,
  SMALL,
  SMALL_DIGEST,
  unreachable,
  WHOLE,
} from "./fixtures.js";

test("a report is kept before it is first sent, and is what is sent", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  let kept;
  server.script.push(async (request) => {
    kept = await entries(storage);
    return server.take(request);
  });
  const receipt = await client.submit(ANSWERS);
  assert.deepEqual(receipt, { status: "accepted", digest: SMALL_DIGEST, epsilon: "3", known: false });
  assert.equal(kept.length, 1);
  assert.equal(kept[0].state, "waiting");
  assert.equal(kept[0].report, server.posts[0].body);
  const report = parseReport(JSON.parse(server.posts[0].body));
  assert.equal(report.digest, SMALL_DIGEST);
  assert.deepEqual(decodeClear(await readPublished(SMALL), report.record), { town: "Oslo", happy: "yes" });
  assert.deepEqual(await client.ledger(), [
    {
      ...{ digest: SMALL_DIGEST, survey: "small", version: 3, epsilon: "3" },
      ...{ api: `${ORIGIN}/api/v1`, state: "accepted", id: JSON.parse(kept[0].report).id },
      withdrawable: true,
    },
  ]);
});

test("a report is forgotten once it is accepted, and not before", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  server.script = [() => problem(410, "survey-closed")];
  await client.submit(ANSWERS).catch(() => undefined);
  const [refused] = await entries(storage);
  assert.equal(refused.report, server.posts[0].body);
  await client.submit(ANSWERS);
  const [{ report, token, id, state }] = await entries(storage);
  assert.deepEqual([state, report, token], ["accepted", undefined, undefined]);
  assert.equal(id, JSON.parse(refused.report).id);
});

test("answers that are not taken, since the device has answered, are known as such", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  server.script = Array(7).fill(unreachable);
  assert.equal((await client.randomize(ANSWERS)).known, false);
  // What waits is sent, and is not what was answered now.
  const other = respondent(server, { storage }).client;
  server.script = [];
  assert.deepEqual(await other.submit({ ...ANSWERS, happy: "no" }), {
    ...{ status: "accepted", digest: SMALL_DIGEST, epsilon: "3", known: true },
  });
  assert.deepEqual(await other.submit({ ...ANSWERS, happy: "no" }), {
    ...{ status: "duplicate", digest: SMALL_DIGEST, epsilon: "3", known: true },
  });
  assert.equal(server.posts.length, 1);
  // Whatever server it is asked by: the report is not there any more.
  const moved = new FakeServer();
  const elsewhere = new SurveyClient("https://other.example.org", "small", { fetch: moved.fetch, storage, requireConsent: false });
  assert.equal((await elsewhere.submit(ANSWERS)).known, true);
  assert.equal(moved.posts.length, 0);
});

for (const part of ["status line", "headers", "body"]) {
  test(`a server that sends its ${part} a byte at a time does not outlast an attempt's deadline`, async (context) => {
    const dripping = createServer((socket) => {
      const prompt = {
        "status line": "HTTP/1.1 ",
        headers: "HTTP/1.1 200 OK\r\nX-Slow: ",
        body: "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
      };
      socket.on("error", () => undefined);
      socket.write(prompt[part]);
      const timer = setInterval(() => socket.write("2"), 50);
      socket.on("close", () => clearInterval(timer));
    });
    await new Promise((resolve) => dripping.listen(0, "127.0.0.1", resolve));
    context.after(() => dripping.close());
    const asked = [];
    const { timeout } = AbortSignal;
    // A tenth of a second stands for the thirty.
    context.mock.method(AbortSignal, "timeout", (milliseconds) => {
      asked.push(milliseconds);
      return timeout.call(AbortSignal, milliseconds / 300);
    });
    const waits = [];
    const client = new SurveyClient(`http://127.0.0.1:${dripping.address().port}`, "small", {
      storage: memoryStorage(),
      wait: 120,
      pacing: { sleep: async (seconds) => void waits.push(seconds), random: () => 0.5 },
    });
    await assert.rejects(client.published(), /did not answer in time/);
    assert.deepEqual(asked, Array(7).fill(30_000));
    assert.equal(waits.length, 6);
  });
}

test("the time that attempts take counts against the patience, as the waits do", async (context) => {
  let now = 0;
  context.mock.method(Date, "now", () => now);
  const server = new FakeServer();
  const { client, waits } = respondent(server);
  server.script = Array(7).fill(() => {
    now += 30_000;
    throw new TypeError("fetch failed");
  });
  assert.equal((await client.submit(ANSWERS)).status, "waiting");
  // Four attempts of 30 seconds, and waits between them: two minutes are over.
  assert.equal(server.posts.length, 4);
  assert.equal(waits.length, 3);
});

test("requests carry nothing that could link them", async () => {
  const server = new FakeServer();
  await respondent(server).client.submit(ANSWERS);
  assert.deepEqual(server.requests.map(({ url }) => url), [
    `${ORIGIN}/api/v1/surveys/small`,
    `${ORIGIN}/api/v1/surveys/small/reports`,
  ]);
  for (const request of server.requests) {
    assert.equal(request.credentials, "omit");
    assert.equal(request.referrerPolicy, "no-referrer");
    assert.equal(request.redirect, "manual");
  }
});

test("retries send the same bytes, wait 1 to 30 seconds and honour Retry-After", async () => {
  const server = new FakeServer();
  const { client, waits } = respondent(server);
  server.script = [
    unreachable,
    () => problem(503, "unavailable"),
    () => problem(429, "rate-limited", { "Retry-After": "40" }),
    (request) => server.take(request) && unreachable(), // committed, answer lost
  ];
  assert.equal((await client.submit(ANSWERS)).status, "duplicate");
  assert.equal(new Set(server.posts.map(({ body }) => body)).size, 1);
  assert.equal(server.reports.size, 1);
  assert.deepEqual(waits, [1.5, 3, 40, 12]);
});

test("waits double up to 30 seconds, and attempts end", async () => {
  const server = new FakeServer();
  const { client, waits } = respondent(server);
  server.script = Array(7).fill(unreachable);
  assert.equal((await client.submit(ANSWERS)).status, "waiting");
  assert.deepEqual(waits, [1.5, 3, 6, 12, 22.5, 22.5]);
  assert.equal(server.posts.length, 7);
});

test("a Retry-After beyond all patience ends the attempts at once, a date is read", async () => {
  const server = new FakeServer();
  const { client, waits } = respondent(server);
  server.script = [() => problem(503, "unavailable", { "Retry-After": new Date(Date.now() + 86_400_000).toUTCString() })];
  assert.equal((await client.submit(ANSWERS)).status, "waiting");
  assert.deepEqual(waits, []);
});

test("what waits is sent by a later client, the same bytes", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  server.script = Array(7).fill(unreachable);
  await client.submit(ANSWERS);
  const [{ report }] = await entries(storage);
  const later = respondent(server, { storage }).client;
  assert.equal(await later.flush(), 0);
  assert.equal(server.posts.at(-1).body, report);
  assert.equal((await later.ledger())[0].state, "accepted");
  assert.equal(await later.flush(), 0);
  assert.equal(server.posts.length, 8);
});

test("an answer is randomised once, whatever is asked later and how often at once", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  const other = respondent(server, { storage }).client;
  await Promise.all([client.submit(ANSWERS), other.submit({ ...ANSWERS, town: "Québec" }), client.submit(ANSWERS)]);
  await other.submit({ ...ANSWERS, happy: "no" });
  assert.equal(server.reports.size, 1);
  assert.equal(new Set(server.posts.map(({ body }) => body)).size, 1);
});

test("a terminal refusal raises, is kept in the ledger and is not sent by flush", async () => {
  for (const [status, code] of [[410, "survey-closed"], [409, "report-conflict"], [422, "malformed-report"]]) {
    const server = new FakeServer();
    const { client, storage, waits } = respondent(server);
    server.script = [() => problem(status, code)];
    const error = await client.submit(ANSWERS).catch((reason) => reason);
    assert.ok(error instanceof TransportError);
    assert.deepEqual([error.retryable, error.status], [false, status]);
    assert.match(error.message, /in words/);
    assert.deepEqual(waits, []);
    assert.equal((await client.ledger())[0].state, "refused");
    assert.equal(await client.flush(), 0);
    assert.equal(server.posts.length, 1);
    // Asked for again, the same bytes go out.
    await client.submit(ANSWERS);
    assert.equal(server.posts[1].body, server.posts[0].body);
    assert.equal((await entries(storage)).length, 1);
  }
});

test("an answer that is not the server's ends no report, whatever its status", async () => {
  // Guards: one 308, and a login page's 403, 404 or 511, were taken for the server's refusal.
  const redirect = () => Object.assign(Object.create({ headers: new Headers(), body: null }), { status: 0, type: "opaqueredirect" });
  for (const answer of [redirect, ...[200, 201, 204, 308, 400, 401, 403, 404, 410, 422, 511, 520, 526].map(login)]) {
    const server = new FakeServer();
    const lost = [];
    const { client, storage } = respondent(server, { onLoss: (reason) => lost.push(reason) });
    server.script = Array(7).fill(answer);
    assert.equal((await client.submit(ANSWERS)).status, "waiting");
    assert.equal(server.posts.length, 7);
    assert.deepEqual([(await client.ledger())[0].state, await client.pending(), lost], ["waiting", 1, []]);
    assert.equal(await client.flush(), 0);
    assert.equal((await entries(storage))[0].state, "accepted");
    assert.equal(new Set(server.posts.map(({ body }) => body)).size, 1);
  }
});

test("a login page is no survey: the error is retryable and says so", async () => {
  for (const status of [200, 302, 403, 404, 511]) {
    const server = new FakeServer();
    const { fetch } = server;
    let pages = 2;
    const { client } = respondent(server, { fetch: (...request) => (pages-- > 0 ? login(status)() : fetch(...request)), wait: 1 });
    const error = await client.published().catch((reason) => reason);
    assert.ok(error instanceof TransportError && error.retryable);
    assert.match(error.message, /is not the survey's server; .* no login page or proxy/);
    pages = 1;
    assert.equal((await respondent(server, { fetch: (...request) => (pages-- > 0 ? login(status)() : fetch(...request)) }).client.published()).title, SMALL.title);
  }
});

test("a problem of odd parts raises nothing but errors of ours", async () => {
  const odd = (body, headers) => () => new Response(body, { status: 403, headers: { "Content-Type": "application/problem+json", ...headers } });
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const ours = '"type": "urn:hushpoll:problem:forbidden"';
  for (const body of [nested, `{${ours}, "x": ${nested}}`, '{"type": 5}', '{"type": {"toString": null}}', `[{${ours}}]`, "\xff", "null", ""]) {
    const server = new FakeServer();
    server.script = Array(7).fill(odd(body));
    const { client } = respondent(server);
    assert.equal((await client.submit(ANSWERS)).status, "waiting");
  }
  const server = new FakeServer();
  server.script = [odd(`{${ours}, "code": {"toString": null}, "title": {"toString": null}, "detail": [7]}`)];
  const error = await respondent(server).client.submit(ANSWERS).catch((reason) => reason);
  assert.deepEqual([error instanceof TransportError, error.retryable, error.problem.code], [true, false, "forbidden"]);
});

test("an answer without end is read up to 4 MiB, and given up", async () => {
  for (const status of [200, 201, 403]) {
    let pulled = 0;
    let cancelled = 0;
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => void (pulled++, controller.enqueue(new Uint8Array(65_536))),
          cancel: () => void cancelled++,
        }),
        { status },
      );
    const server = new FakeServer();
    server.script = Array(7).fill(endless);
    const { client } = respondent(server);
    assert.equal((await client.submit(ANSWERS)).status, "waiting");
    assert.ok(pulled <= 7 * 67, `${pulled} pieces of 64 KiB`);
    assert.equal(cancelled, 7);
    const { client: asking } = respondent(server, { fetch: async () => endless() });
    await assert.rejects(asking.published(), (error) => error instanceof TransportError && error.retryable && /longer than 4194304/.test(error.message));
  }
});

test("a fetch that heeds no signal does not outlast the wait", async (context) => {
  const alive = setInterval(() => undefined, 1000);
  context.after(() => clearInterval(alive));
  const never = () => new Promise(() => undefined);
  const { client } = respondent(new FakeServer(), { fetch: never, wait: 0.05 });
  await assert.rejects(client.published(), /did not answer in time/);
});

test("submit keeps the report and returns after the wait; sending goes on", async () => {
  const server = new FakeServer();
  const { client } = respondent(server, { wait: 0.05 });
  await client.published();
  let settle;
  server.script = [() => new Promise((resolve) => (settle = resolve))];
  const receipt = await client.submit(ANSWERS);
  assert.deepEqual(receipt, { status: "waiting", digest: SMALL_DIGEST, epsilon: "3", known: false });
  settle(server.take(server.posts[0]));
  while ((await client.pending()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(server.posts.length, 1);
});

test("a refusal after the wait is told by onLoss alone", async () => {
  const server = new FakeServer();
  const told = new Promise((resolve) => {
    const { client } = respondent(server, { wait: 0, onLoss: resolve });
    client.published().catch(() => undefined);
    const later = respondent(server, { wait: 0.05, onLoss: resolve }).client;
    later.published().then(() => {
      let settle;
      server.script = [() => new Promise((answer) => (settle = answer))];
      later.submit(ANSWERS).then(() => settle(problem(410, "survey-closed")));
    });
  });
  assert.equal(await told, "survey-closed");
});

test("a wait outside its interval is refused", () => {
  for (const wait of [-1, NaN, 86_401]) assert.throws(() => respondent(new FakeServer(), { wait }), { field: "wait" });
});

test("a Retry-After of any form raises nothing, and only a busy server's is heeded", async () => {
  const forms = ["-5", "1e3", "0x10", "99999999999999999999", "Infinity", "soon", "", "\u00b2", "Mon, 01 Jan 99999 00:00:00 GMT"];
  for (const after of forms) {
    const server = new FakeServer();
    const { client, waits } = respondent(server);
    server.script = [() => problem(503, "unavailable", { "Retry-After": after })];
    const { status } = await client.submit(ANSWERS);
    assert.deepEqual([status, waits], /9{5}/.test(after) ? ["waiting", []] : ["accepted", [1.5]], after);
  }
  const server = new FakeServer();
  const { client, waits } = respondent(server);
  server.script = [() => new Response("<html>", { status: 403, headers: { "Retry-After": "9999" } })];
  assert.equal((await client.submit(ANSWERS)).status, "accepted");
  assert.deepEqual(waits, [1.5]);
});

test("epsilon is limited per survey over its versions, before anything is randomised", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server, { maxEpsilon: "5" });
  await client.submit(ANSWERS);
  server.manifest = { ...SMALL, version: 4 };
  const second = respondent(server, { storage, maxEpsilon: 5 }).client;
  const error = await second.submit(ANSWERS).catch((reason) => reason);
  assert.ok(error instanceof BudgetExhausted);
  assert.equal(error.field, "maxEpsilon");
  assert.match(error.message, /spends epsilon 3 after 3, and maxEpsilon is 5/);
  assert.equal(server.posts.length, 1);
  assert.equal((await entries(storage)).length, 1);
  assert.equal((await respondent(server, { storage, maxEpsilon: "6" }).client.submit(ANSWERS)).status, "accepted");
});

test("epsilon is limited over all surveys", async () => {
  const server = new FakeServer();
  const { storage, client } = respondent(server);
  await client.submit(ANSWERS);
  server.manifest = { ...SMALL, name: "other" };
  const limited = respondent(server, { storage, maxEpsilon: "3", maxEpsilonTotal: "5.999999999999" }).client;
  await assert.rejects(limited.submit(ANSWERS), (error) => error instanceof BudgetExhausted && error.field === "maxEpsilonTotal");
  assert.equal((await respondent(server, { storage, maxEpsilonTotal: "6" }).client.submit(ANSWERS)).status, "accepted");
});

test("a limit that is no number is refused before anything is spent", async () => {
  const server = new FakeServer();
  for (const maxEpsilon of ["four", -1, NaN, 0]) {
    const { client, storage } = respondent(server, { maxEpsilon });
    await assert.rejects(client.submit(ANSWERS), (error) => error instanceof InvalidParameter && error.field === "maxEpsilon");
    assert.equal((await entries(storage)).length, 0);
  }
});

test("the manifest must be the pinned one", async () => {
  const server = new FakeServer();
  await respondent(server, { digest: SMALL_DIGEST }).client.published();
  await assert.rejects(
    respondent(server, { digest: "0".repeat(64) }).client.submit(ANSWERS),
    (error) => error instanceof ManifestRefused && error.field === "digest" && error.message.includes(SMALL_DIGEST),
  );
  server.fetch = async () => json(JSON.stringify(SMALL, null, 1));
  await assert.rejects(respondent(server).client.published(), { field: "json" });
});

test("a server that answers with another survey is refused", async () => {
  const server = new FakeServer();
  const client = new SurveyClient(ORIGIN, "large", { fetch: server.fetch, storage: respondent(server).storage });
  await assert.rejects(client.published(), (error) => error instanceof ManifestRefused && error.field === "name");
});

test("a version that changed after it was answered is refused", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  await client.submit(ANSWERS);
  server.manifest = { ...SMALL, title: "Smaller" };
  await assert.rejects(
    respondent(server, { storage }).client.submit(ANSWERS),
    (error) => error instanceof ManifestRefused && error.field === "digest",
  );
  assert.equal(server.posts.length, 1);
});

test("what is required to be sensitive is never collected in clear, nor misspelt", async () => {
  const server = new FakeServer();
  await respondent(server, { requiredSensitive: ["colour", "age"] }).client.published();
  for (const name of ["town", "happy", "color"]) {
    const { client, storage } = respondent(server, { requiredSensitive: [name] });
    await assert.rejects(client.submit(ANSWERS), { field: `attributes[${name}].role` });
    assert.equal((await entries(storage)).length, 0);
  }
  assert.equal(server.posts.length, 0);
});

test("a survey that releases fewer reports at once than is required is refused", async () => {
  const server = new FakeServer();
  const { minimum_batch: least } = SMALL;
  await respondent(server, { requiredBatch: least }).client.published();
  for (const requiredBatch of [least + 1, NaN, "many"]) {
    await assert.rejects(respondent(server, { requiredBatch }).client.submit(ANSWERS), { field: "minimum_batch" });
  }
  assert.equal(server.posts.length, 0);
});

test("a token travels with the report alone, and is forgotten with the acknowledgement", async () => {
  const server = new FakeServer(WHOLE);
  const answers = { gender: "Male", age: 40, country: "日本", education: "school", income: ">26000" };
  await assert.rejects(respondent(server).client.submit(answers), { field: "token" });
  const { client, storage } = respondent(server, { token: "s3cret" });
  server.script = Array(7).fill(unreachable);
  assert.equal((await client.submit(answers)).status, "waiting");
  assert.doesNotMatch(JSON.stringify(await client.ledger()), /s3cret/);
  // It survives a reload, for `flush`.
  assert.equal(await respondent(server, { storage }).client.flush(), 0);
  assert.deepEqual([...new Set(server.requests.map(({ headers }) => headers?.Authorization))], [undefined, "Bearer s3cret"]);
  assert.equal(server.requests[0].headers, undefined);
  assert.doesNotMatch(JSON.stringify(await entries(storage)), /s3cret/);
});

test("a withdrawn answer leaves what was spent, and is not given again", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  server.script = Array(7).fill(unreachable);
  await client.submit(ANSWERS);
  await client.withdraw();
  assert.equal(await client.flush(), 0);
  // The report may have left, so it is taken back: by the withdrawal, and by the flush if that had no answer.
  assert.equal(server.posts.filter(({ url }) => url.endsWith("/reports")).length, 7);
  const [entry] = await entries(storage);
  assert.deepEqual([entry.state, entry.epsilon, entry.report], ["withdrawn", "3", undefined]);
  await assert.rejects(client.submit(ANSWERS), BudgetExhausted);
});

test("an address is https, or http on this machine", () => {
  const storage = {};
  for (const url of ["https://polls.example.org", "http://localhost:8000", "http://127.0.0.1:5000/x/", "http://[::1]:5000"]) {
    new SurveyClient(url, "small", { storage });
  }
  for (const url of ["http://polls.example.org", "ftp://localhost", "https://a:secret@b", "https://b?x=1", "https://b#x", "b", ""]) {
    assert.throws(
      () => new SurveyClient(url, "small", { storage }),
      (error) => error instanceof InvalidParameter && error.field === "url" && !error.message.includes("secret"),
    );
  }
  assert.throws(() => new SurveyClient(ORIGIN, "../x", { storage }), { field: "survey" });
});

test("no answer is in an error, a log or the storage", async () => {
  const printed = [];
  for (const level of ["log", "info", "warn", "error", "debug"]) {
    console[level] = (...given) => printed.push(given.join(" "));
  }
  const secret = "zebra-crossing";
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  for (const answers of [
    { ...ANSWERS, colour: secret },
    { ...ANSWERS, [`${secret} !`]: "x" },
    { ...ANSWERS, age: { [secret]: 1 } },
    { ...ANSWERS, town: [secret] },
  ]) {
    const error = await client.submit(answers).catch((reason) => reason);
    assert.ok(error instanceof InvalidParameter);
    assert.doesNotMatch(`${error.stack}${JSON.stringify(error)}${error.message}`, /zebra/);
  }
  server.script = [() => problem(410, "survey-closed")];
  const sent = await client.submit(ANSWERS).catch((reason) => reason);
  const said = `${sent.stack}${JSON.stringify(sent)}${printed}${JSON.stringify(await entries(storage))}`;
  // A town's name in quotes, since a report's id and record may hold any few letters.
  for (const word of ["zebra", "green", '"Oslo', " Oslo"]) assert.ok(!said.includes(word));
  assert.deepEqual(printed, []);
});

test("attributes may be named like what objects inherit", async () => {
  const attributes = ["__proto__", "constructor", "valueof"].map((name) => ({
    name, role: "plain", categories: ["a", "b"], missing: "none",
  }));
  const manifest = JSON.parse(JSON.stringify({ ...SMALL, attributes: [...SMALL.attributes, ...attributes] }));
  const server = new FakeServer(manifest);
  const { client } = respondent(server);
  await client.submit(JSON.parse(JSON.stringify(ANSWERS).replace("{", '{"__proto__":"b",')));
  const { record } = parseReport(JSON.parse(server.posts[0].body));
  const clear = decodeClear(await readPublished(manifest), record);
  assert.deepEqual(Object.entries(clear).slice(2), [["__proto__", "b"], ["constructor", "none"], ["valueof", "none"]]);
});
