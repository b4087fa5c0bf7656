/** Reading a record back: what it supports, what it holds in clear, and whether a server would take it. */

import { MalformedRecord } from "./errors.js";
import { grrSupport } from "./grr.js";
import { readInteger } from "./integers.js";
import { hashingSupport } from "./local_hashing.js";
import { unpack } from "./packing.js";
import { ssSupport } from "./ss.js";
import { unarySupport } from "./unary.js";

/** @type {Readonly<Record<string, import("./protocol.js").Support>>} */
export const SUPPORTS = {
  GRR: grrSupport,
  BLH: hashingSupport,
  OLH: hashingSupport,
  RAPPOR: unarySupport,
  OUE: unarySupport,
  SS: ssSupport,
  THE: unarySupport,
};

/**
 * The values that a record supports, ascending: all that a server can infer from it.
 *
 * @param {import("./protocol.js").FrequencyOracle} oracle
 * @param {Uint8Array} record
 * @returns {number[]}
 * @throws {MalformedRecord} With the reason `length`, `range`, `padding` or `popcount`.
 */
export function support(oracle, record) {
  const read = record.length === oracle.recordSize ? SUPPORTS[oracle.name](oracle, record) : "length";
  if (typeof read === "string") throw malformed(`the ${oracle.name} record is malformed`, read);
  return read;
}

/**
 * What a record holds in clear: a category by attribute.
 *
 * @param {import("./published.js").Published} published
 * @param {Uint8Array} record
 * @returns {Record<string, string>}
 * @throws {MalformedRecord} If any part of the record is malformed; its `field` is the attribute.
 */
export function decodeClear({ attributes, fields, recordSize }, record) {
  if (record.length !== recordSize) {
    throw malformed(`the record has ${record.length} bytes, not ${recordSize}`, "length");
  }
  /** @type {[string, string][]} */
  const clear = [];
  /** @type {number[]} */
  let chosen = [];
  for (const { name, places, offset, size, oracle, draw, before = 0 } of fields) {
    const part = record.subarray(offset, offset + size);
    if (draw && !draw.at) chosen = chosenOf(draw, record.subarray(offset - before, offset));
    if (draw && !chosen.includes(draw.at)) {
      if (part.some(Boolean)) throw malformed("a block that was not chosen is not zero", "padding", name);
      continue;
    }
    const category = attributes[places[0]].domain[Number(readInteger(part))];
    try {
      if (oracle) support(oracle, part);
      else if (category === undefined) throw malformed("a code is out of range", "range");
      else clear.push([name, category]);
    } catch (error) {
      if (error instanceof MalformedRecord) error.field = name;
      throw error;
    }
  }
  return Object.fromEntries(clear);
}

/**
 * Which blocks of a draw a mask says were chosen, by their place in it.
 *
 * @param {import("./draws.js").OfDraw} draw
 * @param {Uint8Array} mask
 */
function chosenOf({ name, count, answer }, mask) {
  const chosen = unpack(mask, count);
  if (chosen === "padding") throw malformed("a pad bit of a mask is set", "padding", name);
  if (chosen.length !== answer) throw malformed(`a mask has ${chosen.length} bits, not ${answer}`, "popcount", name);
  return chosen;
}

/**
 * @param {string} what
 * @param {string} reason
 * @param {string} [field]
 */
const malformed = (what, reason, field) =>
  new MalformedRecord(`${what} (${reason}); send it exactly as the device made it`, field === undefined ? { reason } : { reason, field });
