/**
 * Matrices: questions with one scale, shown as the rows of a table under a question of its own. They are loaded where a manifest has one.
 *
 * A matrix changes what is shown and nothing of what is randomised: its items are attributes like others.
 */

import { GIVEN, LIST, must, NAME, obey, QUESTION, shape } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * A matrix.
 *
 * @typedef {object} Matrix
 * @property {string} name
 * @property {string[]} attributes Its items, in order.
 * @property {string} [question] What is asked of all.
 * @property {{last?: number}} [shuffle] That the order of the items is drawn; how many of the last keep their place.
 */

/** What the items of a matrix have in common. */
const SHARED = /** @type {const} */ (["role", "categories", "missing", "scale", "ends", "help", "section", "ask_if"]);

/**
 * Refuse matrices whose items are not questions with one scale that stand together, or are a part of something else.
 *
 * @param {Record<string, any>} read The manifest.
 * @param {readonly Attribute[]} attributes
 * @throws {import("./errors.js").InvalidParameter} Naming the matrix or the item.
 */
export function checkMatrices({ matrices, selects = [], together = [], draws = [], translations = {} }, attributes) {
  must(matrices.length, "matrices", matrices, "filled");
  const taken = new Set([...attributes, ...selects, ...draws].map(({ name }) => name));
  const owned = new Set(selects.flatMap((/** @type {{attributes: string[]}} */ select) => select.attributes));
  matrices.forEach((/** @type {any} */ value, /** @type {number} */ place) => {
    obey(value?.name, `matrices[${place}].name`, NAME);
    const where = `matrices[${value.name}]`;
    /** @type {Matrix} */
    const read = /** @type {any} */ (shape(value, where, { name: NAME, attributes: LIST, "question?": QUESTION, "shuffle?": GIVEN }));
    const { name, attributes: names } = read;
    const block = together.find((/** @type {{name: string}} */ one) => one.name === name);
    must(!taken.has(name) && (!block || same(block.attributes, names)), `${where}.name`, name, "a new name");
    taken.add(name);
    const first = attributes.findIndex((attribute) => attribute.name === names[0]);
    const items = attributes.slice(Math.max(first, 0), first + names.length);
    const free = items.every((item) => !owned.has(item.name));
    must(names.length > 1 && free && same(items.map((item) => item.name), names), `${where}.attributes`, names, "its items in order");
    for (const item of items) {
      owned.add(item.name);
      const path = `attributes[${item.name}]`;
      for (const key of SHARED) must(same(item[key], items[0][key]), `${path}.${key}`, item[key], "that of the other items");
      must(!Object.keys(item.ask_if ?? {}).some((router) => names.includes(router)), `${path}.ask_if`, item.ask_if, "outside its matrix");
      must(item.question !== undefined, `${path}.question`, item.question, "given");
      for (const key of /** @type {const} */ (["number", "shuffle"])) must(!item[key], `${path}.${key}`, item[key], "left out");
      must(item.role !== "target", `${path}.role`, item.role, "another");
      for (const [tag, words] of Object.entries(translations)) {
        for (const key of ["categories", "missing", "help", "ends"]) {
          const [own, other] = [item, items[0]].map((one) => new Map(Object.entries(Object(words).attributes ?? {})).get(one.name)?.[key]);
          must(same(own, other), `translations[${tag}].attributes[${item.name}].${key}`, own, "that of the other items");
        }
      }
    }
  });
}

/** @param {unknown} a @param {unknown} b */
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
