/**
 * Requests to a server, their time limits and retries; a failure becomes a `TransportError`.
 *
 * No cookies, no referrer, no redirects: a server could link reports by them.
 */

import { TransportError } from "./errors.js";

/**
 * Time as a retry loop sees it; tests put their own in its place.
 *
 * @typedef {object} Pacing
 * @property {(seconds: number) => Promise<unknown>} sleep
 * @property {() => number} random In [0, 1).
 * @property {(seconds: number) => Promise<unknown>} [part] Holds a report back; `sleep` if not given.
 */

/** @type {Pacing} */
export const PACING = {
  sleep: (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds)),
  random: Math.random,
};

/** @typedef {import("./errors.js").HushpollError} HushpollError */

/** Attempts before a client gives up for now, seconds after which it begins no further one; milliseconds that each may last. */
const ATTEMPTS = 7;
export const PATIENCE = 120;
const TIMEOUT = 30_000;

/** Bytes of an answer that are read, as in Python: a device does not trust a server with its memory. */
const LIMIT = 4 * 2 ** 20;

/**
 * One request, which ends after `TIMEOUT` in all: also where a server sends its answer a byte at a time, or a `fetch` that the
 * app brings heeds no signal.
 *
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 * @param {RequestInit} [init]
 * @param {number} [left] Milliseconds that the caller has.
 * @returns {Promise<import("./problems.js").Answer>} Whatever its status.
 * @throws {TransportError} If none arrives in full.
 */
export async function exchange(fetch, url, init, left = TIMEOUT) {
  const signal = AbortSignal.timeout(Math.max(1, Math.min(TIMEOUT, left)));
  const over = new Promise((_, reject) => signal.addEventListener("abort", reject));
  const asking = async () => {
    const { status, headers, body } = await fetch(url, {
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "manual",
      cache: "no-store",
      signal,
      ...init,
    });
    const after = (status === 429 || status === 503) && headers.get("Retry-After");
    const seconds = after ? (/^\d+$/.test(after) ? Number(after) : (Date.parse(after) - Date.now()) / 1000) : 0;
    return { status, type: headers.get("Content-Type"), body: await bytesOf(body), retryAfter: seconds > 0 ? seconds : undefined };
  };
  try {
    return /** @type {import("./problems.js").Answer} */ (await Promise.race([asking(), over]));
  } catch (error) {
    if (error instanceof TransportError) throw error;
    // The engine's own words may quote the request.
    throw new TransportError(`${url} did not answer in time`, { retryable: true });
  }
}

/**
 * Read a body, up to a limit.
 *
 * @param {ReadableStream<Uint8Array<ArrayBuffer>> | null} body
 */
async function bytesOf(body) {
  const parts = [];
  let size = 0;
  const reader = body?.getReader();
  for (;;) {
    const { value } = (await reader?.read()) ?? {};
    if (!value) return new Uint8Array(await new Blob(parts).arrayBuffer());
    size += value.length;
    if (size > LIMIT) {
      reader?.cancel().catch(() => undefined);
      throw new TransportError(`the answer is longer than ${LIMIT} bytes`, { retryable: true });
    }
    parts.push(value);
  }
}

/**
 * Call until it succeeds, fails for good, or attempts and patience are used up. Waits go from 1 to 30 seconds, double
 * from one to the next, and are drawn from the upper half of each step; a server's Retry-After is a lower limit.
 *
 * @template T
 * @param {(left: number) => Promise<T>} call Told the milliseconds that are left.
 * @param {Pacing} pacing
 * @param {number} [patience] Seconds.
 * @returns {Promise<T>}
 * @throws {HushpollError} The last failure.
 */
export async function retrying(call, { sleep, random }, patience = PATIENCE) {
  let waited = 0;
  for (let attempt = 1; ; attempt++) {
    const began = Date.now();
    try {
      return await call(1000 * (patience - waited));
    } catch (error) {
      const { retryable, retryAfter = 0 } = /** @type {HushpollError} */ (error);
      if (!retryable) throw error;
      const wait = Math.max((Math.min(30, 2 ** attempt) * (1 + random())) / 2, retryAfter);
      waited += wait + (Date.now() - began) / 1000;
      if (attempt === ATTEMPTS || waited > patience) throw error;
      await sleep(wait);
    }
  }
}
