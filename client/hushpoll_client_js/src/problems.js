/** The table of what can go wrong between client and server (RFC 9457), as far as a device needs it. */

import { TransportError } from "./errors.js";

export const PROBLEM_MEDIA_TYPE = "application/problem+json";

const URN = "urn:hushpoll:problem:";

/** Problems after which the same bytes can never succeed. */
export const TERMINAL =
  "invalid-json invalid-request malformed-report manifest-refused unauthorized forbidden survey-not-open unknown-survey unknown-digest not-found method-not-allowed report-conflict version-exists not-enough-reports survey-closed payload-too-large unsupported-media-type".split(
    " ",
  );

/** Problems after which the same bytes may succeed later. */
export const RETRYABLE = ["rate-limited", "internal", "unavailable"];

const RETRYABLE_STATUSES = [408, 425, 429, 500, 502, 503, 504];

/**
 * The error that an answer outside 2xx stands for. The document comes from a server that is not trusted: what reaches
 * the message is printable and cut, and what is no problem of ours is judged by its status alone.
 *
 * @param {number} status
 * @param {unknown} document The parsed body, or undefined where it was no problem+json.
 * @param {number} [retryAfter] Seconds.
 */
export function errorFrom(status, document, retryAfter) {
  const problem = /** @type {Record<string, unknown>} */ (Object(document));
  const code = codeOf(problem.type);
  const known = TERMINAL.includes(code) || RETRYABLE.includes(code);
  const words = [problem.title, problem.detail, problem.remedy].map(printable).filter(Boolean).join(": ");
  return new TransportError(`the server answered ${status}${known ? ` (${code})` : ""}${words && `: ${words}`}`, {
    retryable: known ? RETRYABLE.includes(code) : RETRYABLE_STATUSES.includes(status),
    status,
    ...(document === undefined ? {} : { problem }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/** @param {unknown} type */
const codeOf = (type) => (typeof type === "string" && type.startsWith(URN) ? type.slice(URN.length) : "");

/** @param {unknown} value */
const printable = (value) => (typeof value === "string" ? value.slice(0, 500).replace(/[\p{C}\p{Z}]+/gu, " ") : "");
