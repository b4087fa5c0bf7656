/**
 * Which answers are the server's own, and what they say (RFC 9457). A network's login page or a proxy answers in the server's
 * name with any status; only what is recognised here ends anything. The vectors hold both SDKs to one table of answers.
 */

import { TransportError } from "./errors.js";

/**
 * @typedef {object} Answer
 * @property {number} status 0 for a redirect, which is not followed.
 * @property {string | null} type Its media type.
 * @property {Uint8Array} body
 * @property {number} [retryAfter] Seconds that it asks to wait.
 */

/** The codes of the server's problems by status, as in Python's table. @type {Record<number, string>} */
const CODES = {
  400: "invalid-json malformed-request",
  401: "unauthorized",
  403: "forbidden survey-not-open",
  404: "unknown-survey unknown-digest not-found",
  405: "method-not-allowed",
  408: "request-timeout",
  409: "report-conflict token-spent invitation-redeemed version-exists not-enough-reports not-released survey-not-over job-not-done job-cancelled job-timed-out " +
    "job-out-of-memory",
  410: "records-deleted results-taken-back survey-closed",
  412: "draft-changed",
  413: "payload-too-large",
  415: "unsupported-media-type",
  422: "invalid-request malformed-report manifest-refused hardly-protected",
  428: "etag-needed",
  429: "too-many-jobs rate-limited",
  500: "internal",
  501: "missing-extra",
  503: "unavailable",
};

/** Statuses of problems after which the same bytes may succeed later. */
const RETRYABLE = [408, 429, 500, 503];

const JSON_TYPE = "application/json";
const DEPTH = 16;

/**
 * Whether the server acknowledges a report, and how.
 *
 * @param {Answer} answer
 * @returns {"accepted" | "duplicate" | undefined}
 */
export function acknowledged(answer) {
  const said = answer.status === 201 ? "accepted" : answer.status === 200 ? "duplicate" : undefined;
  return said && readJson(answer)?.status === said ? said : undefined;
}

/**
 * Whether an answer may be a published survey: an object with attributes, not checked yet.
 *
 * @param {Answer} answer
 */
export const offersManifest = (answer) => answer.status === 200 && Array.isArray(readJson(answer)?.attributes);

/**
 * The error that any other answer stands for. What is not the server's own is asked again later. Of a server that is not trusted,
 * what reaches the message is printable and cut.
 *
 * @param {Answer} answer
 */
export function errorFrom(answer) {
  const { status, retryAfter } = answer;
  const problem = read(answer, "application/problem+json");
  const type = problem?.type;
  const code = CODES[status]?.split(" ").find((code) => type === `urn:hushpoll:problem:${code}`);
  if (!code) {
    return new TransportError(
      `what answered (${status || "a redirect"}) is not the survey's server; check the address, and that no login page or proxy is between`,
      { retryable: true, status, retryAfter },
    );
  }
  const words = [problem.title, problem.detail, problem.remedy]
    .map((part) => (typeof part === "string" ? part.slice(0, 500).replace(/[\p{C}\p{Z}]+/gu, " ") : ""))
    .join(" ");
  return new TransportError(`the server answered ${status}: ${words}`, {
    retryable: RETRYABLE.includes(status),
    status,
    problem: { ...problem, code },
    retryAfter,
  });
}

/**
 * The body of an answer of the server's own; undefined if it is no JSON.
 *
 * @param {Answer} answer
 */
export const readJson = (answer) => read(answer, JSON_TYPE);

/** @param {string | null} type */
const plain = (type) => /^[ \t]*([^; \t]*)[ \t]*(;|$)/.exec(type ?? "")?.[1]?.toLowerCase();

/**
 * The body, if it is of the wanted type and JSON that does not nest too deep.
 *
 * @param {Answer} answer
 * @param {string} wanted
 * @returns {any}
 */
function read({ type, body }, wanted) {
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
    if (plain(type) === wanted && nests(value, DEPTH)) return value;
  } catch {
    // It is no JSON.
  }
  return undefined;
}

/**
 * Whether a value has at most so many levels of objects and lists.
 *
 * @param {unknown} value
 * @param {number} levels
 * @returns {boolean}
 */
const nests = (value, levels) =>
  Object(value) !== value || (levels > 0 && Object.values(/** @type {object} */ (value)).every((part) => nests(part, levels - 1)));
