/**
 * Follow-ups: questions that are asked only after some answers to an earlier question, the router. A follow-up has one more category,
 * the last, for all who are not asked it.
 */

import { must } from "./core.js";

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
    const { categories = [], oracle, block, number } = attributes[place] ?? {};
    const asking = new Set(/** @type {string[]} */ ([labels].flat()));
    must(
      format > 1 &&
        !others[0] &&
        !number &&
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
