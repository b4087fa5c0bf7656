/**
 * Local hashing: hash the domain into g buckets with a fresh public hash, then GRR over them.
 *
 * Bassily and Smith (STOC 2015); Wang et al. (USENIX Security 2017), section 4.4. The seed is drawn
 * independently of the answer, so the record's epsilon is that of GRR over g.
 */

import { MalformedRecord } from "./errors.js";
import { lieThreshold, respond } from "./grr.js";
import { bucket } from "./hashing.js";
import { readInteger, writeInteger } from "./integers.js";
import { checkInteger, FrequencyOracle, K_MAX, Q } from "./oracle.js";

/** @typedef {import("./oracle.js").Bits} Bits */
/** @typedef {import("./oracle.js").Rational} Rational */

/** A record is a, b (8 bytes each) and the bucket y (2 bytes). */
class LocalHashing extends FrequencyOracle {
  /**
   * @param {string} name
   * @param {number} k
   * @param {bigint} units
   * @param {number} g
   */
  constructor(name, k, units, g) {
    super(name, k, units, 18);
    this.g = g;
    this.thresholds = { R: lieThreshold(g, units) };
  }

  /** @returns {Rational} */
  get p() {
    return [Q - BigInt(this.g - 1) * this.thresholds.R, Q];
  }

  /** @returns {Rational} */
  get q() {
    return [1n, BigInt(this.g)];
  }

  /** @returns {Rational} */
  get likelihoodRatio() {
    return [this.p[0], this.thresholds.R];
  }

  /**
   * Given a hash that reaches min(g, k) buckets: p where the bucket is reached, R/2^64 where it is not.
   *
   * @returns {Rational}
   */
  get bestGuess() {
    const reached = BigInt(Math.min(this.g, this.k));
    return [
      reached * this.p[0] + (BigInt(this.g) - reached) * this.thresholds.R,
      Q * BigInt(this.k),
    ];
  }

  /**
   * Three words: a, b and GRR's.
   *
   * @param {number} value
   * @param {Bits} bits
   */
  randomize(value, bits) {
    this.checkValue(value);
    const { 0: a, 1: b, 2: word } = bits.words(3);
    const y = respond(bucket(a, b, value, this.g), word, this.g - 1, this.thresholds.R);
    return writeInteger(a | (b << 64n) | (BigInt(y) << 128n), 18);
  }

  /** @param {Uint8Array} record */
  check(record) {
    super.check(record);
    if (readInteger(record.subarray(16)) >= this.g) {
      throw new MalformedRecord(
        `a ${this.name} record names a bucket outside [0, ${this.g - 1}]; send it exactly as the device made it`,
        "range",
      );
    }
  }

  /** @param {Uint8Array} record */
  support(record) {
    this.check(record);
    const a = readInteger(record.subarray(0, 8));
    const b = readInteger(record.subarray(8, 16));
    const y = Number(readInteger(record.subarray(16)));
    return Array.from({ length: this.k }, (_, v) => v).filter((v) => bucket(a, b, v, this.g) === y);
  }
}

/** Binary local hashing; g is always 2 and therefore not published. */
export class BLH extends LocalHashing {
  /**
   * @param {number} k
   * @param {bigint} units
   */
  constructor(k, units) {
    super("BLH", k, units, 2);
  }
}

/** Optimal local hashing; g comes from the manifest. */
export class OLH extends LocalHashing {
  /**
   * @param {number} k
   * @param {bigint} units
   * @param {{g?: unknown}} parameters
   */
  constructor(k, units, { g }) {
    super("OLH", k, units, checkInteger(g, "g", 2, K_MAX));
    this.parameters = { g: this.g };
  }
}
