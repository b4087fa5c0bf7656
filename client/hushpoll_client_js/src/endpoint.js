/** The address of a survey's server, checked before anything is sent to it. */

import { must } from "./rules.js";

/**
 * Check a server's address: https, or http for this machine alone; no user, query or fragment.
 *
 * @param {string} url
 * @returns {string} Address of its API, without a slash at the end.
 * @throws {InvalidParameter} Not showing what may hold a password.
 */
export function apiOf(url) {
  const { origin, protocol, hostname, pathname, href } = parsed(url);
  const local = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  must(
    (protocol === "https:" || (protocol === "http:" && local)) && href === origin + pathname,
    "url",
    origin,
    "https (http on localhost), no user, query or fragment",
  );
  return `${href.replace(/\/+$/, "")}/api/v1`;
}

/** Older browsers have no `URL.canParse`. @param {string} url */
function parsed(url) {
  try {
    return new URL(url);
  } catch {
    return new URL("none:");
  }
}
