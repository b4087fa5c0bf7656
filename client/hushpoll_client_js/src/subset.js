/** Uniform subsets of fixed size: of the values of a domain, and of the blocks of a draw. */

import { Q } from "./protocol.js";

/**
 * A subset of 0..count-1, each of `size` members with the same chance: Floyd's algorithm (Bentley and Floyd, CACM 1987), each index by
 * rejection below floor(2^64/m)*m, so that no index is favoured even by 2^-64.
 *
 * @param {number} count
 * @param {number} size
 * @param {import("./bits.js").Bits} bits Gives `size` words, and one more for each that is rejected.
 * @returns {Set<number>}
 */
export function uniformSubset(count, size, bits) {
  const batch = bits(size);
  let taken = 0;
  /** @type {Set<number>} */
  const chosen = new Set();
  for (let last = count - size; last < count; last++) {
    const m = BigInt(last + 1);
    let word;
    do word = taken < size ? batch[taken++] : bits(1)[0];
    while (word >= Q - (Q % m));
    const index = Number(word % m);
    chosen.add(chosen.has(index) ? last : index);
  }
  return chosen;
}
