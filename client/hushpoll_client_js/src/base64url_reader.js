/** Reads base64url without padding, in its one spelling; what only writes it, as a device that answers, loads `base64url.js` alone. */

import { b64encode, InvalidParameter } from "./core.js";

/**
 * Read base64url; padding, another alphabet, whitespace and bits after the last byte are refused. The text is never
 * shown: it may hold answers in clear.
 *
 * @param {unknown} text
 * @param {string} field
 * @throws {InvalidParameter}
 */
export function b64decode(text, field) {
  if (typeof text === "string" && /^[\w-]*$/.test(text) && text.length % 4 !== 1) {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    // Bits after the last byte decode to nothing: only writing again tells whether they were zero.
    if (b64encode(bytes) === text) return bytes;
  }
  throw new InvalidParameter(`${field} is not canonical base64url; use A-Z a-z 0-9 - _ without padding`, { field });
}
