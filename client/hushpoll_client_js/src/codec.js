/**
 * The record: one fixed-width row per respondent, blocks and attributes in clear in manifest order.
 *
 * The part of a block, which may be one perturbed attribute, is its protocol's record; that of an attribute in clear is its code, little-endian. An answer, a code or a clear
 * byte never appears in a message.
 */

import { codeOf } from "./attribute.js";
import { codeSize, writeInteger } from "./integers.js";
import { must, NAME } from "./rules.js";
import { NOT_ASKED } from "./wording.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */
/**
 * What has one place in a record: a block, or an attribute in clear.
 *
 * @typedef {object} Part
 * @property {string} name
 * @property {string} where Its path in the manifest.
 * @property {number[]} places Of its questions among the attributes, the slowest first.
 * @property {number} k Domain size.
 * @property {bigint[]} [combinations] Of a block of several the combinations that are possible: see `combinationsOf`.
 * @property {(codes: readonly number[], bits: import("./bits.js").Bits) => number} [code] What the oracle randomises, where it is not the
 *   code of the one question.
 * @property {number} [before] Of the first block of a draw the bytes of the mask before it.
 * @property {(record: Uint8Array, offset: number, bits: import("./bits.js").Bits) => number} [chosen] Of a block of a draw, whether it is
 *   sent; the first writes the mask before its offset.
 * @property {import("./draws.js").OfDraw} [draw]
 * @property {readonly string[]} [names] Of a block of several its questions.
 * @property {bigint} units Epsilon in units of 10^-12; 0 in clear.
 * @property {string | undefined} [epsilon]
 * @property {import("./protocol.js").FrequencyOracle | undefined} [oracle]
 */

/** @typedef {Part & {offset: number, size: number}} Field A part with its place in a record. */

/**
 * A category per attribute; an integer stands for its decimal string, null or absent for the missing category, or for that of a
 * follow-up that is not asked. For a select-all, by its name, the list of its options that apply.
 *
 * @typedef {Readonly<Record<string, string | number | null | undefined | readonly (string | number)[]>>} Answers
 */

/**
 * Lay parts out one after the other.
 *
 * @param {readonly Part[]} parts
 * @returns {{fields: readonly Field[], recordSize: number}} With the bytes of every record, whatever the answers.
 */
export function layOut(parts) {
  let recordSize = 0;
  const fields = parts.map((part) => {
    const size = part.oracle?.recordSize ?? codeSize(part.k);
    recordSize += (part.before ?? 0) + size;
    return { ...part, offset: recordSize - size, size };
  });
  return { fields, recordSize };
}

/**
 * Turn answers into codes, one per attribute in manifest order.
 *
 * @param {Pick<import("./published.js").Published, "attributes" | "selects" | "spread">} published
 * @param {Answers} answers
 * @returns {number[]}
 * @throws {InvalidParameter} Never showing an answer.
 */
export function codeAnswers(published, answers) {
  const { attributes, spread } = published;
  const given = new Map(Object.entries(spread?.(published, answers) ?? answers));
  /** @type {number[]} */
  const codes = [];
  // Through a map: an attribute may be named like something that every object inherits.
  for (const attribute of attributes) {
    const { name, codes: all, asking, router = 0 } = attribute;
    const unasked = asking && !asking.has(attributes[router].categories[codes[router]]);
    const code = codeOf(unasked ? { ...attribute, missing: NOT_ASKED } : attribute, given.get(name));
    must(!asking || unasked === (code === all - 1), name, "an answer", "given if and only if asked");
    codes.push(code);
  }
  attributes.forEach(({ name }) => given.delete(name));
  for (const name of given.keys()) {
    // A key that is no name may be an answer put in the wrong place.
    must(false, NAME[0](name) ? name : "answers", "an answer", "left out: unknown");
  }
  return codes;
}

/**
 * Build one record: randomise what is perturbed, write the rest in clear. Calling again draws again, and spends again.
 *
 * @param {import("./published.js").Published} published
 * @param {readonly number[]} codes As from `codeAnswers`.
 * @param {import("./bits.js").Bits} bits Consumed in record order.
 */
export function encode({ fields, recordSize }, codes, bits) {
  const record = new Uint8Array(recordSize);
  fields.forEach(({ places, offset, size, oracle, code: joined, chosen }) => {
    if (chosen && !chosen(record, offset, bits)) return;
    const code = joined ? joined(codes, bits) : codes[places[0]];
    record.set(oracle ? oracle.randomize(code, bits) : writeInteger(code, size), offset);
  });
  return record;
}
