/**
 * Unary encoding: one independent bit per value (Wang et al., USENIX Security 2017, section 4).
 *
 * The bit of the true value is set with probability p = P/2^64, every other with q = R/2^64. Two answers differ in
 * two bits, so the ratio is at most p(1-q)/(q(1-p)): R is rounded up and P down.
 */

import { UNIT } from "./decimals.js";
import { InvalidParameter, shown } from "./errors.js";
import { ceilInExp, floorInExp } from "./exponential.js";
import { lieThreshold } from "./grr.js";
import { FrequencyOracle, Q } from "./oracle.js";
import { pack, packedSize, unpack } from "./packing.js";

/** @typedef {import("./oracle.js").Bits} Bits */
/** @typedef {import("./oracle.js").Rational} Rational */

// Binary places of the powers in bestGuess: after k roundings far more than the 40 decimal places used are right.
const PLACES = 384n;

class UnaryEncoding extends FrequencyOracle {
  /**
   * @param {string} name
   * @param {number} k
   * @param {bigint} units
   * @param {bigint} P Words that set the bit of the true value.
   * @param {bigint} R Words that set the bit of any other value.
   */
  constructor(name, k, units, P, R) {
    super(name, k, units, packedSize(k));
    this.thresholds = { P, R };
  }

  /** @returns {Rational} */
  get p() {
    return [this.thresholds.P, Q];
  }

  /** @returns {Rational} */
  get q() {
    return [this.thresholds.R, Q];
  }

  /** @returns {Rational} */
  get likelihoodRatio() {
    const { P, R } = this.thresholds;
    return [P * (Q - R), R * (Q - P)];
  }

  /**
   * (p/q * (1 - (1-q)^k) + (1-p)(1-q)^(k-1))/k: any member of a non-empty support is a best guess.
   *
   * @returns {Rational}
   */
  get bestGuess() {
    const { P, R } = this.thresholds;
    let unset = 1n << PLACES;
    for (const bit of (this.k - 1).toString(2)) {
      unset = (unset * unset) >> PLACES;
      if (bit === "1") unset = (unset * (Q - R)) / Q;
    }
    const some = (Q << PLACES) - unset * (Q - R);
    return [P * some + R * (Q - P) * unset, (BigInt(this.k) * Q * R) << PLACES];
  }

  /**
   * k words, one per category in order.
   *
   * @param {number} value
   * @param {Bits} bits
   */
  randomize(value, bits) {
    this.checkValue(value);
    const { P, R } = this.thresholds;
    const words = Array.from(bits.words(this.k));
    return pack(
      words.flatMap((word, v) => (word < (v === value ? P : R) ? v : [])),
      this.k,
    );
  }

  /** @param {Uint8Array} record */
  check(record) {
    this.support(record);
  }

  /** @param {Uint8Array} record */
  support(record) {
    super.check(record);
    return unpack(record, this.k);
  }
}

/** Basic one-time RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014): every bit is flipped with the same probability. */
export class RAPPOR extends UnaryEncoding {
  /**
   * @param {number} k
   * @param {bigint} units
   */
  constructor(k, units) {
    const flip = lieThreshold(2, units, 2n * UNIT);
    super("RAPPOR", k, units, Q - flip, flip);
  }
}

/** Optimized unary encoding: the bit of the truth is a fair coin. */
export class OUE extends UnaryEncoding {
  /**
   * @param {number} k
   * @param {bigint} units
   */
  constructor(k, units) {
    super("OUE", k, units, Q / 2n, lieThreshold(2, units));
  }
}

/**
 * Thresholding with histogram encoding: the bits of the thresholded Laplace histogram, drawn directly.
 *
 * P = floor(Q(1 - e^(epsilon(theta-1)/2)/2)) and R = ceil(Q e^(-epsilon theta/2)/2).
 */
export class THE extends UnaryEncoding {
  /**
   * @param {number} k
   * @param {bigint} units
   * @param {{theta?: unknown}} parameters
   */
  constructor(k, units, { theta }) {
    const grid = typeof theta === "string" && /^0\.\d{4}$/.test(theta) ? BigInt(theta.slice(2)) : 0n;
    if (grid <= 5000n) {
      throw new InvalidParameter(
        `theta is ${shown(theta)}; give a decimal string of 4 places in the open interval (0.5, 1)`,
        "theta",
      );
    }
    const unit = 2n * 10_000n * UNIT;
    super(
      "THE",
      k,
      units,
      floorInExp((e, one) => [Q * (2n * one - e), 2n * one], [units * (grid - 10_000n), unit]),
      ceilInExp((e, one) => [Q * e, 2n * one], [-units * grid, unit]),
    );
    this.parameters = { theta: /** @type {string} */ (theta) };
  }
}
