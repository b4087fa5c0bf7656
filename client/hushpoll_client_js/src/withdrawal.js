/** Asks servers to take back the reports of withdrawn answers; loaded when a respondent withdraws. */

import { alone } from "./deadline.js";
import { HushpollError } from "./errors.js";
import { entriesOf } from "./outbox.js";
import { errorFrom, takenBack } from "./problems.js";
import { exchange, retrying } from "./transport.js";

/** @typedef {import("./storage.js").Entry} Entry */

/**
 * Ask for each withdrawn report whose server has not answered yet, for at most so many seconds each. The server's word is kept with the
 * entry, and the secret is forgotten.
 *
 * @param {import("./outbox.js").Means} means
 * @param {number} wait
 */
export async function takeBack({ storage, fetch, pacing }, wait) {
  for (const { digest, survey, api, secret } of (await entriesOf(storage)).filter(isAsked)) {
    const asking = async (/** @type {number} */ left) => {
      const body = JSON.stringify({ digest, secret });
      const answer = await exchange(fetch, `${api}/surveys/${survey}/withdrawals`, { method: "POST", headers: { "Content-Type": "application/json" }, body }, left);
      const said = takenBack(answer);
      if (!said) throw errorFrom(answer);
      return said;
    };
    /** @type {Entry["taken"]} */
    let taken;
    try {
      taken = await retrying((left) => alone(`hushpoll-${digest}`, () => asking(left)), pacing, wait);
    } catch (error) {
      const { retryable, problem } = /** @type {HushpollError} */ (error);
      // Only a problem of the server's own settles it.
      if (!problem || retryable) continue;
      taken = "refused";
    }
    await storage.update((entries) => {
      const entry = entries.find((entry) => entry.digest === digest);
      return entry && isAsked(entry) && { ...entry, taken, secret: undefined };
    });
  }
}

/** @param {Entry} entry */
const isAsked = ({ state, secret }) => state === "withdrawn" && Boolean(secret);
