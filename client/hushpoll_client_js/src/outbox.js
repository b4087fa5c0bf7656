/** Sending what is kept: the same bytes until the server has acknowledged or refused them. */

import { HushpollError, TransportError } from "./errors.js";
import { exchange, retrying } from "./transport.js";

/** @typedef {import("./storage.js").Entry} Entry */

/**
 * @typedef {object} Means
 * @property {import("./storage.js").Storage} storage
 * @property {typeof globalThis.fetch} fetch
 * @property {import("./transport.js").Pacing} pacing
 */

/**
 * The server's acknowledgement, given once the report is durable there; `waiting` if it could not be reached, and the
 * report is kept for `flush`.
 *
 * @typedef {{status: "accepted" | "duplicate" | "waiting", digest: string, epsilon: string}} Receipt
 */

/**
 * Send one entry.
 *
 * @param {Means} means
 * @param {Entry} entry
 * @returns {Promise<Receipt>}
 * @throws {TransportError} If the server refuses the report for good.
 */
export async function send({ storage, fetch, pacing }, { digest, epsilon }) {
  const settle = (/** @type {Entry["state"]} */ state) =>
    storage.update((entries) => {
      const entry = entries.find((one) => one.digest === digest);
      return entry?.state === "waiting" ? { ...entry, state, token: state === "accepted" ? undefined : entry.token } : undefined;
    });
  const attempt = async () => {
    const { api, survey, report, token, state } = (await entriesOf(storage)).find((one) => one.digest === digest) ?? {};
    // Another tab may have sent it, or its owner withdrawn it, in the meantime.
    if (state !== "waiting") return state === "accepted" ? "duplicate" : undefined;
    const body = await exchange(fetch, `${api}/surveys/${survey}/reports`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      body: /** @type {string} */ (report),
    });
    // A network's login page answers 200 as well.
    const [, status] = /^\s*\{\s*"status"\s*:\s*"(accepted|duplicate)"\s*\}\s*$/.exec(body) ?? [];
    if (!status) throw new TransportError("the answer is no acknowledgement of a report", { retryable: true });
    await settle("accepted");
    return /** @type {Receipt["status"]} */ (status);
  };
  try {
    const status = await retrying(() => exclusively(digest, attempt), pacing);
    if (!status) throw new TransportError("the report was withdrawn or refused; nothing is sent");
    return { status, digest, epsilon };
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    if (error.retryable) return { status: "waiting", digest, epsilon };
    await settle("refused");
    throw error;
  }
}

/**
 * Send all that waits, one after the other.
 *
 * @param {Means} means
 * @returns {Promise<number>} How many still wait.
 */
export async function flush(means) {
  let waiting = 0;
  for (const entry of await entriesOf(means.storage)) {
    if (entry.state !== "waiting") continue;
    try {
      waiting += Number((await send(means, entry)).status === "waiting");
    } catch (error) {
      // Refused for good: the ledger says so.
      if (!(error instanceof HushpollError)) throw error;
    }
  }
  return waiting;
}

/**
 * @param {import("./storage.js").Storage} storage
 * @returns {Promise<Entry[]>}
 */
export async function entriesOf(storage) {
  /** @type {Entry[]} */
  let found = [];
  await storage.update((entries) => void (found = entries));
  return found;
}

/**
 * Run alone among all tabs, where the browser can tell.
 *
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} run
 * @returns {Promise<T>}
 */
const exclusively = (name, run) =>
  globalThis.navigator?.locks ? navigator.locks.request(`hushpoll-${name}`, run) : run();
