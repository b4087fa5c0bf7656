/** The respondent's consent to a survey of a server: a row of its own among the answers, in which there is no answer. */

import { ConsentMissing } from "./errors.js";

/** @typedef {import("./storage.js").Entry} Entry */

/**
 * Whether a row is an answer, and not a consent or a redeemed invitation, whose keys are no digests.
 *
 * @param {Entry} entry
 */
export const isAnswer = ({ digest }) => !digest.includes(" ");

/**
 * The key of a consent, which is no digest.
 *
 * @param {string} api
 * @param {string} survey
 */
const keyOf = (api, survey) => `consent ${api} ${survey}`;

/**
 * The row of a consent that holds; undefined if the respondent does not agree.
 *
 * @param {readonly Entry[]} entries
 * @param {string} api
 * @param {string} survey
 */
export const consentOf = (entries, api, survey) =>
  entries.find(({ digest, state }) => digest === keyOf(api, survey) && state === "agreed");

/**
 * Refuse to go on without consent.
 *
 * @param {readonly Entry[]} entries
 * @param {string} api
 * @param {string} survey
 * @throws {ConsentMissing}
 */
export function checkConsent(entries, api, survey) {
  if (consentOf(entries, api, survey)) return;
  throw new ConsentMissing(
    `the respondent has not agreed to ${survey}, or has withdrawn; ask, then call giveConsent()`,
  );
}

/**
 * The row of a consent that is given now; a second consent keeps the first date.
 *
 * @param {readonly Entry[]} entries
 * @param {string} api
 * @param {string} survey
 * @param {string} [manifest] The survey that they agree to, in its canonical form.
 * @param {string} [statement] What the respondent was shown.
 * @returns {Entry | undefined}
 */
export function agreement(entries, api, survey, manifest, statement) {
  if (consentOf(entries, api, survey)) return undefined;
  const given = new Date().toISOString().slice(0, 10);
  return { digest: keyOf(api, survey), survey, version: 0, epsilon: "0", api, state: "agreed", given, statement, manifest };
}
