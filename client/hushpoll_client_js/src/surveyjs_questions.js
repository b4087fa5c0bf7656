/** Which question of a SurveyJS survey answers which attribute, and what its value is called there. */

import { InvalidParameter } from "./errors.js";
import { checkConditions, writeConditions } from "./surveyjs_conditions.js";
import { refuse, refuseCopies, refuseUnmappable } from "./surveyjs_refusals.js";
import { SEVERAL, selectField } from "./surveyjs_selects.js";

/** @typedef {import("./published.js").Published} Published */
/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * @typedef {object} AskedField
 * @property {string} attribute Its name.
 * @property {() => string | null | string[]} answer The category chosen now; null if it was not asked, or not answered; of a select-all the
 *   options that are chosen.
 */

/** Types of questions that ask for one of a few answers. */
const SINGLE = ["radiogroup", "dropdown", "boolean", "rating"];
/** The type that asks for a number. */
const NUMBER = "text";
const TYPES = [...SINGLE, NUMBER, "matrix", "checkbox"];

/** SurveyJS's own choices: what shows one, and what it is. */
const SPECIAL = /** @type {const} */ ([
  ["showNoneItem", "noneItem"],
  ["showRefuseItem", "refuseItem"],
  ["showDontKnowItem", "dontKnowItem"],
]);

/**
 * @param {any} survey A model of survey-core.
 * @param {Published} published
 * @param {readonly string[]} unsent
 * @returns {AskedField[]} One for each attribute.
 * @throws {InvalidParameter} Naming the question or the attribute.
 */
export function fieldsOf(survey, published, unsent) {
  /** @type {import("./surveyjs_conditions.js").Marked[]} */
  const parts = [];
  const attributes = new Map(published.attributes.map((attribute) => [attribute.name, attribute]));
  const selects = new Map((published.selects ?? []).map((select) => [select.name, select]));
  /** @type {AskedField[]} */
  const fields = [];
  const marked = [];
  for (const question of survey.getAllQuestions()) {
    const { name, hushpoll } = question;
    if (hushpoll === undefined || hushpoll === null) {
      if (question.hasInput !== false && question.getType() !== "html" && !unsent.includes(name)) {
        refuse(name, "has no mark; name its attribute as hushpoll, or list it as unsent");
      }
      continue;
    }
    if (unsent.includes(name)) refuse(name, "is marked and listed as unsent; choose one");
    const type = question.getType();
    const select = selects.get(hushpoll);
    if (select) {
      if (!SEVERAL.includes(type)) refuse(name, `is of type ${type}, and ${hushpoll} takes several answers; use ${SEVERAL.join(" or ")}`);
      refuseUnmappable(question);
      fields.push(selectField(question, select, attributes, mayBeHidden(question, /** @type {any} */ ({}))));
      selects.delete(hushpoll);
      for (const option of select.attributes) attributes.delete(option);
      marked.push(question);
      continue;
    }
    const typed = type === NUMBER && !published.attributes.some((one) => one.name === hushpoll && one.number);
    if (typed || !TYPES.includes(type)) {
      refuse(name, `is of type ${type}, whose answers are free or too many; use ${TYPES.join(", ")}, of which ${NUMBER} is for numbers`);
    }
    refuseUnmappable(question);
    const matrix = published.matrices?.find((one) => one.name === hushpoll);
    if (matrix && type !== "matrix") refuse(name, `is of type ${type}, and ${hushpoll} is a matrix; use matrix, or mark a question as each of its items`);
    const marks = matrix ? rowsOf(question, matrix, published) : [...SINGLE, NUMBER].includes(type) ? { "": hushpoll } : hushpoll;
    if (typeof marks !== "object" || !Object.values(marks).every((mark) => typeof mark === "string")) {
      refuse(name, `must name one attribute for each ${type === "matrix" ? "row" : "choice"}, as an object`);
    }
    for (const [part, attribute] of Object.entries(/** @type {Record<string, string>} */ (marks))) {
      const declared = attributes.get(attribute);
      if (!declared) return refuse(name, `is marked as ${attribute}, which the survey has not, or which is asked twice`);
      if (declared.number && type !== NUMBER) {
        const { low, high } = declared.number;
        refuse(name, `is of type ${type}, and ${attribute} is a number; use ${NUMBER} with inputType number, min ${low} and max ${high}`);
      }
      attributes.delete(attribute);
      parts.push(partOf(question, part, declared));
      fields.push(READERS[type](question, part, declared));
    }
    for (const { value } of [...SINGLE, NUMBER].includes(type) ? [] : type === "matrix" ? question.rows : question.choices) {
      if (!Object.hasOwn(marks, String(value))) refuse(name, `names no attribute for ${value}; name one, or leave ${value} out`);
    }
    marked.push(question);
  }
  checkConditions(parts);
  refuseCopies(survey, marked, survey.getAllQuestions().filter((/** @type {any} */ { name }) => unsent.includes(name)));
  for (const option of attributes.keys()) {
    const attribute = [...selects.values()].find((select) => select.attributes.includes(option))?.name ?? option;
    throw new InvalidParameter(`no question is marked as ${attribute}; mark one`, { field: attribute });
  }
  return fields;
}

