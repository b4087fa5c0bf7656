/**
 * The exceptions of the SDK. A message names the field, the value, the allowed interval and the remedy; the one thing
 * never put into it is a respondent's answer, because messages travel into logs.
 */

/** Base class of every error raised on purpose. */
export class HushpollError extends Error {
  /** Path of the field at fault, such as `attributes[gender].thresholds`. @type {string | undefined} */
  field;
  /** Of a malformed record: `length`, `range`, `padding` or `popcount`. @type {string | undefined} */
  reason;
  /** Whether the same bytes may succeed later. @type {boolean | undefined} */
  retryable;
  /** HTTP status, if there was an answer. @type {number | undefined} */
  status;
  /** Seconds that the server asked to wait. @type {number | undefined} */
  retryAfter;
  /** The problem+json document, if there was one. @type {Record<string, unknown> | undefined} */
  problem;

  /**
   * @param {string} message
   * @param {Partial<HushpollError>} [details]
   */
  constructor(message, details) {
    super(message);
    this.name = new.target.name;
    Object.assign(this, details);
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

/** The respondent has not agreed, or no longer agrees; nothing was read and nothing was sent. */
export class ConsentMissing extends HushpollError {}

/** The device cannot keep or read what it must; an answer that is not kept was not randomised. */
export class StorageError extends HushpollError {}

/** The server could not be reached, or answered with a problem. */
export class TransportError extends HushpollError {}

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
