/** A SurveyJS form of a published survey, with its marks: a page for each section, help texts, ends of scales, drawn orders. */

import { secureBits } from "./bits.js";

/** @typedef {import("./published.js").Published} Published */
/** @typedef {import("./attribute.js").Attribute} Attribute */
/** @typedef {import("./bits.js").Bits} Bits */

/** Choices that are all shown at once; more go into a list. */
const MOST_BUTTONS = 8;
/** Steps of a scale that stand in a row. */
const MOST_STEPS = 11;

/**
 * The JSON of a SurveyJS form that asks what a survey asks, in the survey's words or, of `inLanguage(published, "de")`, in a translation's.
 * `declareMarks` goes before the model is made of it, and `showFollowUps` after.
 *
 * @param {Published} published
 * @param {Published} [shown] The same survey in the language that is shown.
 * @param {Bits} [bits] For the order of answers of which some keep their place; SurveyJS draws other orders itself.
 */
export function formOf(published, shown = published, bits = secureBits) {
  const selects = new Map((published.selects ?? []).map((select, at) => [select.attributes[0], at]));
  const tables = new Map((published.matrices ?? []).map((matrix, at) => [matrix.attributes[0], at]));
  // Those after the first of what is asked as one.
  const later = new Set([...(published.selects ?? []), ...(published.matrices ?? [])].flatMap(({ attributes }) => attributes.slice(1)));
  /** @type {{name: string, title?: string, elements: object[]}[]} */
  const pages = [];
  /** @type {string | undefined} */
  let section;
  shown.attributes.forEach((attribute, at) => {
    if (later.has(attribute.name)) return;
    const [select, table] = [selects, tables].map((places) => places.get(attribute.name));
    if (!pages.length || attribute.section !== section) {
      section = attribute.section;
      pages.push({ name: `page${pages.length + 1}`, ...(section === undefined ? {} : { title: section }), elements: [] });
    }
    const element =
      select !== undefined ? selectOf(published, shown, select, bits)
      : table !== undefined ? tableOf(published, shown, table, bits)
      : questionOf(published.attributes[at], attribute, bits);
    pages[pages.length - 1].elements.push(element);
  });
  const thanks = shown.thanks === undefined ? {} : { completedHtml: `<p>${escaped(shown.thanks).replaceAll("\n", "<br>")}</p>` };
  return { title: shown.title, ...(shown.description === undefined ? {} : { description: shown.description }), showProgressBar: pages.length > 1, ...thanks, pages };
}

/** @param {Attribute} own @param {Attribute} shown @param {Bits} bits */
function questionOf(own, shown, bits) {
  const { name, missing, categories, number, scale, ends, shuffle } = own;
  const common = { name, title: shown.question ?? name, ...(shown.help === undefined ? {} : { description: shown.help }), hushpoll: name, isRequired: missing === undefined };
  if (number) return { ...common, type: "text", inputType: "number", min: number.low, max: number.high };
  const choices = categories.map((value, code) => ({ value, text: shown.domain[code] }));
  if (scale && choices.length <= MOST_STEPS) {
    const [minRateDescription, maxRateDescription] = shown.ends ?? ends ?? [];
    return { ...common, type: "rating", rateValues: choices, ...(minRateDescription === undefined ? {} : { minRateDescription, maxRateDescription }) };
  }
  return { ...common, type: choices.length <= MOST_BUTTONS ? "radiogroup" : "dropdown", ...ordered(choices, shuffle, bits) };
}

/** @param {Published} published @param {Published} shown @param {number} at @param {Bits} bits */
function selectOf(published, shown, at, bits) {
  const select = /** @type {import("./selects.js").Selection[]} */ (published.selects)[at];
  const { question, help } = /** @type {import("./selects.js").Selection[]} */ (shown.selects)[at];
  const texts = (/** @type {Published} */ survey, /** @type {string} */ option) => survey.attributes.find(({ name }) => name === option)?.question ?? option;
  const choices = select.attributes.map((option) => ({ value: texts(published, option), text: texts(shown, option) }));
  const { at_least: least, at_most: most } = select;
  return {
    type: "checkbox",
    name: select.name,
    title: question ?? select.name,
    ...(help === undefined ? {} : { description: help }),
    hushpoll: select.name,
    ...(least ? { isRequired: true, minSelectedChoices: least } : {}),
    ...(most < choices.length ? { maxSelectedChoices: most } : {}),
    ...ordered(choices, select.shuffle, bits),
  };
}

/** @param {Published} published @param {Published} shown @param {number} at @param {Bits} bits */
function tableOf(published, shown, at, bits) {
  const [own, { question }] = [published, shown].map(({ matrices }) => /** @type {import("./matrices.js").Matrix[]} */ (matrices)[at]);
  const of = (/** @type {string} */ item) => shown.attributes.findIndex(({ name }) => name === item);
  const [first, said] = [published, shown].map(({ attributes }) => attributes[of(own.attributes[0])]);
  const { choices: rows, choicesOrder: rowOrder } = ordered(own.attributes.map((value) => ({ value, text: shown.attributes[of(value)].question })), own.shuffle, bits);
  const last = first.categories.length - 1;
  return {
    type: "matrix",
    name: own.name,
    title: question ?? own.name,
    ...(said.help === undefined ? {} : { description: said.help }),
    hushpoll: own.name,
    // SurveyJS has no place for the ends of a table's scale.
    columns: first.categories.map((value, code) => ({ value, text: [said.domain[code], said.ends && { 0: said.ends[0], [last]: said.ends[1] }[code]].filter(Boolean).join(": ") })),
    rows,
    ...(rowOrder ? { rowOrder } : {}),
    ...(first.missing === undefined ? { isRequired: true, eachRowRequired: true } : {}),
  };
}

/**
 * Choices in the manifest's order, in one that SurveyJS draws, or, where some stay last, in one that is drawn here.
 *
 * @param {object[]} choices
 * @param {{last?: number} | undefined} shuffle
 * @param {Bits} bits
 * @returns {{choices: object[], choicesOrder?: string}}
 */
function ordered(choices, shuffle, bits) {
  if (!shuffle) return { choices };
  if (!shuffle.last) return { choices, choicesOrder: "random" };
  const moving = choices.slice(0, choices.length - shuffle.last);
  const drawn = [];
  // The remainder of 64 bits by at most 65,536 is even but for 2^-48.
  while (moving.length) drawn.push(...moving.splice(Number(bits(1)[0] % BigInt(moving.length)), 1));
  return { choices: [...drawn, ...choices.slice(choices.length - shuffle.last)] };
}

/** @param {string} text */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