/**
 * Give each question that answers a follow-up, and has no rule yet, the `visibleIf` by which it is asked.
 *
 * @param {any} survey A model of survey-core, whose questions are marked.
 * @param {Published} published
 */
export function showFollowUps(survey, published) {
  const attributes = new Map(published.attributes.map((attribute) => [attribute.name, attribute]));
  writeConditions(
    survey.getAllQuestions().flatMap((/** @type {any} */ question) => {
      return Object.entries(marksOf(question, published)).flatMap(([part, name]) => {
        const attribute = attributes.get(name);
        return attribute ? partOf(question, part, attribute) : [];
      });
    }),
  );
}

/**
 * The attribute that each part of a question answers: a row of a matrix, a choice, or all of it.
 *
 * @param {any} question
 * @param {Published} published
 * @returns {Record<string, string>}
 */
export function marksOf(question, published) {
  const { hushpoll } = question;
  const matrix = published.matrices?.find((one) => one.name === hushpoll);
  if (matrix && question.getType() === "matrix") return rowsOf(question, matrix, published);
  const select = published.selects?.find((one) => one.name === hushpoll);
  if (select) return Object.fromEntries(select.attributes.map((option) => [option, option]));
  return typeof hushpoll === "string" ? { "": hushpoll } : (hushpoll ?? {});
}

/**
 * The items that the rows of a question are, by the rows' values: a row has an item's name as its value, or its text.
 *
 * @param {any} question
 * @param {import("./matrices.js").Matrix} matrix
 * @param {Published} published
 * @returns {Record<string, string>}
 */
function rowsOf(question, { attributes: items }, { attributes }) {
  const texts = new Map(attributes.map((one) => [one.question, one.name]));
  const named = question.rows.map((/** @type {any} */ { value, text }) => {
    const item = [String(value), texts.get(String(value)), texts.get(text)].find((one) => one && items.includes(one));
    return [String(value), item ?? refuse(question.name, `has the row ${value}, which is no item of ${question.hushpoll}; its items are ${items.join(", ")}: give rows their names as values, or their texts`)];
  });
  return Object.fromEntries(named);
}

/**
 * @param {any} question
 * @param {string} part
 * @param {Attribute} attribute
 */
function partOf(question, part, attribute) {
  const type = question.getType();
  const offered = { matrix: () => question.columns.map((/** @type {any} */ { value }) => value), checkbox: () => [true, false] };
  return { question, part, attribute, mean: meaning(question, attribute), values: (/** @type {any} */ (offered)[type] ?? (() => valuesOf(question)))() };
}

/** @typedef {(question: any, part: string, attribute: Attribute) => AskedField} Reader */

/**
 * What an answer means: a category, null for the missing one, or undefined for what is no answer to this question.
 *
 * @typedef {(value: unknown) => string | null | undefined} Meaning
 */

/** @type {Reader} */
const single = (question, _, attribute) => {
  const mean = meaning(question, attribute);
  const { defaultValue } = question;
  checkOffers(question, attribute, mean, valuesOf(question).concat(isEmpty(defaultValue) ? [] : [defaultValue]));
  checkSpecial(question, attribute, mean);
  const read = () => {
    const { value } = question;
    const meant = isEmpty(value) ? null : mean(value);
    return meant === undefined || isOffered(question, value) ? meant : null;
  };
  return field(question, attribute, read, mayBeSkipped(question, attribute));
};

