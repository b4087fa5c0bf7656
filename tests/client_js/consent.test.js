import assert from "node:assert/strict";
import { test } from "node:test";

import { ConsentMissing } from "../../client/hushpoll_client_js/src/index.js";
import { ANSWERS, entries, FakeServer, problem, respondent, SMALL, unreachable } from "./fixtures.js";

const asking = (server, options = {}) => respondent(server, { requireConsent: true, ...options });

test("no answer is read, kept or sent before consent is given", async () => {
  const server = new FakeServer();
  const { client, storage } = asking(server);
  const answers = new Proxy({}, { get: () => assert.fail("an answer was read"), ownKeys: () => assert.fail("answers were read") });
  for (const act of [() => client.randomize(answers), () => client.submit(answers)]) {
    await assert.rejects(act, (error) => error instanceof ConsentMissing && /small/.test(error.message));
  }
  assert.equal(await client.consented(), false);
  assert.deepEqual([server.requests, await entries(storage)], [[], []]);
  // What is agreed to can be read before.
  assert.equal((await client.published()).title, SMALL.title);
});

test("consent is kept with its date and text, for all clients of the survey, and lasts", async () => {
  const server = new FakeServer();
  const { client, storage } = asking(server);
  await client.giveConsent("We ask four questions.");
  await client.giveConsent("Another text, later.");
  const later = asking(server, { storage }).client;
  assert.equal(await later.consented(), true);
  assert.equal((await later.submit(ANSWERS)).status, "accepted");
  const [agreed] = await entries(storage);
  assert.deepEqual([agreed.state, agreed.statement], ["agreed", "We ask four questions."]);
  assert.match(agreed.given, /^\d{4}-\d\d-\d\d$/);
  // It is no answer: the ledger does not list it, and nothing is spent by it.
  assert.deepEqual((await later.ledger()).map(({ state, epsilon }) => [state, epsilon]), [["accepted", "3"]]);
});

test("consent to one survey is none to another, nor on another server", async () => {
  const server = new FakeServer();
  const { client, storage } = asking(server);
  await client.giveConsent();
  server.manifest = { ...SMALL, name: "other" };
  assert.equal(await asking(server, { storage }).client.consented(), false);
});

test("withdrawing ends the consent and forgets its text", async () => {
  const server = new FakeServer();
  const { client, storage } = asking(server);
  await client.giveConsent("We ask four questions.");
  await client.submit(ANSWERS);
  await client.withdraw();
  assert.equal(await client.consented(), false);
  assert.doesNotMatch(JSON.stringify(await entries(storage)), /four questions/);
  await assert.rejects(client.submit(ANSWERS), ConsentMissing);
});

test("consent that another tab withdraws while the survey is fetched stops the answer", async () => {
  const server = new FakeServer();
  const { client, storage } = asking(server);
  await client.giveConsent();
  const { fetch } = server;
  const slow = asking(server, {
    storage,
    fetch: async (...request) => {
      await client.withdraw();
      return fetch(...request);
    },
  }).client;
  await assert.rejects(slow.submit(ANSWERS), ConsentMissing);
  assert.deepEqual(server.posts, []);
});

test("pending counts the reports that wait, and flush lets it fall", async () => {
  const server = new FakeServer();
  const { client } = respondent(server);
  assert.equal(await client.pending(), 0);
  server.script = Array(7).fill(unreachable);
  await client.submit(ANSWERS);
  assert.equal(await client.pending(), 1);
  await client.flush();
  assert.equal(await client.pending(), 0);
});

test("a loss is told and counted by its reason, once, also where flush meets it", async () => {
  const server = new FakeServer();
  const lost = [];
  const { client, storage } = respondent(server);
  server.script = Array(7).fill(unreachable);
  await client.submit(ANSWERS);
  const later = respondent(server, { storage, onLoss: (reason) => lost.push(reason) }).client;
  server.script = [() => problem(410, "survey-closed")];
  await later.flush();
  await later.flush();
  assert.deepEqual([lost, later.losses, await later.pending()], [["survey-closed"], { "survey-closed": 1 }, 0]);
  // A server cannot have words of its own counted.
  const type = "urn:hushpoll:problem:unknown-digest";
  const headers = { "Content-Type": "application/problem+json" };
  server.script = [() => new Response(JSON.stringify({ type, code: "<b>Hello</b>" }), { status: 404, headers })];
  await assert.rejects(later.submit(ANSWERS));
  assert.deepEqual(lost.slice(1), ["unknown-digest"]);
});

test("a network that is down loses nothing", async () => {
  const server = new FakeServer();
  const lost = [];
  const { client } = respondent(server, { onLoss: (reason) => lost.push(reason) });
  server.script = Array(7).fill(unreachable);
  await client.submit(ANSWERS);
  assert.deepEqual([lost, client.losses], [[], {}]);
});

test("what onLoss throws breaks nothing, and its message is not printed", async (context) => {
  const printed = context.mock.method(console, "warn", () => undefined);
  const server = new FakeServer();
  const onLoss = () => {
    throw new TypeError("green");
  };
  const { client } = respondent(server, { onLoss });
  server.script = [() => problem(410, "survey-closed")];
  await assert.rejects(client.submit(ANSWERS), { status: 410 });
  assert.deepEqual(printed.mock.calls[0].arguments, ["hushpoll: onLoss raised TypeError"]);
});

test("the survey is shown before consent, which touches no storage, and kept with it for when there is no network", async () => {
  const server = new FakeServer();
  const shut = { update: () => assert.fail("the storage was touched") };
  assert.equal((await asking(server, { storage: shut }).client.published()).title, SMALL.title);
  const { client, storage } = asking(server);
  await client.published();
  await client.giveConsent();
  const offline = { storage, fetch: unreachable };
  const later = asking(server, offline).client;
  assert.equal((await later.published()).title, SMALL.title);
  assert.equal((await later.submit(ANSWERS)).status, "waiting");
  assert.deepEqual(server.posts, []);
  await assert.rejects(asking(server, { ...offline, version: 9 }).client.published(), { field: "version" });
  await assert.rejects(asking(server, { ...offline, digest: "0".repeat(64) }).client.published(), { field: "digest" });
  await later.withdraw();
  assert.doesNotMatch(JSON.stringify(await entries(storage)), /thresholds/);
  await assert.rejects(asking(server, offline).client.published(), { retryable: true });
});
