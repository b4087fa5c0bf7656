/**
 * The record: one fixed-width row per respondent, attributes in manifest order.
 *
 * A perturbed attribute is its protocol's record; one in clear is its code, little-endian. An answer, a code or a clear
 * byte never appears in a message.
 */

import { InvalidParameter } from "./errors.js";
import { codeSize, writeInteger } from "./integers.js";
import { NAME } from "./rules.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * A category per attribute; an integer stands for its decimal string, null or absent for the missing category.
 *
 * @typedef {Readonly<Record<string, string | number | null | undefined>>} Answers
 */

/**
 * One attribute's place in a record.
 *
 * @typedef {object} Field
 * @property {string} name
 * @property {number} offset
 * @property {number} size
 * @property {Attribute} attribute
 */

/** The field table of a published survey. */
export class Layout {
  /** @param {readonly Attribute[]} attributes */
  constructor(attributes) {
    /** Bytes of every record, whatever the answers. */
    this.recordSize = 0;
    /** @type {readonly Field[]} */
    this.fields = attributes.map((attribute) => {
      const size = attribute.oracle?.recordSize ?? codeSize(attribute.k);
      const offset = this.recordSize;
      this.recordSize += size;
      return { name: attribute.name, offset, size, attribute };
    });
  }

  /**
   * Turn answers into codes, one per attribute in record order.
   *
   * @param {Answers} answers
   * @returns {number[]}
   * @throws {InvalidParameter} Never showing an answer.
   */
  codeAnswers(answers) {
    const names = this.fields.map((field) => field.name);
    const extra = Object.keys(Object(answers)).find((name) => !names.includes(name));
    if (extra !== undefined) {
      // A key that is no name may be an answer put in the wrong place.
      const field = NAME[0](extra) ? extra : "answers";
      throw new InvalidParameter(`${field}: no such attribute; give answers to ${names.join(", ")} alone`, { field });
    }
    // An attribute may be named like something that every object inherits.
    return this.fields.map(({ name, attribute }) =>
      attribute.code(Object.hasOwn(Object(answers), name) ? answers[name] : null),
    );
  }

  /**
   * Build one record: randomise what is perturbed, write the rest in clear. Calling again draws again, and spends again.
   *
   * @param {readonly number[]} codes As from `codeAnswers`.
   * @param {import("./bits.js").Bits} bits Consumed in record order.
   */
  encode(codes, bits) {
    const record = new Uint8Array(this.recordSize);
    this.fields.forEach(({ offset, size, attribute: { oracle } }, at) =>
      record.set(oracle ? oracle.randomize(codes[at], bits) : writeInteger(codes[at], size), offset),
    );
    return record;
  }
}
