/**
 * Select all that apply: several attributes that are one question. It is loaded where a manifest has one.
 *
 * Each option is an attribute with the answers `not selected` and `selected`. The options are one block, whose domain is the selections
 * within the limits, or are randomised apart, with an even part each of what the split gives to the question, or are a draw of its own.
 */

import { formatDecimal, GIVEN, HELP, integer, InvalidParameter, K_MAX, LIST, must, NAME, obey, parseDecimal, QUESTION, SELECTED, shape, shown, splitBudget } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */
/** @typedef {import("./blocks.js").Together} Together */
/** @typedef {import("./published.js").Published} Published */

/**
 * A select-all question.
 *
 * @typedef {object} Selection
 * @property {string} name
 * @property {string[]} attributes Its options, in order.
 * @property {number} at_least Fewest options that are named.
 * @property {number} at_most Most.
 * @property {string} [question] What is asked.
 * @property {string} [help] What the respondent reads below it.
 * @property {{last?: number}} [shuffle] That the order of the options is drawn; how many of the last keep their place.
 */

const NOT_SELECTED = "not selected";

const OPTION = JSON.stringify([NOT_SELECTED, SELECTED]);
const MOST_OPTIONS = 52;

/**
 * Check the select-alls, and give the blocks of their options the selections within the limits.
 *
 * @param {unknown[]} list
 * @param {Attribute[]} attributes
 * @param {Together[]} together
 * @throws {InvalidParameter} Naming the question.
 */
export function checkSelects(list, attributes, together) {
  must(list.length, "selects", list, "filled");
  const taken = new Set(attributes.map(({ name }) => name));
  list.forEach((/** @type {any} */ value, at) => {
    obey(value?.name, `selects[${at}].name`, NAME);
    const where = `selects[${value.name}]`;
    const m = value.attributes?.length;
    /** @type {Selection} */
    const read = /** @type {any} */ (
      shape(value, where, {
        name: NAME,
        attributes: LIST,
        at_least: integer(0, m - 1),
        at_most: integer(Math.max(value.at_least, 1), m),
        "question?": QUESTION,
        "help?": HELP,
        // Read by presentation.js.
        "shuffle?": GIVEN,
      })
    );
    const { name, attributes: names } = read;
    must(!taken.has(name), `${where}.name`, name, "a new name");
    taken.add(name);
    const field = `${where}.attributes`;
    const first = attributes.findIndex((attribute) => attribute.name === names[0]);
    const options = attributes.slice(Math.max(first, 0), first + m);
    must(
      m > 1 && options.length === m && names.every((option, place) => option === `${name}_${place + 1}` && options[place].name === option),
      field,
      names,
      "its options in order",
    );
    for (const { name: option, role, categories, question, missing, scale, positive, ask_if: condition, help, ends, shuffle, block } of options) {
      const plain = [missing, scale, positive, condition, help, ends, shuffle].every((one) => one === undefined);
      must(
        plain && JSON.stringify(categories) === OPTION && question !== undefined && role === options[0].role && role !== "target",
        `attributes[${option}]`,
        categories,
        "an option: a question, not selected and selected",
      );
      must(!block || block === name, field, block, "in their own block");
    }
    const own = together.find((block) => block.name === name);
    if (!own) return;
    must(JSON.stringify(own.attributes) === JSON.stringify(names), field, own.attributes, "all in one block");
    own.within = selections(read, options.length, own.where);
  });
}

/**
 * Check that options are in no draw but one of the question's name, which has all of them in order.
 *
 * @param {readonly Selection[]} selects
 * @param {readonly import("./codec.js").Field[]} fields
 * @throws {InvalidParameter} Naming the draw.
 */
export function checkDrawn(selects, fields) {
  for (const { name, attributes } of selects) {
    for (const { name: block, draw } of fields) {
      const own = draw?.name === name;
      const fits = own ? attributes.length === draw.count && attributes[draw.at] === block : !draw || !attributes.includes(block);
      must(fits, `${draw?.where}.blocks`, block, "all options of a select-all in a draw of its name, or none");
    }
  }
}

