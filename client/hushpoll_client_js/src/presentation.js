/** How a survey is shown beside its words: ends of scales, the order of answers, thanks, a logo; loaded where a manifest has some of it. */

import { CATEGORY, integer, LIST, MAPPING, matching, must, obey, shape, text, THANKS } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */
/** @typedef {import("./rules.js").Rule} Rule */

export const ALT = text(200);
const IMAGE = matching(/^[0-9a-f]{64}$/, "a SHA-256");

/**
 * Two texts for the ends of a scale.
 *
 * @param {any} ends
 * @param {string} where
 * @throws {InvalidParameter} Naming the field.
 */
export function checkEnds(ends, where) {
  obey(ends, where, LIST);
  must(ends.length === 2 && ends[0] !== ends[1], where, ends, "two different texts");
  ends.forEach((/** @type {unknown} */ end, /** @type {number} */ at) => obey(end, `${where}[${at}]`, CATEGORY));
}

/**
 * @param {Record<string, any>} survey As it was read, with its attributes.
 * @throws {InvalidParameter} Naming the field.
 */
export function checkPresentation({ attributes, selects = [], matrices = [], thanks, logo }) {
  for (const { name, ends, shuffle, scale, number, categories } of attributes) {
    const where = `attributes[${name}]`;
    if (ends !== undefined) {
      must(scale, `${where}.ends`, ends, "left out: there is no scale");
      checkEnds(ends, `${where}.ends`);
    }
    must(shuffle === undefined || (!scale && !number), `${where}.shuffle`, shuffle, "left out: the answers are ordered");
    checkShuffle(shuffle, `${where}.shuffle`, categories.length);
  }
  for (const [list, groups] of Object.entries({ selects, matrices })) {
    for (const { name, shuffle, attributes: parts } of groups) checkShuffle(shuffle, `${list}[${name}].shuffle`, parts.length);
  }
  if (thanks !== undefined) obey(thanks, "thanks", THANKS);
  if (logo !== undefined) shape(logo, "logo", { image: IMAGE, alt: ALT });
}

/**
 * @param {unknown} shuffle
 * @param {string} where
 * @param {number} count How many answers there are.
 */
function checkShuffle(shuffle, where, count) {
  if (shuffle === undefined) return;
  obey(shuffle, where, MAPPING);
  // Of none that keep their place the one spelling is to leave it out; two or more change places.
  shape(shuffle, where, { "last?": integer(1, count - 2) });
  must(count > 1, where, count, "for two answers or more");
}
