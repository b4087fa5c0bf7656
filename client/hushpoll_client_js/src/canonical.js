/**
 * JSON with one spelling per value: RFC 8785 (JCS) out, I-JSON (RFC 7493) in.
 *
 * A digest means something only if no two values are read from the same bytes, so the reader refuses what readers
 * disagree about: duplicate keys, lone surrogates, numbers that are not exact.
 */

import { InvalidParameter } from "./errors.js";

const DEPTH = 64;
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[-\d][-+.\deE]*|[{}[\]]/g;

/**
 * Write a JSON value, as `parseJson` gives it, in the one form of RFC 8785.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function canonicalJson(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalJson)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  // The default order of sort is that of UTF-16 code units, which RFC 8785 asks for.
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(/** @type {any} */ (value)[key])}`)}}`;
}

/**
 * Read one JSON value, refusing what two readers could read differently.
 *
 * @param {Uint8Array | string} data UTF-8 without a byte order mark.
 * @returns {unknown}
 * @throws {InvalidParameter} Not quoting the document, which may hold answers.
 */
export function parseJson(data) {
  try {
    const text = typeof data === "string" ? data : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    const value = JSON.parse(text);
    checkTokens(text);
    return value;
  } catch {
    throw new InvalidParameter(
      `the JSON is refused; give one value in UTF-8, no key twice, numbers exact as doubles, at most ${DEPTH} deep`,
      { field: "json" },
    );
  }
}

/** @param {string} text Valid JSON. */
function checkTokens(text) {
  /** @type {Set<string>[]} */
  const open = [];
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    let wrong;
    if (string) {
      const read = JSON.parse(string);
      const keys = open[open.length - 1];
      wrong = /\p{Surrogate}/u.test(read) || (colon && keys.has(read));
      if (colon) keys.add(read);
    } else if (/[{[]/.test(token)) {
      wrong = open.push(new Set()) > DEPTH;
    } else if (/[}\]]/.test(token)) {
      open.pop();
    } else {
      const number = Number(token);
      // An integer is exact if it is spelled as the double that it reads as.
      wrong = !Number.isFinite(number) || !(/[.eE]/.test(token) || String(number) === token || token === "-0");
    }
    if (wrong) throw token;
  }
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
