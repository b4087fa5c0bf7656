/**
 * The record: one fixed-width row per respondent, attributes in manifest order.
 *
 * A perturbed attribute is its protocol's record; one in clear is its code, little-endian. An answer, a code or a clear
 * byte never appears in a message.
 */

import { InvalidParameter, MalformedRecord, shown } from "./errors.js";
import { codeSize, readInteger, writeInteger } from "./integers.js";
import { isName } from "./text.js";

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
    let offset = 0;
    /** @type {Field[]} */
    this.fields = attributes.map((attribute) => {
      const size = attribute.oracle?.recordSize ?? codeSize(attribute.k);
      offset += size;
      return { name: attribute.name, offset: offset - size, size, attribute };
    });
    /** Bytes of every record, whatever the answers. */
    this.recordSize = offset;
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
    for (const name of Object.keys(Object(answers))) {
      if (!names.includes(name)) {
        // A key that is no name may be an answer put in the wrong place.
        throw new InvalidParameter(
          `the answers have ${isName(name) ? shown(name) : "something"} that is no attribute of this survey; its ` +
            `attributes are ${names.join(", ")}: remove it`,
          isName(name) ? name : "answers",
        );
      }
    }
    // An attribute may be named like something that every object inherits.
    return this.fields.map(({ name, attribute }) =>
      attribute.code(Object.hasOwn(Object(answers), name) ? answers[name] : undefined),
    );
  }

  /**
   * Build one record: randomise what is perturbed, write the rest in clear. Calling again draws again, and spends again.
   *
   * @param {readonly number[]} codes As from `codeAnswers`.
   * @param {import("./bits.js").Bits} bits Consumed in record order.
   * @throws {InvalidParameter} For a code out of range, which is not shown.
   */
  encode(codes, bits) {
    if (codes.length !== this.fields.length) {
      throw new InvalidParameter(`${codes.length} codes given; give ${this.fields.length}, as codeAnswers does`, "codes");
    }
    const record = new Uint8Array(this.recordSize);
    this.fields.forEach(({ name, offset, size, attribute }, at) => {
      const code = codes[at];
      if (!Number.isInteger(code) || code < 0 || code >= attribute.k) {
        throw new InvalidParameter(`the code of ${name} is not an integer in [0, ${attribute.k - 1}]`, name);
      }
      record.set(attribute.oracle?.randomize(code, bits) ?? writeInteger(BigInt(code), size), offset);
    });
    return record;
  }

  /**
   * Refuse bytes that no device could have sent.
   *
   * @param {Uint8Array} record
   * @throws {MalformedRecord} With the attribute as `field`.
   */
  check(record) {
    this.decodeClear(record);
  }

  /**
   * What a record holds in clear: a category by attribute.
   *
   * @param {Uint8Array} record
   * @returns {Record<string, string>}
   * @throws {MalformedRecord} If any part of the record is malformed.
   */
  decodeClear(record) {
    if (record.length !== this.recordSize) {
      throw new MalformedRecord(
        `the record has ${record.length} bytes, a record of this survey ${this.recordSize}; send it as it was encoded`,
        "length",
      );
    }
    /** @type {[string, string][]} */
    const clear = [];
    for (const { name, offset, size, attribute } of this.fields) {
      const part = record.subarray(offset, offset + size);
      if (!attribute.oracle) {
        const code = readInteger(part);
        if (code >= attribute.k) {
          throw new MalformedRecord(`${name}: a code is outside [0, ${attribute.k - 1}]`, "range", name);
        }
        clear.push([name, attribute.domain[Number(code)]]);
        continue;
      }
      try {
        attribute.oracle.check(part);
      } catch (error) {
        if (!(error instanceof MalformedRecord)) throw error;
        throw new MalformedRecord(`${name}: ${error.message}`, error.reason, name);
      }
    }
    return Object.fromEntries(clear);
  }
}
