/**
 * What every protocol is.
 *
 * All protocols are *pure* (Wang et al., USENIX Security 2017, Definition 3.2): what a server can infer from a record is
 * its support set. Given a record the likelihood takes two values, inside and outside the support, in a ratio that is
 * at most e^epsilon.
 */

/** @typedef {import("./bits.js").Bits} Bits */
/** @typedef {import("./exponential.js").Rational} Rational */

/**
 * One protocol at one (k, epsilon).
 *
 * @typedef {object} Law
 * @property {number} recordSize Bytes of every record, whatever the value.
 * @property {Record<string, bigint>} thresholds Integer thresholds out of 2^64.
 * @property {Rational} likelihoodRatio Exact ratio of Pr[z | v] for v inside and outside the support of z.
 * @property {number} smallestSupport Size of the smallest non-empty support set that a record can have.
 * @property {() => Rational} bestGuess Chance of a right best guess from a record, under a uniform prior.
 * @property {(value: number, bits: Bits) => Uint8Array} randomize Perturb a code in [0, k).
 * @property {(record: Uint8Array) => number[] | string} support The values that a record of the right length supports,
 *   ascending, or the reason why no device can have sent it.
 */

/** Number of values of a word: every threshold is out of Q. */
export const Q = 1n << 64n;

/** Largest domain. */
export const K_MAX = 65536;
