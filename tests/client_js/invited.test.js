import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ristretto255_oprf } from "../../client/hushpoll_client_js/node_modules/@noble/curves/ed25519.js";
import { b64encode } from "../../client/hushpoll_client_js/src/base64url.js";
import { b64decode } from "../../client/hushpoll_client_js/src/base64url_reader.js";
import { InvalidParameter, ManifestRefused, TransportError } from "../../client/hushpoll_client_js/src/index.js";
import { memoryStorage } from "../../client/hushpoll_client_js/src/memory_storage.js";
import { readPublished } from "../../client/hushpoll_client_js/src/published.js";
import { ANSWERS, entries, FakeServer, json, problem, respondent, SMALL, unreachable } from "./fixtures.js";

const { tokens } = JSON.parse(readFileSync(new URL("../vectors/invitations.json", import.meta.url), "utf8"));
const { voprf } = ristretto255_oprf;
const INVITATION = "i".repeat(43);
const OURS = voprf.deriveKeyPair(new Uint8Array(32), new TextEncoder().encode("hushpoll invited small 3"));
const OTHER = voprf.deriveKeyPair(new Uint8Array(32).fill(1), new Uint8Array());
const INVITED = { ...SMALL, submission: "invited", invitation_key: b64encode(OURS.publicKey) };

/** A server that evaluates what it is sent for an invitation, and takes one report for each token. */
class InvitingServer extends FakeServer {
  constructor(key = OURS) {
    super(INVITED);
    this.key = key;
  }

  take(request) {
    const { blinded } = JSON.parse(request.body);
    if (!blinded) return super.take(request);
    const { evaluated, proof } = voprf.blindEvaluate(this.key.secretKey, this.key.publicKey, b64decode(blinded, "blinded"));
    return json(JSON.stringify({ evaluated: b64encode(evaluated), proof: b64encode(proof) }));
  }

  get sent() {
    return this.posts.map(({ url, headers, body }) => ({ to: url.split("/").at(-1), token: headers.Authorization.slice(7), body }));
  }
}

const invited = (server, options = {}) => respondent(server, { invitation: INVITATION, ...options });

test("the invitation goes with the redemption, and the token with the report", async () => {
  const server = new InvitingServer();
  const { client, storage } = invited(server);
  assert.equal((await client.submit(ANSWERS)).status, "accepted");
  const [redemption, report] = server.sent;
  assert.deepEqual([redemption.to, redemption.token, report.to], ["redemptions", INVITATION, "reports"]);
  const token = b64decode(report.token, "token");
  assert.equal(token.length, 96);
  assert.deepEqual(voprf.evaluate(OURS.secretKey, token.slice(0, 32)), token.slice(32));
  assert.ok(!JSON.stringify(report).includes(INVITATION));
  assert.ok(!redemption.body.includes(b64encode(token.slice(0, 32))));
  // Nothing of the redemption stays once the version is answered, nor in what the respondent may export.
  const kept = JSON.stringify(await entries(storage));
  assert.ok(!kept.includes(report.token) && !kept.includes(INVITATION));
  assert.equal((await client.ledger()).length, 1);
});

for (const random of [0, 0.5, 0.999]) {
  test(`a report is parted from the redemption by a random time: ${random}`, async () => {
    const server = new InvitingServer();
    const waits = [];
    const pacing = { sleep: async () => assert.fail("nothing failed"), random: () => random, part: async (seconds) => void waits.push(seconds) };
    const { client } = invited(server, { pacing, parting: 100 });
    await client.submit(ANSWERS);
    const waited = waits.reduce((sum, one) => sum + one, 0);
    assert.ok(Math.abs(waited - 100 * random) < 2, `${waited} s`);
  });
}

test("a clock that was set back holds a report no longer than the longest time", async () => {
  const server = new InvitingServer();
  const { client, storage, waits } = invited(server, { parting: 10 });
  const { digest } = await client.randomize(ANSWERS);
  await storage.update((rows) => ({ ...rows.find((row) => row.digest === digest), due: Date.now() + 1e9 }));
  await client.send({ digest, epsilon: "3" });
  assert.deepEqual(waits, [10]);
});

