/** Little-endian integers in records. */

/**
 * @param {Uint8Array} bytes
 * @returns {bigint}
 */
export function readInteger(bytes) {
  let value = 0n;
  for (let at = bytes.length; at--; ) value = (value << 8n) | BigInt(bytes[at]);
  return value;
}

/**
 * @param {bigint} value In [0, 256^size).
 * @param {number} size
 */
export function writeInteger(value, size) {
  return Uint8Array.from({ length: size }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));
}

/**
 * Bytes of a code of a domain of k values.
 *
 * @param {number} k
 */
export const codeSize = (k) => (k <= 256 ? 1 : 2);
