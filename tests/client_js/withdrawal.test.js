import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { b64decode } from "../../client/hushpoll_client_js/src/base64url_reader.js";
import { StorageError } from "../../client/hushpoll_client_js/src/errors.js";
import { memoryStorage } from "../../client/hushpoll_client_js/src/memory_storage.js";
import { ANSWERS, entries, FakeServer, json, login, ORIGIN, problem, respondent, SMALL_DIGEST, unreachable } from "./fixtures.js";

const said = (status) => () => json(JSON.stringify({ status }));
const NOTHING = { deleted: 0, notHere: 0, unanswered: 0, unable: 0 };

test("a report's id is the hash of a secret that does not leave with it", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  await client.submit(ANSWERS);
  const [{ secret, id }] = await entries(storage);
  assert.equal(b64decode(secret, "secret").length, 32);
  assert.equal(createHash("sha256").update(Buffer.from(secret, "base64url")).digest().subarray(0, 16).toString("base64url"), id);
  assert.doesNotMatch(server.posts[0].body, new RegExp(secret));
  assert.doesNotMatch(JSON.stringify(await client.ledger()), new RegExp(secret));
});

test("the id of a secret is the vectors'", async () => {
  const { withdrawals } = JSON.parse(readFileSync(new URL("../vectors/withdrawals.json", import.meta.url), "utf8"));
  for (const { secret, id } of withdrawals) {
    const hash = await crypto.subtle.digest("SHA-256", Buffer.from(secret, "base64url"));
    assert.equal(Buffer.from(hash).subarray(0, 16).toString("base64url"), id);
  }
});

test("a report is taken back by its secret, in a body and not in an address, and what was spent stays", async () => {
  for (const [status, count] of [["deleted", "deleted"], ["not-here", "notHere"]]) {
    const server = new FakeServer();
    const { client, storage } = respondent(server);
    await client.submit(ANSWERS);
    const [{ secret }] = await entries(storage);
    server.script = [said(status)];
    assert.deepEqual(await client.withdraw(), { ...NOTHING, [count]: 1 });
    const { url, body, headers } = server.posts.at(-1);
    assert.equal(url, `${ORIGIN}/api/v1/surveys/small/withdrawals`);
    assert.deepEqual(JSON.parse(body), { digest: SMALL_DIGEST, secret });
    assert.deepEqual(Object.keys(headers), ["Content-Type"]);
    const [entry] = await entries(storage);
    assert.deepEqual([entry.state, entry.epsilon, entry.taken, entry.secret, entry.id], ["withdrawn", "3", status, undefined, undefined]);
    // It is over: nobody is asked again.
    assert.deepEqual(await client.withdraw(), NOTHING);
    await client.flush();
    assert.equal(server.posts.length, 2);
  }
});

test("what no server has answered is asked again, and only its own answer ends that", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  await client.submit(ANSWERS);
  for (const script of [unreachable, login(), () => problem(503, "unavailable"), () => json("{}"), () => json('{"status": "deleted"}', 201)]) {
    server.script = Array(7).fill(script);
    assert.deepEqual(await client.withdraw(), { ...NOTHING, unanswered: 1 });
    const [entry] = await entries(storage);
    assert.deepEqual([entry.state, entry.report, typeof entry.secret], ["withdrawn", undefined, "string"]);
    assert.equal((await client.ledger())[0].withdrawable, true);
  }
  server.script = [said("deleted")];
  assert.equal(await client.flush(), 0);
  assert.deepEqual((await client.ledger()).map(({ taken, withdrawable }) => [taken, withdrawable]), [["deleted", false]]);
});

test("a server that refuses for good is not asked again", async () => {
  const server = new FakeServer();
  const { client } = respondent(server);
  await client.submit(ANSWERS);
  server.script = [() => problem(404, "unknown-digest")];
  assert.deepEqual(await client.withdraw(), { ...NOTHING, unable: 1 });
  await client.flush();
  assert.equal(server.posts.length, 2);
});

test("a report of an earlier release, whose id was drawn at random, cannot be taken back", async () => {
  const server = new FakeServer();
  const { client, storage } = respondent(server);
  await client.submit(ANSWERS);
  await storage.update(([entry]) => ({ ...entry, secret: undefined }));
  assert.equal((await client.ledger())[0].withdrawable, false);
  assert.deepEqual(await client.withdraw(), { ...NOTHING, unable: 1 });
  assert.equal(server.posts.length, 1);
});

test("nobody is asked where the answers cannot be forgotten", async () => {
  const server = new FakeServer();
  const kept = memoryStorage();
  const { client } = respondent(server, { storage: { update: (change) => kept.update(change) } });
  await client.submit(ANSWERS);
  const broken = respondent(server, {
    storage: {
      update: async (change) => {
        let refused = false;
        await kept.update((rows) => {
          refused = Boolean(change(rows));
          return undefined;
        });
        if (refused) throw new StorageError("full");
      },
    },
  });
  await assert.rejects(broken.client.withdraw(), StorageError);
  assert.equal(server.posts.length, 1);
});
