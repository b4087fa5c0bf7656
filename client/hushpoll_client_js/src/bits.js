/** Where randomness comes from: uniform 64-bit words, an argument and never global state. */

import { InvalidParameter } from "./errors.js";

/**
 * A source of independent, uniform words in [0, 2^64).
 *
 * @typedef {object} Bits
 * @property {() => bigint} word The next word.
 * @property {(count: number) => ArrayLike<bigint>} words The next `count` words, in order.
 */

// getRandomValues gives at most 65,536 bytes a call.
const BATCH = 8192;

/**
 * The browser's cryptographic generator; nothing is buffered between calls.
 *
 * @implements {Bits}
 */
export class SecureBits {
  word() {
    return crypto.getRandomValues(new BigUint64Array(1))[0];
  }

  /** @param {number} count */
  words(count) {
    const words = new BigUint64Array(count);
    for (let at = 0; at < count; at += BATCH) {
      crypto.getRandomValues(words.subarray(at, at + BATCH));
    }
    return words;
  }
}

/**
 * Given words, for vectors and tests. Not private: whoever has the words has the answer.
 *
 * @implements {Bits}
 */
export class ReplayBits {
  /** @param {Iterable<bigint>} words In [0, 2^64). */
  constructor(words) {
    this.given = [...words];
    /** How many words have been handed out. */
    this.consumed = 0;
    if (this.given.some((word) => word !== BigInt.asUintN(64, word))) {
      throw new InvalidParameter("a word is outside [0, 2^64); give unsigned 64-bit words", "words");
    }
  }

  word() {
    return this.words(1)[0];
  }

  /** @param {number} count */
  words(count) {
    const end = this.consumed + count;
    if (end > this.given.length) {
      throw new InvalidParameter(
        `${end} words are needed, but ${this.given.length} were given; give more words`,
        "words",
      );
    }
    const taken = this.given.slice(this.consumed, end);
    this.consumed = end;
    return taken;
  }
}
