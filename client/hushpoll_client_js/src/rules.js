/**
 * Rules of a manifest: what names, texts, numbers, times and the keys of an object may be, and the error where they are not.
 *
 * The rules are closed lists of code points, not classes that grow with Unicode: a manifest that one implementation
 * accepts, all accept.
 */

import { InvalidParameter, shown } from "./errors.js";

/** @typedef {readonly [test: (value: any) => unknown, words: string]} Rule */

/**
 * Refuse a value.
 *
 * @param {unknown} ok Whether it is as it must be.
 * @param {string} field
 * @param {unknown} value
 * @param {string} words What it must be.
 * @returns {asserts ok}
 * @throws {InvalidParameter}
 */
export function must(ok, field, value, words) {
  if (!ok) throw new InvalidParameter(`${field} is ${shown(value)}; it must be ${words}`, { field });
}

/**
 * Refuse a value that breaks a rule.
 *
 * @param {unknown} value
 * @param {string} field
 * @param {Rule} rule
 */
export const obey = (value, field, [test, words]) => must(test(value), field, value, words);

/** @type {Rule} */
export const GIVEN = [(value) => value != null, "given"];

/** @type {Rule} */
export const LIST = [Array.isArray, "a list"];

/** @type {Rule} */
export const MAPPING = [(value) => Object(value) === value && !Array.isArray(value), "an object"];

/**
 * A string of a form.
 *
 * @param {RegExp} form
 * @param {string} words
 * @returns {Rule}
 */
export const matching = (form, words) => [(value) => typeof value === "string" && form.test(value), words];

export const NAME = matching(/^[a-z0-9_-]{1,64}$/, "1 to 64 of a-z 0-9 _ -");

/** UTC to the second; writing a moment again tells a date that does not exist. @type {Rule} */
export const TIME = [
  (value) => {
    const time = new Date(value);
    return typeof value === "string" && value > "0001" && time.toJSON() === value.replace("Z", ".000Z");
  },
  "UTC such as 2026-01-31T09:00:00Z",
];

/**
 * @param {number} least Inclusive.
 * @param {number} most Inclusive.
 * @returns {Rule}
 */
export const integer = (least, most) => [
  (value) => Number.isInteger(value) && value >= least && value <= most,
  `an integer in [${least}, ${most}]`,
];

/**
 * @param {readonly unknown[]} values
 * @returns {Rule}
 */
export const oneOf = (...values) => [(value) => values.includes(value), `one of ${values.join(", ")}`];

// C0, DEL and C1 controls, line and paragraph separators, directional overrides (they can make one category look like
// another), lone surrogates; and a space at either end.
const FORBIDDEN = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|^ | $/u;

/**
 * Plain text in normal form C.
 *
 * @param {number} longest Code points, inclusive.
 * @param {RegExp} [apart] Characters that are allowed all the same.
 * @returns {Rule}
 */
export const text = (longest, apart) => [
  (value) =>
    typeof value === "string" &&
    value &&
    [...value].length <= longest &&
    !FORBIDDEN.test(apart ? value.replace(apart, "_") : value) &&
    value.normalize() === value,
  `1 to ${longest} characters in NFC, no controls or outer spaces`,
];

/**
 * Refuse what is no object, or has a member that the rules do not name.
 *
 * @param {unknown} value
 * @param {string} where Path of the object; empty for the outermost.
 * @param {Record<string, unknown>} rules As for `shape`.
 * @throws {InvalidParameter} Naming the member.
 */
export function checkKeys(value, where, rules) {
  obey(value, where || "manifest", MAPPING);
  const read = /** @type {Record<string, unknown>} */ (value);
  for (const key of Object.keys(read)) {
    must(Object.hasOwn(rules, key) || `${key}?` in rules, pathOf(where, key).slice(0, 200), read[key], "left out: unknown");
  }
}

/** @param {string} where @param {string} key */
const pathOf = (where, key) => (where ? `${where}.${key}` : key);

/**
 * Return an object whose members follow rules; a name that ends in `?` may be absent, and no other name may be there.
 *
 * @param {unknown} value
 * @param {string} where Path of the object; empty for the outermost.
 * @param {Record<string, Rule>} rules
 * @returns {Record<string, any>}
 * @throws {InvalidParameter} Naming the member.
 */
export function shape(value, where, rules) {
  checkKeys(value, where, rules);
  const read = /** @type {Record<string, unknown>} */ (value);
  const named = Object.entries(rules);
  // What is needed and absent is told before what is there and wrong.
  for (const [name] of named) if (!name.endsWith("?")) obey(read[name], pathOf(where, name), GIVEN);
  for (const [name, rule] of named) {
    const key = name.replace("?", "");
    if (key in read) obey(read[key], pathOf(where, key), rule);
  }
  return read;
}
