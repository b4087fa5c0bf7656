/** The hash of BLH and OLH: multiply-shift (Dietzfelbinger, STACS 1996) after a bijection. */

/**
 * The 32-bit finaliser of MurmurHash3, a bijection of [0, 2^32).
 *
 * Without it consecutive codes would form arithmetic progressions under the hash, and sums over ranges of
 * categories would have up to twice the variance.
 *
 * @param {number} code
 */
export function finalise(code) {
  code ^= code >>> 16;
  code = Math.imul(code, 0x85ebca6b);
  code ^= code >>> 13;
  code = Math.imul(code, 0xc2b2ae35);
  return (code ^ (code >>> 16)) >>> 0;
}

/**
 * h(v) = (((a*m(v) + b) mod 2^64) >> 32) * g >> 32.
 *
 * @param {bigint} a The hash seed, in [0, 2^64).
 * @param {bigint} b
 * @param {number} code Value v, in [0, 65536).
 * @param {number} g Number of buckets, in [2, 65536].
 * @returns {number} In [0, g).
 */
export function bucket(a, b, code, g) {
  const hash = BigInt.asUintN(64, a * BigInt(finalise(code)) + b) >> 32n;
  return Number((hash * BigInt(g)) >> 32n);
}
