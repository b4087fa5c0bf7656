/** The table of what can go wrong between client and server (RFC 9457), as far as a device needs it. */

import { TransportError } from "./errors.js";

const URN = "urn:hushpoll:problem:";

/** Problems after which the same bytes may succeed later, and those after which they never can. */
export const RETRYABLE = ["rate-limited", "internal", "unavailable"];
export const TERMINAL = [
  ..."invalid-json invalid-request malformed-report manifest-refused unauthorized forbidden survey-not-open".split(" "),
  ..."unknown-survey unknown-digest not-found method-not-allowed report-conflict version-exists".split(" "),
  ..."not-enough-reports survey-closed payload-too-large unsupported-media-type".split(" "),
];

const RETRYABLE_STATUSES = [408, 425, 429, 500, 502, 503, 504];

/**
 * The error that an answer outside 2xx stands for. The document comes from a server that is not trusted: what reaches
 * the message is printable and cut, and what is no problem of ours is judged by its status alone.
 *
 * @param {number} status
 * @param {any} problem The parsed body, or undefined where it was no problem+json.
 * @param {number} [retryAfter] Seconds.
 */
export function errorFrom(status, problem, retryAfter) {
  const code = String(problem?.type).replace(URN, "");
  const words = [problem?.title, problem?.detail, problem?.remedy]
    .map((part) => (typeof part === "string" ? part.slice(0, 500).replace(/[\p{C}\p{Z}]+/gu, " ") : ""))
    .join(" ");
  return new TransportError(`the server answered ${status}: ${words}`, {
    retryable: RETRYABLE.includes(code) || (!TERMINAL.includes(code) && RETRYABLE_STATUSES.includes(status)),
    status,
    problem,
    retryAfter,
  });
}
