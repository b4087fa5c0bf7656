/**
 * Follow-ups: questions that are asked only after some answers to an earlier question, the router. A follow-up has one more category,
 * the last, for all who are not asked it.
 */

import { K_MAX } from "./protocol.js";
import { must } from "./rules.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * Check the follow-ups, and say of each which attribute is its router, and after which of its categories it is asked.
 *
 * @param {Attribute[]} attributes
 * @param {number} format Of the manifest; 1 has none.
 * @throws {import("./errors.js").InvalidParameter} Naming the follow-up.
 */
export const findRouters = (attributes, format) =>
  attributes.forEach((attribute, at) => {
    const { name, role, ask_if: condition } = attribute;
    if (!condition) return;
    const [[router, labels] = [], ...others] = Object.entries(condition);
    const place = attributes.findIndex((one) => one.name === router);
    const { categories = [], oracle, block } = attributes[place] ?? {};
    const asking = new Set(/** @type {string[]} */ ([labels].flat()));
    must(
      format > 1 &&
        !others[0] &&
        place < at &&
        Array.isArray(labels) &&
        labels.length < categories.length &&
        // Each is a category, and named once; there is one.
        categories.filter((category) => asking.has(category)).length === (labels.length || -1) &&
        role !== "target" &&
        // In clear it would reveal the answer to the router.
        (attribute.oracle || attribute.block || !(oracle || block)),
      `attributes[${name}].ask_if`,
      condition,
      "answers to an earlier question",
    );
    attribute.router = place;
    attribute.asking = asking;
  });

/**
 * The combinations of answers to the questions of a block that are possible, increasing: codes in lanes of 16 bits, the first question's
 * highest.
 *
 * @param {number[]} places Of the block's questions among the attributes, the slowest first.
 * @param {Attribute[]} attributes
 * @returns {bigint[]} Some of them where they are more than a domain may have.
 */
export function combinationsOf(places, attributes) {
  // Routers outside of the block decide as well: what is added is visited in its turn.
  const concerned = new Set(places);
  for (const place of concerned) concerned.add(attributes[place].router ?? place);
  const bit = (/** @type {number} */ place) => 1n << BigInt(place);
  // A state has the lanes so far, and in its low bits which of the later follow-ups are asked. There are never more of them than
  // combinations in the end.
  let states = new Set([0n]);
  attributes.forEach(({ k, asking, categories }, place) => {
    const lane = lanesOf(places, { [place]: 1 }) << 256n;
    const steps = Array.from({ length: k }, (_, code) =>
      [...concerned].reduce((step, other) => {
        const { router, asking: after } = attributes[other];
        return router === place && after?.has(categories[code]) ? step + bit(other) : step;
      }, lane * BigInt(code)),
    );
    const unasked = asking && new Set(steps.splice(-1));
    const asked = new Set(steps);
    const next = new Set();
    for (const state of states) {
      const own = state & bit(place);
      for (const step of own ? asked : (unasked ?? asked)) next.add(state - own + step);
      if (next.size > K_MAX) break;
    }
    states = next;
  });
  return [...states].map((state) => state >> 256n).sort((a, b) => (a < b ? -1 : 1));
}

/**
 * The combination of some questions' codes, in lanes.
 *
 * @param {number[]} places
 * @param {Readonly<Record<number, number>>} codes By place; absent ones are 0.
 */
export const lanesOf = (places, codes) => places.reduce((lanes, place) => (lanes << 16n) + BigInt(codes[place] ?? 0), 0n);
