/** Writes one report as the JSON that is sent. */

import { b64encode } from "./base64url.js";

/**
 * One respondent's record under an id, for one version of a survey.
 *
 * @typedef {object} Report
 * @property {string} digest Of the published survey, 64 hexadecimal digits.
 * @property {Uint8Array} id 16 bytes, the first of SHA-256 of a secret that the device keeps; the same over retries.
 * @property {Uint8Array} record
 */

/**
 * The body that the server takes: always the same bytes for the same report.
 *
 * @param {Report} report
 */
export const encodeReport = ({ digest, id, record }) =>
  JSON.stringify({ digest, id: b64encode(id), record: b64encode(record) });
