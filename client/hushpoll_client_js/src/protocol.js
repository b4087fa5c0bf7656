/**
 * What every protocol is.
 *
 * All protocols are *pure* (Wang et al., USENIX Security 2017, Definition 3.2): what a server can infer from a record is
 * its support set. Given a record the likelihood takes two values, inside and outside the support, in a ratio that is
 * at most e^epsilon.
 *
 * A protocol's module holds three functions: its law, which is all that a device needs; the support of a record; and
 * what a record reveals. The two latter are reached through `inspection.js` and `disclosure.js`, so that who only
 * answers does not load them.
 */

/** @typedef {import("./bits.js").Bits} Bits */
/** @typedef {import("./exponential.js").Rational} Rational */

/**
 * How a device perturbs.
 *
 * @typedef {object} Law
 * @property {number} recordSize Bytes of every record, whatever the value.
 * @property {Record<string, bigint>} thresholds Integer thresholds out of 2^64.
 * @property {(value: number, bits: Bits) => Uint8Array} randomize Perturb a code in [0, k).
 */

/**
 * A law at one (k, epsilon); built by `create`.
 *
 * @typedef {Law & {name: string, k: number, parameters: Record<string, any>}} FrequencyOracle
 */

/**
 * The values that a record of the right length supports, ascending; or the reason why no device can have sent it.
 *
 * @callback Support
 * @param {FrequencyOracle} oracle
 * @param {Uint8Array} record
 * @returns {number[] | string}
 */

/**
 * The exact likelihood ratio of values inside and outside the support; the size of the smallest support that is not
 * empty; the chance of a right best guess from a record, under a uniform prior; and p, the chance that the support
 * contains the true value.
 *
 * @callback Revealed
 * @param {FrequencyOracle} oracle
 * @returns {[ratio: Rational, smallestSupport: number, bestGuess: Rational, truth: Rational]}
 */

/** Number of values of a word: every threshold is out of Q. */
export const Q = 1n << 64n;

/** Largest domain. */
export const K_MAX = 65536;
