/**
 * How far records can move a belief: bounds that follow from epsilon alone, for every prior.
 *
 * For any two answers, Pr[z | a] <= e^epsilon Pr[z | b]; hence the odds of anything change by at most the factor
 * e^epsilon, up or down. The records of several questions are drawn independently given the answers, so their epsilons
 * add up. (Kasiviswanathan and Smith, Journal of Privacy and Confidentiality 6(1), 2014, for the general statement.) The
 * bounds are rounded exactly, and outwards.
 */

import { UNIT } from "./decimals.js";
import { ceilInExp, floorInExp } from "./exponential.js";

/** @typedef {import("./exponential.js").Rational} Rational */

/**
 * The largest factor by which the odds of anything can change: ceil(parts * e^epsilon).
 *
 * @param {bigint} units Epsilon in units of 10^-12, in (0, 64].
 * @param {bigint} [parts] The factor is given in units of 1/parts.
 */
export const oddsFactor = (units, parts = 1n) => ceilInExp((e, scale) => [parts * e, scale], [units, UNIT]);

/**
 * The smallest and the largest probability that a belief can have afterwards, in units of 1/parts.
 *
 * @param {Rational} prior Probability of the fact before, in (0, 1).
 * @param {bigint} units Epsilon in units of 10^-12, in (0, 64].
 * @param {bigint} [parts]
 * @returns {[low: bigint, high: bigint]} Rounded down, and rounded up.
 */
export function posteriorBounds([part, whole], units, parts = 1000n) {
  const rest = whole - part;
  return [
    floorInExp((e, scale) => [parts * part * scale, part * scale + rest * e], [units, UNIT]),
    ceilInExp((e, scale) => [parts * part * e, part * e + rest * scale], [units, UNIT]),
  ];
}
