/**
 * Parts of the SDK that only some surveys need. Each loads where a manifest uses it, before its attributes are read; what a part offers to
 * later steps stays on the attributes and fields that it has read, so that answers are coded and encoded without waiting.
 */

import { TransportError } from "./errors.js";

/**
 * @typedef {object} Features
 * @property {typeof import("./invited.js")} [invited]
 * @property {typeof import("./blocks.js")} [blocks]
 * @property {typeof import("./draws.js")} [draws]
 * @property {typeof import("./follow_ups.js")} [followUps]
 * @property {typeof import("./protected_groups.js")} [groups]
 * @property {typeof import("./numbers.js")} [numbers]
 * @property {typeof import("./presentation.js")} [presenting]
 * @property {typeof import("./selects.js")} [selecting]
 * @property {typeof import("./matrices.js")} [tables]
 * @property {typeof import("./translations.js")} [translations]
 */

/** @param {unknown} groups Select-alls or matrices. */
const shuffled = (groups) => Array.isArray(groups) && groups.some((one) => "shuffle" in Object(one));

/**
 * The parts that a manifest uses.
 *
 * @param {Record<string, any>} read The manifest, of which the attributes are a list.
 * @returns {Promise<Features>}
 * @throws {TransportError} If one of them cannot be loaded; it may be later.
 */
export async function load(read) {
  const has = (/** @type {string} */ key) => read.attributes.some((/** @type {unknown} */ one) => key in Object(one));
  // `PARTS` of hushpoll_server/pages/assets.py says the same of a published survey, for what the hosted page loads beforehand.
  const loading = {
    blocks: "together" in read && import("./blocks.js"),
    draws: "draws" in read && import("./draws.js"),
    followUps: has("ask_if") && import("./follow_ups.js"),
    invited: read.submission === "invited" && import("./invited.js"),
    groups: "protected" in read && import("./protected_groups.js"),
    numbers: has("number") && import("./numbers.js"),
    presenting: (["ends", "shuffle"].some(has) || "thanks" in read || "logo" in read || shuffled(read.selects) || shuffled(read.matrices)) && import("./presentation.js"),
    selecting: "selects" in read && import("./selects.js"),
    tables: "matrices" in read && import("./matrices.js"),
    translations: "translations" in read && import("./translations.js"),
  };
  try {
    return Object.fromEntries(await Promise.all(Object.entries(loading).map(async ([name, part]) => [name, (await part) || undefined])));
  } catch {
    throw new TransportError("a part of hushpoll that this survey uses was not loaded; try again", { retryable: true });
  }
}
