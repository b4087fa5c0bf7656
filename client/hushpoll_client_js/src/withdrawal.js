/** Asks servers to take back the reports of withdrawn answers; loaded when a respondent withdraws. */

/** @typedef {import("./storage.js").Entry} Entry */
/** @typedef {import("./errors.js").HushpollError} HushpollError */

/**
 * What the core gives: modules that a page has anyway would become files of their own if this part imported them.
 *
 * @typedef {object} Core
 * @property {typeof import("./consent.js").isAnswer} isAnswer
 * @property {typeof import("./outbox.js").entriesOf} entriesOf
 * @property {typeof import("./outbox.js").ask} ask
 */
/** @typedef {import("./outbox.js").Means & {survey: string, wait: number} & Core} Means */

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
  const { entriesOf, isAnswer } = means;
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
export async function takeBack({ storage, fetch, pacing, wait, entriesOf, ask }) {
  for (const { digest, survey, api, secret } of (await entriesOf(storage)).filter(isAsked)) {
    /** @type {Entry["taken"]} */
    let taken;
    try {
      const url = `${api}/surveys/${survey}/withdrawals`;
      taken = await ask({ fetch, pacing }, digest, url, JSON.stringify({ digest, secret }), wait, WORDS);
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

/** @type {("deleted" | "not-here")[]} */
const WORDS = ["deleted", "not-here"];

/** @param {Entry} entry */
const isAsked = ({ state, secret }) => state === "withdrawn" && Boolean(secret);
