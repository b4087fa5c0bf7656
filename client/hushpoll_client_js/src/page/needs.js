/** What a browser must have for this page; where it lacks some of it, the page says so before anything is asked. */

import { HushpollError } from "../errors.js";

/** The browser lacks what the page cannot do without. */
export class Lacking extends HushpollError {
  /** Whether it has it on encrypted pages. */
  insecure = false;
}

/** @type {Record<string, () => unknown>} */
const NEEDS = {
  "crypto.subtle": () => crypto.subtle.digest,
  "crypto.getRandomValues": () => crypto.getRandomValues,
  indexedDB: () => indexedDB.open,
  "AbortSignal.timeout": () => AbortSignal.timeout,
  TextDecoder: () => TextDecoder,
  fetch: () => fetch,
};

/** @throws {Lacking} Naming what is not there. */
export function checkBrowser() {
  const missing = Object.keys(NEEDS).filter((name) => !there(NEEDS[name]));
  const insecure = globalThis.isSecureContext === false;
  if (insecure || missing.length) {
    throw Object.assign(new Lacking(insecure ? "not a secure context" : `the browser has no ${missing.join(", ")}`), { insecure });
  }
}

/** @param {() => unknown} look Throws where what it looks at is not there, or is not given to this site. */
function there(look) {
  try {
    return Boolean(look());
  } catch {
    return false;
  }
}
