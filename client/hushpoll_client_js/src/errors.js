/**
 * The exceptions of the SDK. A message names the field, the value, the allowed interval and the remedy; the one thing
 * never put into it is a respondent's answer, because messages travel into logs.
 */

/**
 * @typedef {object} Details
 * @property {string | undefined} [field] Path of the field at fault, such as `attributes[gender].thresholds`.
 * @property {string | undefined} [reason] Of a malformed record: `length`, `range`, `padding` or `popcount`.
 * @property {boolean | undefined} [retryable] Whether the same bytes may succeed later.
 * @property {number | undefined} [status] HTTP status, if there was an answer.
 * @property {number | undefined} [retryAfter] Seconds that the server asked to wait.
 * @property {Record<string, unknown> | undefined} [problem] The problem+json document, if there was one.
 */

/** Base class of every error raised on purpose. */
export class HushpollError extends Error {
  /**
   * @param {string} message
   * @param {Details} [details]
   */
  constructor(message, details = {}) {
    super(message);
    this.field = details.field;
    this.reason = details.reason;
    this.retryable = details.retryable ?? false;
    this.status = details.status;
    this.retryAfter = details.retryAfter;
    this.problem = details.problem;
  }
}

/** A caller gave a value outside its interval. */
export class InvalidParameter extends HushpollError {}

/** A published manifest that contradicts itself, its digest or its owner's limits. */
export class ManifestRefused extends HushpollError {}

/** Bytes that no device following the protocol could have produced. */
export class MalformedRecord extends HushpollError {}

/** Answering would spend more epsilon than the device's owner allows. */
export class BudgetExhausted extends HushpollError {}

/** The device cannot keep records, so nothing was randomised or sent. */
export class StorageError extends HushpollError {}

/** The server could not be reached, or answered with a problem. */
export class TransportError extends HushpollError {}

// Spelled out: a minifier renames classes, and a host app logs the name.
Object.entries({
  HushpollError,
  InvalidParameter,
  ManifestRefused,
  MalformedRecord,
  BudgetExhausted,
  StorageError,
  TransportError,
}).forEach(([name, type]) => (type.prototype.name = name));

/**
 * Spell a refused value for a message, cut where a hostile manifest made it long.
 *
 * @param {unknown} value
 */
export function shown(value) {
  // Control characters and directional overrides would reorder the message itself.
  const text = String(JSON.stringify(value)).replace(/[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