/**
 * The selections within limits, as codes in lanes of 16 bits, increasing.
 *
 * @param {Selection} select
 * @param {number} m
 * @param {string} where
 */
function selections({ at_least: least, at_most: most }, m, where) {
  const few = `at most ${MOST_OPTIONS} options and ${K_MAX} selections`;
  must(m <= MOST_OPTIONS, `${where}.attributes`, m, few);
  /** @type {[bigint, number][]} */
  let begun = [[0n, 0]];
  for (let left = m; left; left--) {
    // Each that is begun can be completed, so there are never more of them than in the end.
    begun = begun.flatMap(([lanes, size]) =>
      [0, 1]
        .filter((code) => size + code <= most && size + code + left > least)
        .map((code) => /** @type {[bigint, number]} */ ([(lanes << 16n) + BigInt(code), size + code])),
    );
    must(begun.length <= K_MAX, `${where}.attributes`, m, few);
  }
  return begun.map(([lanes]) => lanes);
}

/**
 * Divide epsilon where a question whose options are apart is one entry of the split.
 *
 * @param {readonly Selection[]} selects
 * @returns {typeof splitBudget}
 */
export const dividing = (selects) => (total, split, perturbed) => {
  const owners = new Map(selects.flatMap((select) => select.attributes.map((option) => [option, select])));
  const entries = new Map(
    perturbed.map((field) => {
      const name = owners.get(field.name)?.name ?? field.name;
      return [name, { ...field, name }];
    }),
  );
  const parts = splitBudget(total, split, [...entries.values()]);
  const divided = new Map([...entries.keys()].map((name, at) => [name, parts[at]]));
  return perturbed.map(({ name }) => {
    const owner = owners.get(name);
    const part = divided.get(owner?.name ?? name) ?? 0n;
    return owner ? parseDecimal(formatDecimal(part / BigInt(owner.attributes.length)), `attributes[${name}].epsilon`) : part;
  });
};

/**
 * Answers with those to select-alls as answers to their options. Errors name the question, never an answer.
 *
 * @param {Pick<Published, "attributes" | "selects">} published
 * @param {import("./codec.js").Answers} answers A list of options for a select-all; or the answers to its options.
 * @returns {Record<string, string | number | null | undefined>}
 * @throws {InvalidParameter}
 */
export function spreadAnswers({ attributes, selects = [] }, answers) {
  const given = new Map(Object.entries(answers));
  for (const { name, attributes: options, at_least: least, at_most: most } of selects) {
    const texts = options.map((option) => attributes.find((attribute) => attribute.name === option)?.question ?? option);
    const refuse = (/** @type {string} */ words) => {
      throw new InvalidParameter(`the answer to ${name} ${words}; give a list of ${least} to ${most} of ${texts.slice(0, 12).map(shown)}`, {
        field: name,
      });
    };
    const apart = options.some((option) => given.has(option));
    if (given.has(name) === apart) refuse(apart ? "is given twice, by its options too" : "is missing");
    if (!apart) {
      const list = /** @type {unknown[]} */ (given.get(name));
      given.delete(name);
      if (!Array.isArray(list)) refuse("is no list");
      const place = (/** @type {unknown} */ one) =>
        typeof one === "string" || Number.isSafeInteger(one) ? texts.indexOf(String(one).normalize()) : -1;
      const chosen = new Set(list.map(place));
      if (chosen.has(-1) || chosen.size < list.length) refuse("has an entry that is unknown or there twice");
      options.forEach((option, place) => given.set(option, chosen.has(place) ? SELECTED : NOT_SELECTED));
    }
    const count = options.filter((option) => given.get(option) === SELECTED).length;
    if (count < least || count > most) refuse("has too few or too many options");
  }
  return /** @type {any} */ (Object.fromEntries(given));
}