/** A number that is typed, within the attribute's limits. @type {Reader} */
const number = (question, _, attribute) => {
  const { low, high } = attribute.number ?? {};
  const { inputType, min, max, defaultValue } = question;
  if (inputType !== "number" || Number(min) !== low || Number(max) !== high || isEmpty(min) || isEmpty(max)) {
    refuse(question.name, `answers ${attribute.name}, a whole number from ${low} to ${high}; give it inputType number, min ${low} and max ${high}`);
  }
  const mean = (/** @type {unknown} */ value) => {
    const text = String(value);
    return (attribute.read?.(text) ?? -1) >= 0 && !attribute.domain.slice(attribute.categories.length).includes(text) ? text : undefined;
  };
  if (!isEmpty(defaultValue) && mean(defaultValue) === undefined) {
    refuse(question.name, `has a default value that is no whole number from ${low} to ${high}; correct it, or leave it out`);
  }
  const read = () => (isEmpty(question.value) ? null : mean(question.value));
  return field(question, attribute, read, mayBeSkipped(question, attribute));
};

/** @type {Reader} */
const matrixRow = (question, part, attribute) => {
  const row = question.rows.find((/** @type {any} */ item) => String(item.value) === part);
  if (!row) refuse(question.name, `has no row ${part}; mark the rows that it has`);
  const mean = meaning(question, attribute);
  checkOffers(question, attribute, mean, question.columns.map((/** @type {any} */ { value }) => value));
  const read = () => {
    const shown = question.visibleRows.some((/** @type {any} */ { name }) => String(name) === part);
    const value = shown ? question.value?.[part] : undefined;
    return isEmpty(value) ? null : mean(value);
  };
  const conditional = question.rowsVisibleIf || row.visibleIf || row.enableIf;
  return field(question, attribute, read, mayBeSkipped(question, attribute) || !question.eachRowRequired || conditional);
};

/** @type {Reader} */
const checkboxChoice = (question, part, attribute) => {
  const choice = question.choices.find((/** @type {any} */ item) => String(item.value) === part);
  if (!choice) refuse(question.name, `has no choice ${part}; mark the choices that it has`);
  const mean = meaning(question, attribute);
  checkOffers(question, attribute, mean, [true, false]);
  checkSpecial(question, attribute, mean, "noneItem");
  const key = question.valuePropertyName;
  const known = [...valuesOf(question), ...specialsOf(question).map(({ value }) => value)].map(String);
  const read = () => {
    const ticked = [question.value ?? []].flat().map((value) => String(key ? value?.[key] : value));
    if (!ticked.every((value) => known.includes(value))) return undefined;
    for (const { item, value } of specialsOf(question)) {
      if (!ticked.includes(String(value))) continue;
      // None of these is a "no" to each of them; a refusal is no answer to any.
      return item === "noneItem" && mean(value) === null ? mean(false) : mean(value);
    }
    // Nothing ticked may mean nothing applies: where the attribute has no missing category, it does.
    if (!ticked.length && attribute.missing !== undefined) return null;
    if (!isOffered(question, choice.value)) return null;
    return ticked.includes(part) ? mean(true) : choice.isEnabled === false ? null : mean(false);
  };
  return field(question, attribute, read, mayBeHidden(question, attribute) || isConditional(question, choice));
};

/** @type {Record<string, Reader>} */
const READERS = {
  ...Object.fromEntries(SINGLE.map((type) => [type, single])),
  [NUMBER]: number,
  matrix: matrixRow,
  checkbox: checkboxChoice,
};

/**
 * @param {any} question
 * @param {Attribute} attribute
 * @param {() => string | null | undefined} read What its value means now.
 * @param {unknown} skippable
 * @returns {AskedField}
 */
function field(question, { name, missing }, read, skippable) {
  if (skippable && missing === undefined) {
    refuse(question.name, `can be skipped, and ${name} has no missing category; require it, show it always, or give ${name} one`);
  }
  const answer = () => {
    const meant = question.isVisible && question.isParentVisible ? read() : null;
    // Not with the value, which is an answer.
    if (meant === undefined) refuse(question.name, "has a value that is none of its choices; choose one of them");
    return meant;
  };
  return { attribute: name, answer };
}

/**
 * Refuse a question that offers what is no category.
 *
 * @param {any} question
 * @param {Attribute} attribute
 * @param {Meaning} mean
 * @param {unknown[]} values
 */
function checkOffers(question, { name }, mean, values) {
  for (const value of [...values, ...specialsOf(question).map((special) => special.value)]) {
    if (mean(value) === undefined) {
      refuse(question.name, `offers ${JSON.stringify(value)}, which is no category of ${name}; translate it in hushpollCategories`);
    }
  }
}

