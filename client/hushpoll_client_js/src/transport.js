/**
 * Requests to a server, their time limits and retries; a failure becomes a `TransportError`.
 *
 * No cookies, no referrer, no redirects: a server could link reports by them.
 */

import { TransportError } from "./errors.js";
import { errorFrom } from "./problems.js";

/**
 * Time as a retry loop sees it; tests put their own in its place.
 *
 * @typedef {object} Pacing
 * @property {(seconds: number) => Promise<unknown>} sleep
 * @property {() => number} random In [0, 1).
 */

/** @type {Pacing} */
export const PACING = {
  sleep: (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds)),
  random: Math.random,
};

/** @typedef {import("./errors.js").HushpollError} HushpollError */

/** Attempts before a client gives up for now, seconds after which it begins no further one; milliseconds that each may last. */
const ATTEMPTS = 7;
const PATIENCE = 120;
const TIMEOUT = 30_000;

/**
 * One request, which ends after `TIMEOUT` in all: also where a server sends its answer a byte at a time.
 *
 * @param {typeof globalThis.fetch} fetch
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<Uint8Array>} The body of an answer in [200, 299].
 * @throws {TransportError}
 */
export async function exchange(fetch, url, init) {
  let answer, body;
  try {
    answer = await fetch(url, {
      credentials: "omit",
      referrerPolicy: "no-referrer",
      redirect: "manual",
      cache: "no-store",
      signal: AbortSignal.timeout(TIMEOUT),
      ...init,
    });
    body = new Uint8Array(await answer.arrayBuffer());
  } catch {
    // The engine's own words may quote the request.
    throw new TransportError(`${url} did not answer in time`, { retryable: true });
  }
  if (answer.ok) return body;
  let problem;
  try {
    problem = JSON.parse(new TextDecoder().decode(body));
  } catch {
    // Judged by its status.
  }
  const after = answer.headers.get("Retry-After") ?? "";
  const seconds = Number(after) || (Date.parse(after) - Date.now()) / 1000;
  throw errorFrom(answer.status, problem, seconds > 0 ? seconds : undefined);
}

/**
 * Call until it succeeds, fails for good, or attempts and patience are used up. Waits go from 1 to 30 seconds, double
 * from one to the next, and are drawn from the upper half of each step; a server's Retry-After is a lower limit.
 *
 * @template T
 * @param {() => Promise<T>} call
 * @param {Pacing} pacing
 * @returns {Promise<T>}
 * @throws {HushpollError} The last failure.
 */
export async function retrying(call, { sleep, random }) {
  let waited = 0;
  for (let attempt = 1; ; attempt++) {
    const began = Date.now();
    try {
      return await call();
    } catch (error) {
      const { retryable, retryAfter = 0 } = /** @type {HushpollError} */ (error);
      if (!retryable) throw error;
      const wait = Math.max((Math.min(30, 2 ** attempt) * (1 + random())) / 2, retryAfter);
      waited += wait + (Date.now() - began) / 1000;
      if (attempt === ATTEMPTS || waited > PATIENCE) throw error;
      await sleep(wait);
    }
  }
}
