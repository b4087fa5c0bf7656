/**
 * What a name, a line of text, a time and an object's keys may look like.
 *
 * The rules are closed lists of code points, not classes that grow with Unicode: a manifest that one implementation
 * accepts, all accept.
 */

import { InvalidParameter, shown } from "./errors.js";

// C0, DEL and C1 controls, line and paragraph separators, directional overrides (they can make one category look like
// another), and lone surrogates.
const FORBIDDEN = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/u;

/**
 * Whether a value is 1 to 64 characters out of a-z 0-9 _ -.
 *
 * @param {unknown} value
 * @returns {value is string}
 */
export const isName = (value) => typeof value === "string" && /^[a-z0-9_-]{1,64}$/.test(value);

/**
 * @param {unknown} value
 * @param {string} field
 * @returns {string}
 */
export function checkName(value, field) {
  if (isName(value)) return value;
  throw new InvalidParameter(`${field} is ${shown(value)}; a name is 1 to 64 characters out of a-z 0-9 _ -`, field);
}

/**
 * Return plain text in normal form C, without control characters or a space at either end.
 *
 * @param {unknown} value
 * @param {string} field
 * @param {number} longest Code points, inclusive.
 * @param {RegExp} [apart] Characters that are allowed all the same.
 * @returns {string}
 */
export function checkText(value, field, longest, apart) {
  if (
    typeof value !== "string" ||
    !value ||
    [...value].length > longest ||
    FORBIDDEN.test(apart ? value.replace(apart, "") : value) ||
    /^ | $/.test(value) ||
    value.normalize("NFC") !== value
  ) {
    throw new InvalidParameter(
      `${field} is ${shown(value)}; it must be 1 to ${longest} characters of text in normal form C, without control ` +
        "characters or a space at either end",
      field,
    );
  }
  return value;
}

/**
 * Return the moment of `YYYY-MM-DDTHH:MM:SSZ`, in milliseconds.
 *
 * @param {unknown} value
 * @param {string} field
 */
export function checkTime(value, field) {
  const time = typeof value === "string" && /^\d{4}-.{14}Z$/.test(value) && value >= "0001" ? Date.parse(value) : NaN;
  // Writing it again tells a date that does not exist.
  if (Number.isNaN(time) || new Date(time).toISOString() !== String(value).replace("Z", ".000Z")) {
    throw new InvalidParameter(
      `${field} is ${shown(value)}; a time is UTC to the second, such as 2026-01-31T09:00:00Z`,
      field,
    );
  }
  return time;
}

/**
 * Return an object that has every required key and none but the required and the optional ones.
 *
 * @param {unknown} value
 * @param {string} where Path of the object; empty for the whole manifest.
 * @param {string[]} required
 * @param {string[]} [optional]
 * @returns {Record<string, any>}
 */
export function checkKeys(value, where, required, optional = []) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new InvalidParameter(`${where || "it"} is ${shown(value)}; it must be an object`, where || "manifest");
  }
  const path = (/** @type {string} */ key) => (where ? `${where}.${key}` : key).slice(0, 200);
  for (const key of Object.keys(value)) {
    if (!required.includes(key) && !optional.includes(key)) {
      throw new InvalidParameter(`${shown(path(key))} is not a known key; remove it`, path(key));
    }
  }
  const found = /** @type {Record<string, any>} */ (value);
  for (const key of required) {
    if (!Object.hasOwn(value, key) || found[key] === null) {
      throw new InvalidParameter(`${path(key)} is missing; add it`, path(key));
    }
  }
  return found;
}
