/** Which question of a SurveyJS survey answers which attribute, and what its value is called there. */

import { InvalidParameter } from "./errors.js";

/** @typedef {import("./published.js").Published} Published */
/** @typedef {import("./codec.js").Field} Attribute */

/**
 * @typedef {object} AskedField
 * @property {string} attribute Its name.
 * @property {() => string | null} answer The category chosen now; null if it was not asked, or not answered.
 */

/** Types of questions that ask for one of a few answers. */
const SINGLE = ["radiogroup", "dropdown", "boolean", "rating"];
const TYPES = [...SINGLE, "matrix", "checkbox"];

/**
 * @param {any} survey A model of survey-core.
 * @param {Published} published
 * @param {readonly string[]} unsent
 * @returns {AskedField[]} One for each attribute.
 * @throws {InvalidParameter} Naming the question or the attribute.
 */
export function fieldsOf(survey, published, unsent) {
  const attributes = new Map(published.attributes.map((attribute) => [attribute.name, attribute]));
  /** @type {AskedField[]} */
  const fields = [];
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
    if (!TYPES.includes(type)) {
      refuse(name, `is of type ${type}, whose answers are free or too many; use ${TYPES.join(", ")}`);
    }
    for (const wish of ["hasOther", "hasComment"]) {
      if (question[wish]) refuse(name, "takes free text beside its choices; switch that off");
    }
    const marks = SINGLE.includes(type) ? { "": hushpoll } : hushpoll;
    if (typeof marks !== "object" || !Object.values(marks).every((mark) => typeof mark === "string")) {
      refuse(name, `must name one attribute for each ${type === "matrix" ? "row" : "choice"}, as an object`);
    }
    for (const [part, attribute] of Object.entries(/** @type {Record<string, string>} */ (marks))) {
      const declared = attributes.get(attribute);
      if (!declared) return refuse(name, `is marked as ${attribute}, which the survey has not, or which is asked twice`);
      attributes.delete(attribute);
      fields.push(READERS[type](question, part, declared));
    }
  }
  for (const attribute of attributes.keys()) {
    throw new InvalidParameter(`no question is marked as ${attribute}; mark one`, { field: attribute });
  }
  return fields;
}

/** @typedef {(question: any, part: string, attribute: Attribute) => AskedField} Reader */

/** @type {Reader} */
const single = (question, _, attribute) => {
  const values = valuesOf(question);
  return field(question, attribute, values, () => question.value, mayBeSkipped(question));
};

/** @type {Reader} */
const matrixRow = (question, row, attribute) => {
  if (!question.rows.some((/** @type {any} */ item) => String(item.value) === row)) {
    refuse(question.name, `has no row ${row}; mark the rows that it has`);
  }
  const values = question.columns.map((/** @type {any} */ column) => column.value);
  const skipped = mayBeSkipped(question) || !question.eachRowRequired || Boolean(question.rowsVisibleIf);
  return field(question, attribute, values, () => question.value?.[row], skipped);
};

/** @type {Reader} */
const checkboxChoice = (question, choice, attribute) => {
  const chosen = question.choices.find((/** @type {any} */ item) => String(item.value) === choice)?.value;
  if (chosen === undefined) refuse(question.name, `has no choice ${choice}; mark the choices that it has`);
  // Nothing ticked may mean nothing applies: where the attribute has no missing category, it does.
  const read = () => {
    const { value } = question;
    if (!value?.length && attribute.missing !== undefined) return undefined;
    return (value ?? []).includes(chosen);
  };
  return field(question, attribute, [true, false], read, mayBeHidden(question));
};

/** @type {Record<string, Reader>} */
const READERS = {
  ...Object.fromEntries(SINGLE.map((type) => [type, single])),
  matrix: matrixRow,
  checkbox: checkboxChoice,
};

/**
 * @param {any} question
 * @param {Attribute} attribute
 * @param {readonly unknown[]} values All that the question can give.
 * @param {() => unknown} read What it gives now; undefined or null if nothing.
 * @param {boolean} skippable
 * @returns {AskedField}
 */
function field(question, { name, domain, missing }, values, read, skippable) {
  const category = translation(question, domain);
  for (const value of values) {
    const translated = category(value);
    if (translated === undefined || !domain.includes(translated)) {
      refuse(question.name, `offers ${JSON.stringify(value)}, which is no category of ${name}; translate it in hushpollCategories`);
    }
  }
  if (skippable && missing === undefined) {
    refuse(question.name, `can be skipped, and ${name} has no missing category; require it, show it always, or give ${name} one`);
  }
  const answer = () => {
    const value = question.isVisible && question.isParentVisible ? read() : undefined;
    return value === undefined || value === null || value === "" ? null : (category(value) ?? null);
  };
  return { attribute: name, answer };
}

/**
 * From a question's value to a category: as `hushpollCategories` says, or the value as text; true and false may also be
 * yes and no.
 *
 * @param {any} question
 * @param {readonly string[]} domain
 * @returns {(value: unknown) => string | undefined}
 */
function translation(question, domain) {
  const categories = new Map(Object.entries(question.hushpollCategories ?? {}));
  return (value) => {
    const text = String(value);
    if (categories.has(text)) return categories.get(text);
    if (domain.includes(text) || typeof value !== "boolean") return text;
    return value ? "yes" : "no";
  };
}

/** @param {any} question */
function valuesOf(question) {
  switch (question.getType()) {
    case "boolean":
      return [question.getValueTrue(), question.getValueFalse()];
    case "rating":
      return question.visibleRateValues.map((/** @type {any} */ item) => item.value);
    default:
      return question.choices.map((/** @type {any} */ item) => item.value);
  }
}

/** @param {any} question */
const mayBeSkipped = (question) => !question.isRequired || mayBeHidden(question);

/** @param {any} element A question, or the panel or page that it is on. */
function mayBeHidden(element) {
  for (let part = element; part; part = part.parent) {
    if (part.visibleIf || part.visible === false) return true;
  }
  return false;
}

/**
 * @param {string} question
 * @param {string} words
 * @returns {never}
 */
function refuse(question, words) {
  throw new InvalidParameter(`question ${question} ${words}`, { field: question });
}
