/**
 * Surveys that take invitations: an invitation is redeemed for a token that the server cannot link to it (RFC 9497, mode VOPRF,
 * ristretto255-SHA512). Loaded for such surveys alone: the group is a package of its own.
 */

import { ristretto255, ristretto255_oprf } from "@noble/curves/ed25519.js";

import { b64encode, errorFrom, exchange, InvalidParameter, must, readJson, retrying, TransportError } from "./core.js";
import { b64decode } from "./base64url_reader.js";

/** @typedef {import("./published.js").Published} Published */
/** @typedef {import("./storage.js").Entry} Entry */

/**
 * @typedef {object} Means
 * @property {import("./storage.js").Storage} storage
 * @property {typeof globalThis.fetch} fetch
 * @property {import("./transport.js").Pacing} pacing
 * @property {string} api
 * @property {string} [invitation]
 * @property {number} wait Seconds.
 */

const { voprf } = ristretto255_oprf;

/** Bytes of a token's input. */
const INPUT = 32;

/**
 * The key of a redemption's row, which is no digest.
 *
 * @param {Published} published
 */
const keyOf = ({ digest }) => `invited ${digest}`;

/**
 * Check the published key: whether it is one of the group.
 *
 * @param {unknown} key
 * @throws {InvalidParameter}
 */
export function checkKey(key) {
  const bytes = b64decode(key, "invitation_key");
  try {
    if (!ristretto255.Point.fromBytes(bytes).equals(ristretto255.Point.ZERO)) return;
  } catch {
    // It is refused below.
  }
  must(false, "invitation_key", key, "an element of ristretto255, other than the identity");
}

/**
 * The token of this device for a version, redeemed once: input, blind and blinded element are stored before they are sent, so that a device whose answer was
 * lost asks again with the same element. Undefined if the device has answered the version and keeps no token.
 *
 * @param {Means} means
 * @param {Published} published
 * @returns {Promise<string | undefined>}
 * @throws {InvalidParameter} If there is no invitation, or the server's proof does not hold for the published key.
 * @throws {TransportError} If the server cannot be reached (retryable), or refuses the invitation.
 */
export async function redeem({ storage, fetch, pacing, api, invitation, wait }, published) {
  const { digest, name, version, epsilon } = published;
  const key = keyOf(published);
  /** @type {Entry | undefined} */
  let answered;
  const kept = await storage.update((entries) => {
    answered = entries.find((entry) => entry.digest === digest);
    const known = entries.find((entry) => entry.digest === key && entry.state === "invited");
    if (answered || known || !invitation) return known;
    const input = crypto.getRandomValues(new Uint8Array(INPUT));
    const { blind, blinded } = voprf.blind(input);
    const report = [input, blind, blinded].map(b64encode).join(" ");
    return { digest: key, survey: name, version, epsilon, api, state: "invited", report };
  });
  if (answered) return answered.token;
  must(kept, "invitation", "", "given: open the survey by the link that you were given");
  const entry = /** @type {Entry} */ (kept);
  if (entry.token) return entry.token;
  must(invitation, "invitation", "", "given: open the survey by the link that you were given");
  const [input, blind, blinded] = (entry.report ?? "").split(" ").map((text) => b64decode(text, "redemption"));
  const body = JSON.stringify({ digest, blinded: b64encode(blinded) });
  const asking = async (/** @type {number} */ left) => {
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${invitation}` };
    const answer = await exchange(fetch, `${api}/surveys/${name}/redemptions`, { method: "POST", headers, body }, left);
    const said = answer.status === 200 ? evaluation(readJson(answer)) : undefined;
    if (said) return said;
    throw errorFrom(answer);
  };
  const { evaluated, proof } = await retrying(asking, pacing, wait).catch((error) => {
    // So that a page can tell it from the refusal of a report.
    throw error instanceof TransportError ? Object.assign(error, { field: "invitation" }) : error;
  });
  const output = finalized(input, blind, evaluated, blinded, b64decode(published.invitation_key, "invitation_key"), proof);
  const token = b64encode(new Uint8Array([...input, ...output]));
  await storage.update((entries) => entries.some((one) => one.digest === key && one.state === "invited") && { ...entry, token });
  return token;
}

/**
 * Delete what was drawn for an invitation, once the version is answered.
 *
 * @param {Pick<Means, "storage">} means
 * @param {Published} published
 */
export async function forget({ storage }, published) {
  await storage.update((entries) => {
    const entry = entries.find(({ digest }) => digest === keyOf(published));
    return entry && { ...entry, report: undefined, token: undefined, state: "withdrawn" };
  });
}

/**
 * The output of a token's input, once the proof holds.
 *
 * @param {Uint8Array} input
 * @param {Uint8Array} blind
 * @param {Uint8Array} evaluated
 * @param {Uint8Array} blinded
 * @param {Uint8Array} key The published one.
 * @param {Uint8Array} proof
 * @returns {Uint8Array}
 * @throws {InvalidParameter} If the proof does not hold.
 */
export function finalized(input, blind, evaluated, blinded, key, proof) {
  try {
    return voprf.finalize(input, blind, evaluated, blinded, key, proof);
  } catch {
    throw new InvalidParameter("the server's proof does not hold, so it used another key than the published one; do not answer", {
      field: "proof",
    });
  }
}

/** @param {any} document */
function evaluation(document) {
  try {
    const [evaluated, proof] = [b64decode(document?.evaluated, "evaluated"), b64decode(document?.proof, "proof")];
    return evaluated.length === 32 && proof.length === 64 ? { evaluated, proof } : undefined;
  } catch {
    return undefined;
  }
}
