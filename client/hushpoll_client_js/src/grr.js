/**
 * Generalized randomized response (Kairouz, Bonawitz and Ramage, ICML 2016).
 *
 * The truth is reported with probability p, every other value with q = R/2^64. Two answers differ by the factor
 * p/q <= e^epsilon, because R is rounded up and p is what the k-1 others leave.
 */

import { UNIT } from "./decimals.js";
import { MalformedRecord } from "./errors.js";
import { ceilInExp } from "./exponential.js";
import { codeSize, readInteger, writeInteger } from "./integers.js";
import { FrequencyOracle, Q } from "./oracle.js";

/** @typedef {import("./oracle.js").Bits} Bits */
/** @typedef {import("./oracle.js").Rational} Rational */

/**
 * R = ceil(2^64/(e^epsilon + categories - 1)), the words that name one given other.
 *
 * @param {number} categories
 * @param {bigint} units Epsilon, in units of 10^-12 ...
 * @param {bigint} [unit] ... or of 1/unit.
 */
export function lieThreshold(categories, units, unit = UNIT) {
  return ceilInExp((e, one) => [Q * one, e + BigInt(categories - 1) * one], [units, unit]);
}

/**
 * Randomized response over others + 1 categories with one word.
 *
 * @param {number} value The truth, in [0, others].
 * @param {bigint} word
 * @param {number} others
 * @param {bigint} lie R: a word below others * R reports the (word div R)-th other category.
 */
export function respond(value, word, others, lie) {
  if (word >= BigInt(others) * lie) return value;
  const other = Number(word / lie);
  return other < value ? other : other + 1;
}

export class GRR extends FrequencyOracle {
  /**
   * @param {number} k
   * @param {bigint} units
   */
  constructor(k, units) {
    super("GRR", k, units, codeSize(k));
    this.thresholds = { R: lieThreshold(k, units) };
  }

  /** @returns {Rational} */
  get p() {
    return [Q - BigInt(this.k - 1) * this.thresholds.R, Q];
  }

  /** @returns {Rational} */
  get q() {
    return [this.thresholds.R, Q];
  }

  /** @returns {Rational} */
  get likelihoodRatio() {
    return [this.p[0], this.thresholds.R];
  }

  get bestGuess() {
    return this.p;
  }

  /**
   * One word.
   *
   * @param {number} value
   * @param {Bits} bits
   */
  randomize(value, bits) {
    this.checkValue(value);
    const code = respond(value, bits.word(), this.k - 1, this.thresholds.R);
    return writeInteger(BigInt(code), this.recordSize);
  }

  /** @param {Uint8Array} record */
  check(record) {
    super.check(record);
    if (readInteger(record) >= this.k) {
      throw new MalformedRecord(
        `a GRR record names a code outside [0, ${this.k - 1}]; send it exactly as the device made it`,
        "range",
      );
    }
  }

  /** @param {Uint8Array} record */
  support(record) {
    this.check(record);
    return [Number(readInteger(record))];
  }
}