test("a redemption that lost its answer asks again with the same element", async () => {
  const server = new InvitingServer();
  const storage = memoryStorage();
  server.script = Array(7).fill(unreachable);
  await assert.rejects(invited(server, { storage }).client.redeem(), { retryable: true });
  server.script = [];
  const { client } = invited(server, { storage });
  await client.redeem();
  await client.redeem();
  assert.equal(new Set(server.sent.map(({ body }) => body)).size, 1);
  assert.equal(server.sent.length, 8);
  // The token is kept: an app that starts again needs neither the link nor the network.
  assert.equal((await invited(server, { storage, invitation: undefined }).client.submit(ANSWERS)).status, "accepted");
});

test("two tabs that redeem at once use one element", async () => {
  const server = new InvitingServer();
  const storage = memoryStorage();
  await Promise.all([1, 2, 3].map(() => invited(server, { storage }).client.redeem()));
  assert.equal(new Set(server.sent.map(({ body }) => body)).size, 1);
});

test("a server that uses another key than the published one gets no report", async () => {
  const server = new InvitingServer(OTHER);
  const { client, storage } = invited(server);
  await assert.rejects(client.submit(ANSWERS), (error) => error instanceof InvalidParameter && error.field === "proof");
  assert.deepEqual(server.sent.map(({ to }) => to), ["redemptions"]);
  assert.deepEqual(await client.ledger(), []);
  assert.ok((await entries(storage)).every(({ token }) => !token));
});

test("what is no evaluation is asked for again", async () => {
  const server = new InvitingServer();
  server.script = ["{}", "[]", '{"evaluated": "AA", "proof": "AA"}', '{"status": "accepted"}'].map((body) => () => json(body));
  await invited(server).client.redeem();
  assert.equal(server.sent.length, 5);
});

test("a refused invitation names its field, and nothing is randomised", async () => {
  for (const [status, code] of [[401, "unauthorized"], [409, "invitation-redeemed"], [410, "survey-closed"]]) {
    const server = new InvitingServer();
    server.script = [() => problem(status, code)];
    const { client } = invited(server);
    await assert.rejects(client.submit(ANSWERS), (error) => error instanceof TransportError && error.field === "invitation" && !error.retryable);
    assert.deepEqual(await client.ledger(), []);
  }
});

test("without an invitation nothing is randomised", async () => {
  const server = new InvitingServer();
  await assert.rejects(invited(server, { invitation: undefined }).client.submit(ANSWERS), { field: "invitation" });
  assert.deepEqual(server.posts, []);
});

test("a version that is answered redeems nothing more", async () => {
  const server = new InvitingServer();
  const { client, storage } = invited(server);
  await client.submit(ANSWERS);
  const receipt = await invited(server, { storage }).client.submit(ANSWERS);
  assert.equal(receipt.known, true);
  assert.equal(server.sent.filter(({ to }) => to === "redemptions").length, 1);
});

test("withdrawing forgets what was drawn", async () => {
  const server = new InvitingServer();
  const { client, storage } = invited(server);
  await client.redeem();
  await client.withdraw();
  assert.ok((await entries(storage)).every(({ report, token }) => !report && !token));
  assert.deepEqual(await client.ledger(), []);
});

test("a key that is none, or of a survey that takes no invitations, is refused", async () => {
  assert.equal((await readPublished({ ...INVITED, invitation_key: tokens[0].key })).submission, "invited");
  for (const [submission, invitation_key] of [
    ["invited", undefined],
    ["invited", "A".repeat(43)],
    ["invited", `_${"_".repeat(41)}8`],
    ["invited", "AA"],
    ["open", INVITED.invitation_key],
    ["token", INVITED.invitation_key],
  ]) {
    const published = { ...SMALL, submission, ...(invitation_key && { invitation_key }) };
    await assert.rejects(readPublished(published), (error) => error instanceof ManifestRefused && error.field === "invitation_key");
  }
});
