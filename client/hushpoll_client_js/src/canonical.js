/**
 * JSON with one spelling per value: RFC 8785 (JCS) out, I-JSON (RFC 7493) in.
 *
 * A digest means something only if no two values are read from the same bytes, so the reader refuses what readers
 * disagree about: duplicate keys, lone surrogates, numbers that are not exact.
 */

import { InvalidParameter } from "./errors.js";

const DEPTH = 64;
const LONE_SURROGATE = /\p{Surrogate}/u;
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[-\d][-+.\deE]*|[{}[\]]/g;

/**
 * Write a JSON value in the one form of RFC 8785.
 *
 * @param {unknown} value
 * @returns {string}
 * @throws {InvalidParameter} If it has no such form: NaN, an infinity, a lone surrogate, another type, deep nesting.
 */
export function canonicalJson(value) {
  return write(value, 0);
}

/**
 * @param {unknown} value
 * @param {number} depth
 * @returns {string}
 */
function write(value, depth) {
  if (depth > DEPTH) throw refused(`it nests deeper than ${DEPTH}`);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1))}]`;
  if (value !== null && typeof value === "object") {
    // The default order of sort is that of UTF-16 code units, which RFC 8785 asks for.
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([key, item]) => `${write(key, depth)}:${write(item, depth + 1)}`)}}`;
  }
  if (
    typeof value === "string"
      ? LONE_SURROGATE.test(value)
      : !(value === null || typeof value === "boolean" || Number.isFinite(value))
  ) {
    throw refused("a value has no JSON form");
  }
  return JSON.stringify(value);
}

/**
 * Read one JSON value, refusing what two readers could read differently.
 *
 * @param {Uint8Array | string} data UTF-8 without a byte order mark.
 * @returns {unknown}
 * @throws {InvalidParameter}
 */
export function parseJson(data) {
  let value, text;
  try {
    text = typeof data === "string" ? data : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    value = JSON.parse(text);
  } catch {
    // The engine's message quotes the document, which may hold answers.
    throw refused("it is not JSON in UTF-8");
  }
  /** @type {Set<string>[]} */
  const open = [];
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    if (string) {
      const read = JSON.parse(string);
      if (LONE_SURROGATE.test(read)) throw refused("a string holds half of a surrogate pair");
      if (colon) {
        const keys = open[open.length - 1];
        if (keys.has(read)) throw refused("an object has the same key twice");
        keys.add(read);
      }
    } else if (token === "{" || token === "[") {
      if (open.push(new Set()) > DEPTH) throw refused(`it nests deeper than ${DEPTH}`);
    } else if (token === "}" || token === "]") {
      open.pop();
    } else {
      const number = Number(token);
      // An integer is exact if it is spelled as the double that it reads as.
      const exact = /[.eE]/.test(token) || String(number) === token || token === "-0";
      if (!exact || !Number.isFinite(number)) throw refused("a number is not exact as a double");
    }
  }
  return value;
}

/** @param {string} why */
function refused(why) {
  return new InvalidParameter(`the JSON is refused: ${why}; correct it`, "json");
}

/**
 * SHA-256 of a text's UTF-8, as 64 lower-case hexadecimal digits.
 *
 * @param {string} text
 */
export async function sha256Hex(text) {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
