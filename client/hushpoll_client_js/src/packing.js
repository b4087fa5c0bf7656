/** Bit records: one bit per value, least significant first, pad bits zero. */

/**
 * Bytes that k bits take.
 *
 * @param {number} k
 */
export const packedSize = (k) => (k + 7) >> 3;

/**
 * @param {number[]} members Distinct values in [0, k).
 * @param {number} k
 */
export function pack(members, k) {
  const packed = new Uint8Array(packedSize(k));
  members.forEach((value) => (packed[value >> 3] |= 1 << (value & 7)));
  return packed;
}

/**
 * The positions of the set bits, ascending, or `padding` if one is past the k-th.
 *
 * @param {Uint8Array} record
 * @param {number} k
 */
export function unpack(record, k) {
  const members = [...Array(8 * record.length).keys()].filter((value) => (record[value >> 3] >> (value & 7)) & 1);
  return members.some((value) => value >= k) ? "padding" : members;
}
