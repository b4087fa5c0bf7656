/** What travels: one report as JSON. */

import { b64decode, b64encode } from "./base64url.js";
import { InvalidParameter, shown } from "./errors.js";
import { checkKeys } from "./text.js";

export const ID_SIZE = 16;

/**
 * One respondent's record under a random id, for one version of a survey.
 *
 * @typedef {object} Report
 * @property {string} digest Of the published survey, 64 hexadecimal digits.
 * @property {Uint8Array} id 16 random bytes, drawn once and kept over retries.
 * @property {Uint8Array} record
 */

/**
 * @param {unknown} value
 * @returns {string} 64 lower-case hexadecimal digits.
 * @throws {InvalidParameter}
 */
export function checkDigest(value) {
  if (typeof value === "string" && /^[0-9a-f]{64}$/.test(value)) return value;
  throw new InvalidParameter(`digest is ${shown(value)}; a digest is 64 lower-case hexadecimal digits`, "digest");
}

/**
 * The body that the server takes: always the same bytes for the same report.
 *
 * @param {Report} report
 */
export function encodeReport({ digest, id, record }) {
  return JSON.stringify({ digest: checkDigest(digest), id: b64encode(id), record: b64encode(record) });
}

/**
 * Read what `encodeReport` wrote, as a parsed JSON value.
 *
 * @param {unknown} value
 * @returns {Report}
 * @throws {InvalidParameter} Naming the field.
 */
export function parseReport(value) {
  const { digest, id, record } = checkKeys(value, "", ["digest", "id", "record"]);
  const report = { digest: checkDigest(digest), id: b64decode(id, "id"), record: b64decode(record, "record") };
  if (report.id.length !== ID_SIZE) {
    throw new InvalidParameter(`the report's id has ${report.id.length} bytes; it has ${ID_SIZE}`, "id");
  }
  return report;
}
