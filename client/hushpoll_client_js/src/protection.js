/**
 * How well an epsilon protects: the table of levels that `hushpoll_shared/survey/protection.py` has as well. The vectors hold
 * both to it. A larger level is worse.
 */

import { UNIT } from "./decimals.js";

/** @typedef {0 | 1 | 2 | 3} Level */

export const STRONG = 0;
export const LIMITED = 1;
export const WEAK = 2;
export const HARDLY = 3;

/**
 * @param {bigint} units Epsilon in units of 10^-12.
 * @param {bigint} weakFrom
 * @param {bigint} hardlyAbove
 * @returns {Level}
 */
function levelOf(units, weakFrom, hardlyAbove) {
  if (units > hardlyAbove * UNIT) return HARDLY;
  if (units >= weakFrom * UNIT) return WEAK;
  return units > UNIT ? LIMITED : STRONG;
}

/** The level of one question's epsilon. */
export const questionLevel = (/** @type {bigint} */ units) => levelOf(units, 3n, 8n);

/** The level of all questions together, from the sum of their epsilons. */
export const totalLevel = (/** @type {bigint} */ units) => levelOf(units, 6n, 16n);

/**
 * The level of a survey: the worst of its questions' and of their sum's.
 *
 * @param {readonly bigint[]} parts Epsilons of the questions.
 * @param {readonly bigint[]} [reach] The same with those of the follow-ups that tell about a router.
 */
export const surveyLevel = (parts, reach = []) =>
  /** @type {Level} */ (Math.max(totalLevel(parts.reduce((sum, part) => sum + part, 0n)), ...[...parts, ...reach].map(questionLevel)));
