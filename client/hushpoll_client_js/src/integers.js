/** Little-endian integers in records. */

/** @param {Uint8Array} bytes */
export const readInteger = (bytes) => bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);

/**
 * @param {bigint | number} value In [0, 256^size).
 * @param {number} size
 */
export const writeInteger = (value, size) =>
  Uint8Array.from({ length: size }, (_, at) => Number((BigInt(value) >> BigInt(8 * at)) & 255n));

/**
 * Bytes of a code of a domain of k values.
 *
 * @param {number} k
 */
export const codeSize = (k) => (k > 256 ? 2 : 1);
