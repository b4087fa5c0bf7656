/**
 * Generalized randomized response (Kairouz, Bonawitz and Ramage, ICML 2016).
 *
 * The truth is reported with probability p, every other value with q = R/2^64. Two answers differ by the factor
 * p/q <= e^epsilon, because R is rounded up and p is what the k-1 others leave.
 */

import { UNIT } from "./decimals.js";
import { ceilInExp } from "./exponential.js";
import { codeSize, readInteger, writeInteger } from "./integers.js";
import { Q } from "./protocol.js";

/**
 * R = ceil(2^64/(e^epsilon + categories - 1)), the words that name one given other.
 *
 * @param {number} categories
 * @param {bigint} units Epsilon, in units of 10^-12 ...
 * @param {bigint} [unit] ... or of 1/unit.
 */
export const lieThreshold = (categories, units, unit = UNIT) =>
  ceilInExp((e, scale) => [Q * scale, e + BigInt(categories - 1) * scale], [units, unit]);

/**
 * Randomized response over others + 1 categories with one word.
 *
 * @param {number} value The truth, in [0, others].
 * @param {bigint} word
 * @param {number} others
 * @param {bigint} lie R: a word below others * R reports the (word div R)-th other category.
 */
export function respond(value, word, others, lie) {
  const other = Number(word / lie);
  if (other >= others) return value;
  return other < value ? other : other + 1;
}

/**
 * @param {number} k
 * @param {bigint} units
 * @returns {import("./protocol.js").Law}
 */
export function grr(k, units) {
  const R = lieThreshold(k, units);
  const recordSize = codeSize(k);
  return {
    recordSize,
    thresholds: { R },
    randomize: (value, bits) => writeInteger(respond(value, bits(1)[0], k - 1, R), recordSize),
  };
}

/** @type {import("./protocol.js").Support} */
export function grrSupport({ k }, record) {
  const code = Number(readInteger(record));
  return code < k ? [code] : "range";
}

/** @type {import("./protocol.js").Revealed} */
export function grrRevealed({ k, thresholds: { R } }) {
  const truth = Q - BigInt(k - 1) * R;
  return { ratio: [truth, R], truth: [truth, Q], bestGuess: [truth, Q], supportSize: 1 };
}
