/** Writes base64url without padding, in its one spelling (RFC 4648, sections 3.5 and 5). */

/** @param {Uint8Array} bytes */
export const b64encode = (bytes) =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(
    /[+/=]/g,
    (c) => /** @type {Record<string, string>} */ ({ "+": "-", "/": "_" })[c] ?? "",
  );
