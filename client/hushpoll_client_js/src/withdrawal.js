/** Asks servers to take back the reports of withdrawn answers; loaded when a respondent withdraws. */

import { alone, entriesOf, errorFrom, exchange, isAnswer, readJson, retrying } from "./core.js";

/** @typedef {import("./storage.js").Entry} Entry */
/** @typedef {import("./errors.js").HushpollError} HushpollError */
/** @typedef {import("./outbox.js").Means & {survey: string, wait: number}} Means */

/**
 * What became of the reports of a withdrawal.
 *
 * @typedef {object} Withdrawal
 * @property {number} deleted The server had not sealed them, and has deleted them.
 * @property {number} notHere The server has them no longer (they are released), or never received them.
 * @property {number} unanswered The server has not answered yet.
 * @property {number} unable They cannot be taken back: an earlier release made them, or the server refuses.
 */

/**
 * Ask about the withdrawn reports of a survey, and say what became of those that were not settled before.
 *
 * @param {Means} means
 * @param {readonly Entry[]} before
 * @returns {Promise<Withdrawal>}
 */
export async function withdrawal(means, before) {
  const settled = new Set(before.filter(({ state, secret }) => state === "withdrawn" && !secret).map(({ digest }) => digest));
  await takeBack(means);
  const rows = (await entriesOf(means.storage)).filter((entry) => entry.survey === means.survey && isAnswer(entry) && !settled.has(entry.digest));
  const count = (/** @type {Entry["taken"]} */ word) => rows.filter(({ taken }) => taken === word).length;
  const unanswered = rows.filter(isAsked).length;
  const [deleted, notHere] = [count("deleted"), count("not-here")];
  return { deleted, notHere, unanswered, unable: rows.length - deleted - notHere - unanswered };
}

/**
 * Ask for each withdrawn report whose server has not answered yet, for at most so many seconds each. The server's word is kept with the
 * entry, and the secret is forgotten.
 *
 * @param {Means} means
 */
export async function takeBack({ storage, fetch, pacing, wait }) {
  for (const { digest, survey, api, secret } of (await entriesOf(storage)).filter(isAsked)) {
    /** @type {Entry["taken"]} */
    let taken;
    try {
      taken = await ask({ fetch, pacing }, digest, `${api}/surveys/${survey}/withdrawals`, JSON.stringify({ digest, secret }), wait);
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

/** What a server says, in an answer 200, became of a report. @type {("deleted" | "not-here")[]} */
const WORDS = ["deleted", "not-here"];

/**
 * Ask a server until it says what became of a report, refuses, or the time is over.
 *
 * @param {Pick<Means, "fetch" | "pacing">} means
 * @param {string} digest Nothing else is asked about this version meanwhile.
 * @param {string} url
 * @param {string} body
 * @param {number} wait Seconds.
 * @throws {HushpollError}
 */
const ask = ({ fetch, pacing }, digest, url, body, wait) =>
  retrying(
    (left) =>
      alone(`hushpoll-${digest}`, async () => {
        const answer = await exchange(fetch, url, { method: "POST", headers: { "Content-Type": "application/json" }, body }, left);
        const word = WORDS.find((word) => answer.status === 200 && readJson(answer)?.status === word);
        if (!word) throw errorFrom(answer);
        return word;
      }),
    pacing,
    wait,
  );

/** @param {Entry} entry */
const isAsked = ({ state, secret }) => state === "withdrawn" && Boolean(secret);
