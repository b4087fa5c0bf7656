/**
 * JSON with one spelling per value: RFC 8785 (JCS).
 *
 * A digest means something only if no two values are read from the same bytes. A published manifest travels in its one
 * spelling, so the reader refuses any other, and with it all that readers disagree about: duplicate keys, lone
 * surrogates, numbers that are not exact, bytes that are not UTF-8.
 */

import { InvalidParameter } from "./errors.js";

const DEPTH = 64;

/**
 * Write a JSON value in the one form of RFC 8785.
 *
 * @param {unknown} value
 * @param {number} [depth] How deep the value is nested.
 * @returns {string}
 * @throws {RangeError} For what has no such form: a lone surrogate, or nesting deeper than 64.
 */
export function canonicalJson(value, depth = 0) {
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw RangeError();
  if (Object(value) !== value) return JSON.stringify(value);
  if (depth === DEPTH) throw RangeError();
  const inner = (/** @type {unknown} */ item) => canonicalJson(item, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner)}]`;
  const object = /** @type {Record<string, unknown>} */ (value);
  // The default order of sort is that of UTF-16 code units, which RFC 8785 asks for.
  return `{${Object.keys(object).sort().map((key) => `${inner(key)}:${inner(object[key])}`)}}`;
}

/**
 * Read a JSON value in its one spelling.
 *
 * @param {Uint8Array} data UTF-8.
 * @returns {unknown}
 * @throws {InvalidParameter} Not quoting the document, which may hold answers.
 */
export function parseJson(data) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    const value = JSON.parse(text);
    if (canonicalJson(value) === text) return value;
  } catch {
    // The engine's message quotes the document.
  }
  throw new InvalidParameter("not canonical JSON (RFC 8785); serve it as published", {
    field: "json",
  });
}

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * SHA-256 of a text's UTF-8, as 64 lower-case hexadecimal digits.
 *
 * @param {string} text
 */
export const sha256Hex = async (text) =>
  hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