/**
 * Refuse a question that offers a refusal where no category stands for it.
 *
 * @param {any} question
 * @param {Attribute} attribute
 * @param {Meaning} mean
 * @param {string} [harmless] A choice that means something here.
 */
function checkSpecial(question, { name, missing }, mean, harmless) {
  for (const { shown, item, value } of specialsOf(question)) {
    if (missing === undefined && item !== harmless && mean(value) === null) {
      refuse(
        question.name,
        `offers ${JSON.stringify(value)}, and ${name} has no missing category; give it one, translate the choice in hushpollCategories, or switch ${shown} off`,
      );
    }
  }
}

/**
 * What values mean: what `hushpollCategories` says, or the category of this text; true and false may also be yes and no. A choice of
 * SurveyJS's own that is none of these is no answer.
 *
 * @param {any} question
 * @param {Attribute} attribute
 * @returns {Meaning}
 */
function meaning(question, { domain: all, asking }) {
  const domain = asking ? all.slice(0, -1) : all;
  const categories = new Map(Object.entries(question.hushpollCategories ?? {}));
  return (value) => {
    const text = String(value);
    const words = typeof value === "boolean" && !domain.includes(text) ? (value ? "yes" : "no") : text;
    const category = categories.has(text) ? categories.get(text) : words;
    if (domain.includes(category)) return category;
    const special = specialsOf(question).some((one) => String(one.value) === text);
    return special && !categories.has(text) ? null : undefined;
  };
}

/** @param {any} question */
const specialsOf = (question) =>
  SPECIAL.flatMap(([shown, item]) => (question[shown] ? [{ shown, item, value: question[item].value }] : []));

/** @param {any} question @returns {unknown[]} */
function valuesOf(question) {
  const { choices, choicesMin, choicesMax, choicesStep } = question;
  switch (question.getType()) {
    case "boolean":
      return [question.getValueTrue(), question.getValueFalse()];
    case "rating":
      return question.visibleRateValues.map((/** @type {any} */ { value }) => value);
    case NUMBER:
      return [];
    default: {
      const values = choices.map((/** @type {any} */ { value }) => value);
      // A dropdown's numbers, which are not among its choices.
      if (choicesMax > choicesMin) for (let value = choicesMin; value <= choicesMax; value += choicesStep || 1) values.push(value);
      return values;
    }
  }
}

/** @param {unknown} value */
const isEmpty = (value) => value === undefined || value === null || value === "";

/**
 * Whether a choice is shown now; other types of questions show all of theirs.
 *
 * @param {any} question
 * @param {unknown} value
 */
const isOffered = ({ visibleChoices }, value) =>
  !visibleChoices || visibleChoices.some((/** @type {any} */ item) => String(item.value) === String(value));

/**
 * Whether a rule may hide a choice, or keep it from being ticked.
 *
 * @param {any} question
 * @param {any} choice
 */
const isConditional = ({ choicesVisibleIf, choicesEnableIf }, { visibleIf, enableIf }) =>
  Boolean(choicesVisibleIf || choicesEnableIf || visibleIf || enableIf);

/** @param {any} question @param {Attribute} attribute */
function mayBeSkipped(question, attribute) {
  const { survey, requiredIf } = question;
  for (let part = question; part; part = part.parent) if (part.readOnly || part.enableIf) return true;
  // What completes a survey early does not ask whether the rest is answered.
  const early = survey.timeLimit > 0 || survey.timeLimitPerPage > 0 || survey.readOnly;
  const jumps = survey.triggers.some((/** @type {any} */ trigger) => ["completetrigger", "skiptrigger"].includes(trigger.getType()));
  return Boolean(!question.isRequired || requiredIf || early || jumps || mayBeHidden(question, attribute));
}

/** @param {any} question @param {Attribute} attribute */
function mayBeHidden(question, { asking }) {
  const { survey, hideIfChoicesEmpty, choices = [] } = question;
  if (hideIfChoicesEmpty && choices.every((/** @type {any} */ choice) => isConditional(question, choice))) return true;
  const shown = survey.triggers.flatMap((/** @type {any} */ { pages = [], questions = [] }) => [...pages, ...questions]);
  // The question, and the panels and the page that it is on.
  for (let part = question; part; part = part.parent) {
    // The rule of a follow-up is checked, and not asked is one of its answers.
    const ruled = !(asking && part === question) && (part.visibleIf || part.visible === false);
    if (ruled || shown.includes(part.name)) return true;
  }
  return false;
}
