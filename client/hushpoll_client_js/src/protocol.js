/**
 * The types and constants that all protocols have in common.
 *
 * All protocols are *pure* (Wang et al., USENIX Security 2017, Definition 3.2): what a server can infer from a record is
 * its support set. Given a record the likelihood takes two values, inside and outside the support, in a ratio that is
 * at most e^epsilon.
 *
 * A protocol's module holds three functions: its law, which is all that a device needs; the support of a record; and
 * what a record reveals. `inspection.js` and `disclosure.js` have the tables of the latter two, so that a page that
 * only answers does not load them. No other file names a protocol.
 */

/** @typedef {import("./bits.js").Bits} Bits */
/** @typedef {import("./exponential.js").Rational} Rational */

/**
 * How a device perturbs.
 *
 * @typedef {object} Law
 * @property {number} recordSize Bytes of every record, whatever the value.
 * @property {Record<string, bigint>} thresholds Integer thresholds out of 2^64, in alphabetical order.
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
 * What a record reveals, exactly.
 *
 * @typedef {object} Revelation
 * @property {Rational} ratio Likelihood of values inside the support over that of values outside.
 * @property {Rational} truth p: the chance that the support contains the true value.
 * @property {Rational} bestGuess Chance of a right best guess from a record, under a uniform prior.
 * @property {number} [supportSize] Size of every support; left out where it varies.
 * @property {boolean} [hashed] Whether a record has a hash, so that the best guess is an upper bound over all hashes.
 */

/**
 * @callback Revealed
 * @param {FrequencyOracle} oracle
 * @returns {Revelation}
 */

/** Number of values of a word: every threshold is out of Q. */
export const Q = 1n << 64n;

/** Largest domain. */
export const K_MAX = 65536;
