/** What a server's refusal means (RFC 9457). */

import { TransportError } from "./errors.js";

/**
 * Statuses after which the same bytes may succeed later. They decide alone: in the table that both sides share, a
 * problem is retryable exactly if its status is one of these, and the vectors hold the table to it.
 */
const RETRYABLE = [408, 425, 429, 500, 502, 503, 504];

/**
 * The error that an answer outside 2xx stands for. The document comes from a server that is not trusted: what reaches
 * the message is printable and cut.
 *
 * @param {number} status
 * @param {any} problem The parsed body, if it was JSON.
 * @param {number} [retryAfter] Seconds.
 */
export function errorFrom(status, problem, retryAfter) {
  const words = [problem?.title, problem?.detail, problem?.remedy]
    .map((part) => (typeof part === "string" ? part.slice(0, 500).replace(/[\p{C}\p{Z}]+/gu, " ") : ""))
    .join(" ");
  return new TransportError(`the server answered ${status}: ${words}`, {
    retryable: RETRYABLE.includes(status),
    status,
    problem,
    retryAfter,
  });
}
