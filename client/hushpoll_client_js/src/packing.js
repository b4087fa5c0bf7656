/** Bit records: one bit per value, least significant first, pad bits zero. */

import { MalformedRecord } from "./errors.js";

/**
 * Bytes that k bits take.
 *
 * @param {number} k
 */
export const packedSize = (k) => (k + 7) >> 3;

/**
 * @param {Iterable<number>} members Distinct values in [0, k).
 * @param {number} k
 */
export function pack(members, k) {
  const packed = new Uint8Array(packedSize(k));
  for (const value of members) packed[value >> 3] |= 1 << (value & 7);
  return packed;
}

/**
 * The positions of the set bits, ascending; refuses a bit past the k-th.
 *
 * @param {Uint8Array} record
 * @param {number} k
 * @throws {MalformedRecord}
 */
export function unpack(record, k) {
  const members = [];
  for (let value = 0; value < 8 * record.length; value++) {
    if (record[value >> 3] & (1 << (value & 7))) members.push(value);
  }
  if (members.length && members[members.length - 1] >= k) {
    throw new MalformedRecord(
      `a pad bit past bit ${k - 1} is set; pad bits are zero: send the record exactly as the device made it`,
      "padding",
    );
  }
  return members;
}
