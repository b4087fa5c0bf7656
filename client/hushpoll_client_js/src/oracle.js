/**
 * What every protocol is: a frequency oracle at one (k, epsilon), with the integer thresholds that devices use.
 *
 * All protocols are *pure* (Wang et al., USENIX Security 2017, Definition 3.2): a record z has a support set S(z)
 * with p = Pr[v in S(z) | v] and q = Pr[v' in S(z) | v]. Given z the likelihood takes two values, in the ratio
 * `likelihoodRatio`, which is at most e^epsilon.
 */

import { formatDecimal } from "./decimals.js";
import { InvalidParameter, MalformedRecord, shown } from "./errors.js";

/** @typedef {import("./bits.js").Bits} Bits */
/** @typedef {import("./exponential.js").Rational} Rational */

/** Number of values of a word: every threshold is out of Q. */
export const Q = 1n << 64n;

export const K_MAX = 65536;

/**
 * One protocol at one (k, epsilon); build with `create`.
 *
 * @abstract
 */
export class FrequencyOracle {
  /**
   * @param {string} name
   * @param {number} k Domain size, in [2, 65536]; values are 0..k-1.
   * @param {bigint} units Epsilon in units of 10^-12.
   * @param {number} recordSize Bytes of every record, whatever the value.
   */
  constructor(name, k, units, recordSize) {
    this.name = name;
    this.k = k;
    /** Epsilon charged to the respondent, a canonical decimal string. */
    this.epsilon = formatDecimal(units);
    this.recordSize = recordSize;
    /**
     * Free parameters as a manifest publishes them: g, omega or theta.
     *
     * @type {Record<string, number | string>}
     */
    this.parameters = {};
    /**
     * Integer thresholds out of 2^64.
     *
     * @type {Record<string, bigint>}
     */
    this.thresholds = {};
    /** Size of the smallest non-empty support set that a record can have. */
    this.smallestSupport = 1;
  }

  /**
   * Probability that the support contains the true value.
   *
   * @abstract
   * @returns {Rational}
   */
  get p() {
    throw new Error(this.name);
  }

  /**
   * Probability that the support contains a given other value.
   *
   * @abstract
   * @returns {Rational}
   */
  get q() {
    throw new Error(this.name);
  }

  /**
   * Exact ratio of Pr[z | v] for v inside and outside the support of z.
   *
   * @abstract
   * @returns {Rational}
   */
  get likelihoodRatio() {
    throw new Error(this.name);
  }

  /**
   * Chance of a right best guess from a record, under a uniform prior.
   *
   * @abstract
   * @returns {Rational}
   */
  get bestGuess() {
    throw new Error(this.name);
  }

  /**
   * Perturb one value.
   *
   * @abstract
   * @param {number} value Code in [0, k).
   * @param {Bits} bits
   * @returns {Uint8Array} Exactly `recordSize` bytes.
   */
  randomize(value, bits) {
    throw new Error(`${this.name} ${typeof value} ${typeof bits}`);
  }

  /**
   * Refuse bytes that no device following the protocol could have produced.
   *
   * @abstract
   * @param {Uint8Array} record
   * @throws {MalformedRecord}
   */
  check(record) {
    if (record.length !== this.recordSize) {
      throw new MalformedRecord(
        `a ${this.name} record of a domain of ${this.k} has ${this.recordSize} bytes, this one has ${record.length}; ` +
          "send it exactly as the device made it",
        "length",
      );
    }
  }

  /**
   * The values that a record supports, ascending.
   *
   * @abstract
   * @param {Uint8Array} record
   * @returns {number[]}
   * @throws {MalformedRecord}
   */
  support(record) {
    throw new Error(`${this.name} ${record.length}`);
  }

  /**
   * @protected
   * @param {number} value
   */
  checkValue(value) {
    if (!Number.isInteger(value) || value < 0 || value >= this.k) {
      throw new InvalidParameter(
        `the value given to ${this.name} is not an integer code in [0, ${this.k - 1}]; give the index of the ` +
          "answer's category (the value itself is not shown)",
        "value",
      );
    }
  }
}

/**
 * Refuse an integer outside its interval.
 *
 * @param {unknown} value
 * @param {string} field
 * @param {number} least Inclusive.
 * @param {number} most Inclusive.
 * @returns {number}
 */
export function checkInteger(value, field, least, most) {
  if (!Number.isInteger(value) || Number(value) < least || Number(value) > most) {
    throw new InvalidParameter(`${field} is ${shown(value)}; give an integer in [${least}, ${most}]`, field);
  }
  return /** @type {number} */ (value);
}
