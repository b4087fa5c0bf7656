/**
 * The exceptions of the SDK. A message names the field, the value, the allowed interval and the remedy;
 * the one thing never put into it is a respondent's answer, because messages travel into logs.
 */

/** Base class of every error raised on purpose. */
export class HushpollError extends Error {}

/** A caller gave a value outside its interval. */
export class InvalidParameter extends HushpollError {
  /**
   * @param {string} message
   * @param {string} field Name of the parameter or attribute at fault.
   */
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

/** A published manifest that contradicts itself, its digest or its owner's limits. */
export class ManifestRefused extends HushpollError {
  /**
   * @param {string} message
   * @param {string} field Path of the field at fault, such as `attributes[gender].thresholds`.
   */
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

/** Bytes that no device following the protocol could have produced. */
export class MalformedRecord extends HushpollError {
  /**
   * @param {string} message
   * @param {string} reason `length`, `range`, `padding` or `popcount`.
   * @param {string} [field] Attribute whose part of the record is malformed, where known.
   */
  constructor(message, reason, field) {
    super(message);
    this.reason = reason;
    this.field = field;
  }
}

/** Answering would spend more epsilon than the device's owner allows. */
export class BudgetExhausted extends HushpollError {}

/** The device cannot keep records, so nothing is randomised or sent. */
export class StorageError extends HushpollError {}

/** The server could not be reached, or answered with a problem. */
export class TransportError extends HushpollError {
  /**
   * @param {string} message
   * @param {object} [details]
   * @param {boolean} [details.retryable] Whether the same bytes may succeed later.
   * @param {number} [details.status] HTTP status, if there was an answer.
   * @param {Record<string, unknown>} [details.problem] The problem+json document, if there was one.
   * @param {number} [details.retryAfter] Seconds that the server asked to wait.
   */
  constructor(message, { retryable = false, status, problem, retryAfter } = {}) {
    super(message);
    this.retryable = retryable;
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

// Spelled out: a minifier renames classes, and a host app logs the name.
for (const [name, type] of Object.entries({
  HushpollError,
  InvalidParameter,
  ManifestRefused,
  MalformedRecord,
  BudgetExhausted,
  StorageError,
  TransportError,
})) {
  type.prototype.name = name;
}

/**
 * Spell a refused value for a message, cut where a hostile manifest made it long.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  const text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? typeof value);
  // Directional overrides would reorder the message itself.
  const plain = text.replace(/[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
  return plain.length > 80 ? `${plain.slice(0, 77)}...` : plain;
}
