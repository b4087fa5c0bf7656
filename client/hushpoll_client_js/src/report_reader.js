/** Reads a report from JSON, for example one that came by mail instead of a request. */

import { b64decode } from "./base64url_reader.js";
import { GIVEN, matching, must, shape } from "./rules.js";

const DIGEST = matching(/^[0-9a-f]{64}$/, "64 lower-case hexadecimal digits");

/**
 * Read what `encodeReport` wrote, as a parsed JSON value.
 *
 * @param {unknown} value
 * @returns {import("./wire.js").Report}
 * @throws {InvalidParameter} Naming the field.
 */
export function parseReport(value) {
  const { digest, ...rest } = shape(value, "", { digest: DIGEST, id: GIVEN, record: GIVEN });
  const id = b64decode(rest.id, "id");
  must(id.length === 16, "id", id.length, "16 bytes");
  return { digest, id, record: b64decode(rest.record, "record") };
}
