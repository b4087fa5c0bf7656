/** The source of randomness: uniform 64-bit words, always an argument and never global state. */

/**
 * A source of independent, uniform words in [0, 2^64): the next `count` of them, in order.
 *
 * @typedef {(count: number) => ArrayLike<bigint>} Bits
 */

// getRandomValues gives at most 65,536 bytes a call.
const BATCH = 8192;

/**
 * The browser's cryptographic generator; nothing is buffered between calls.
 *
 * @type {Bits}
 */
export function secureBits(count) {
  const words = new BigUint64Array(count);
  for (let at = 0; at < count; at += BATCH) crypto.getRandomValues(words.subarray(at, at + BATCH));
  return words;
}
