/** Words given by the caller in place of randomness, for vectors and tests. Not private: the words reveal the answer. */

import { must } from "./rules.js";

/**
 * @param {readonly bigint[]} words In [0, 2^64), handed out in order.
 * @returns {import("./bits.js").Bits & {consumed: number}} `consumed` counts the words handed out.
 * @throws {InvalidParameter} A word is out of range, or more are asked for than were given.
 */
export function replayBits(words) {
  must(words.every((word) => word === BigInt.asUintN(64, word)), "words", null, "64-bit words in [0, 2^64)");
  const bits = (/** @type {number} */ count) => {
    bits.consumed += count;
    must(bits.consumed <= words.length, "words", words.length, `at least ${bits.consumed}`);
    return words.slice(bits.consumed - count, bits.consumed);
  };
  bits.consumed = 0;
  return bits;
}
