/**
 * Subset selection (Ye and Barg, IEEE Trans. Inf. Theory 2018; Wang et al. 2016).
 *
 * The record is a uniform subset of omega values that contains the truth with probability p = P/2^64. The ratio is
 * p/(1-p) * (k-omega)/omega, at most e^epsilon because P is rounded down.
 */

import { UNIT } from "./decimals.js";
import { MalformedRecord } from "./errors.js";
import { floorInExp } from "./exponential.js";
import { checkInteger, FrequencyOracle, Q } from "./oracle.js";
import { pack, packedSize, unpack } from "./packing.js";

/** @typedef {import("./oracle.js").Bits} Bits */
/** @typedef {import("./oracle.js").Rational} Rational */

export class SS extends FrequencyOracle {
  /**
   * @param {number} k
   * @param {bigint} units
   * @param {{omega?: unknown}} parameters Size of every subset, in [1, k-1].
   */
  constructor(k, units, { omega: given }) {
    super("SS", k, units, packedSize(k));
    const size = checkInteger(given, "omega", 1, k - 1);
    const omega = BigInt(size);
    this.omega = size;
    this.smallestSupport = size;
    this.parameters = { omega: size };
    this.thresholds = {
      P: floorInExp(
        (e, one) => [Q * omega * e, omega * e + (BigInt(k) - omega) * one],
        [units, UNIT],
      ),
    };
  }

  /** @returns {Rational} */
  get p() {
    return [this.thresholds.P, Q];
  }

  /**
   * (p(omega-1) + (1-p)omega)/(k-1).
   *
   * @returns {Rational}
   */
  get q() {
    return [Q * BigInt(this.omega) - this.thresholds.P, Q * BigInt(this.k - 1)];
  }

  /** @returns {Rational} */
  get likelihoodRatio() {
    const { P } = this.thresholds;
    return [P * BigInt(this.k - this.omega), (Q - P) * BigInt(this.omega)];
  }

  /** @returns {Rational} */
  get bestGuess() {
    return [this.thresholds.P, Q * BigInt(this.omega)];
  }

  /**
   * The keep word, then a uniform subset of the others by Floyd's algorithm (Bentley and Floyd, CACM 1987), each
   * index by rejection below floor(2^64/m)*m, so that no index is favoured even by 2^-64.
   *
   * @param {number} value
   * @param {Bits} bits
   */
  randomize(value, bits) {
    this.checkValue(value);
    const others = this.k - 1;
    const keep = bits.word() < this.thresholds.P;
    const size = keep ? this.omega - 1 : this.omega;
    const batch = bits.words(size);
    let taken = 0;
    /** @type {Set<number>} */
    const chosen = new Set();
    for (let last = others - size; last < others; last++) {
      const m = BigInt(last + 1);
      let word;
      do word = taken < size ? batch[taken++] : bits.word();
      while (word >= Q - (Q % m));
      const index = Number(word % m);
      chosen.add(chosen.has(index) ? last : index);
    }
    const members = [...chosen].map((other) => (other < value ? other : other + 1));
    return pack(keep ? [...members, value] : members, this.k);
  }

  /** @param {Uint8Array} record */
  check(record) {
    this.support(record);
  }

  /** @param {Uint8Array} record */
  support(record) {
    super.check(record);
    const members = unpack(record, this.k);
    if (members.length !== this.omega) {
      throw new MalformedRecord(
        `an SS record holds another number of values than omega = ${this.omega}; ` +
          "send it exactly as the device made it",
        "popcount",
      );
    }
    return members;
  }
}
