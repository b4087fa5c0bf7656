/** Sends the stored reports: the same bytes until the server has acknowledged or refused them. */

import { alone } from "./deadline.js";
import { HushpollError, TransportError } from "./errors.js";
import { acknowledged, errorFrom } from "./problems.js";
import { exchange, retrying } from "./transport.js";

/** @typedef {import("./storage.js").Entry} Entry */

/**
 * @typedef {object} Means
 * @property {import("./storage.js").Storage} storage
 * @property {typeof globalThis.fetch} fetch
 * @property {import("./transport.js").Pacing} pacing
 * @property {number} parting Seconds that a report is held back at most.
 * @property {(reason: string) => void} lost Called with the reason of a report that the server refuses for good.
 */

/**
 * The server's acknowledgement, given once the report is durable there; `waiting` if it could not be reached, and the
 * report is kept for `flush`. With `known` it is about answers that this device gave before, and not about those given now.
 *
 * @typedef {object} Receipt
 * @property {"accepted" | "duplicate" | "waiting"} status
 * @property {string} digest Of the version that was answered, 64 hexadecimal digits.
 * @property {string} epsilon What the answer spent, a canonical decimal string in [1e-6, 64].
 * @property {boolean} known Whether it is about answers that were given before.
 */

/**
 * Send one entry.
 *
 * @param {Means} means
 * @param {Pick<Entry, "digest" | "epsilon"> & {known?: boolean}} entry
 * @returns {Promise<Receipt>}
 * @throws {TransportError} If the server refuses the report for good.
 */
export async function send({ storage, fetch, pacing, lost, parting }, { digest, epsilon, known = false }) {
  const settle = (/** @type {Partial<Entry>} */ change) =>
    storage.update((entries) => {
      const entry = entries.find((entry) => entry.digest === digest);
      return entry?.state === "waiting" && { ...entry, ...change };
    });
  const attempt = async () => {
    const entry = (await entriesOf(storage)).find((entry) => entry.digest === digest);
    // Another tab may have sent it, or its owner withdrawn it, in the meantime.
    if (entry?.state === "accepted") return "duplicate";
    if (entry?.state !== "waiting") throw new TransportError("withdrawn or refused");
    const { api, survey, report = "", token } = entry;
    const answer = await exchange(fetch, `${api}/surveys/${survey}/reports`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) },
      body: report,
    });
    const status = acknowledged(answer);
    if (!status) throw errorFrom(answer);
    await settle({ state: "accepted", token: undefined, report: undefined, due: undefined });
    return status;
  };
  const { due = 0 } = (await entriesOf(storage)).find((entry) => entry.digest === digest) ?? {};
  // The invitation was redeemed before; the later the report, the less the two tell of each other. A clock that was set back waits no longer.
  const early = Math.min((due - Date.now()) / 1000, parting);
  if (early > 0) await (pacing.part ?? pacing.sleep)(early);
  let status = "waiting";
  try {
    status = await retrying(() => alone(`hushpoll-${digest}`, attempt), pacing);
  } catch (error) {
    const { retryable, problem } = /** @type {HushpollError} */ (error);
    // Only a problem of the server's own settles it: no fault of the storage, and no answer of a network in between.
    if (problem && !retryable && (await settle({ state: "refused" }))) lost(String(problem["code"]));
    if (!retryable) throw error;
  }
  return /** @type {Receipt} */ ({ status, digest, epsilon, known });
}

/**
 * Send all that waits, one after the other.
 *
 * @param {Means} means
 * @returns {Promise<number>} How many still wait.
 */
export async function flush(means) {
  let left = 0;
  for (const entry of await entriesOf(means.storage)) {
    if (entry.state !== "waiting") continue;
    try {
      if ((await send(means, entry)).status === "waiting") left++;
    } catch (error) {
      // Refused for good: the ledger says so.
      if (!(error instanceof HushpollError)) throw error;
    }
  }
  return left;
}

/**
 * How many reports wait.
 *
 * @param {import("./storage.js").Storage} storage
 */
export const waiting = async (storage) => (await entriesOf(storage)).filter(({ state }) => state === "waiting").length;

/**
 * @param {import("./storage.js").Storage} storage
 * @returns {Promise<Entry[]>}
 */
export async function entriesOf(storage) {
  /** @type {Entry[]} */
  let all = [];
  await storage.update((entries) => void (all = entries));
  return all;
}
