/** Reading a record back: what a device sends in clear, and whether a server would take it. */

import { MalformedRecord } from "./errors.js";
import { readInteger } from "./integers.js";

/**
 * What a record holds in clear: a category by attribute.
 *
 * @param {import("./codec.js").Layout} layout
 * @param {Uint8Array} record
 * @returns {Record<string, string>}
 * @throws {MalformedRecord} If any part of the record is malformed; its `field` is the attribute.
 */
export function decodeClear(layout, record) {
  if (record.length !== layout.recordSize) {
    throw new MalformedRecord(`the record has ${record.length} bytes; one of this survey has ${layout.recordSize}`, {
      reason: "length",
    });
  }
  /** @type {[string, string][]} */
  const clear = [];
  for (const { name, offset, size, attribute } of layout.fields) {
    const part = record.subarray(offset, offset + size);
    const code = Number(readInteger(part));
    try {
      if (attribute.oracle) attribute.oracle.support(part);
      else if (code < attribute.k) clear.push([name, attribute.domain[code]]);
      else throw new MalformedRecord(`a code is outside [0, ${attribute.k - 1}]`, { reason: "range" });
    } catch (error) {
      if (error instanceof MalformedRecord) error.field = name;
      throw error;
    }
  }
  return Object.fromEntries(clear);
}
