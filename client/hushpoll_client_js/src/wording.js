/**
 * What a respondent reads of a survey, in its own language and in each translation.
 *
 * A translation changes words alone. The code of an answer is its place in the domain, which is the same in every language.
 */

import { checkKeys, LIST, MAPPING, matching, must, obey, shape, text } from "./rules.js";

/** @typedef {import("./published.js").Published} Published */
/** @typedef {import("./attribute.js").Attribute} Attribute */
/** @typedef {import("./rules.js").Rule} Rule */

export const LANGUAGE = matching(/^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/, "a language such as de or pt-BR");
export const CATEGORY = text(200);
/** Label of a follow-up's last category, in every survey and language. */
export const NOT_ASKED = "not asked";
export const TITLE = text(200);
export const QUESTION = text(1000);
export const SECTION = text(200);
export const DESCRIPTION = text(5000, /\n/g);
export const PURPOSE = text(2000, /\n/g);

/** @type {Rule} */
const FILLED = [(value) => MAPPING[0](value) && Object.keys(value).length > 0, "a filled object"];

const PARTS = { title: TITLE, "description?": DESCRIPTION, "purpose?": PURPOSE, "sections?": FILLED, "attributes?": FILLED };
const QUESTION_PARTS = { "question?": QUESTION, "categories?": LIST, "missing?": CATEGORY };

/**
 * Refuse translations that are incomplete or translate what the survey does not have: a respondent reads one language.
 *
 * @param {Record<string, any>} survey As it was read, with its attributes.
 * @throws {import("./errors.js").InvalidParameter} Naming the language and the field.
 */
export function checkTranslations({ translations, language, description, purpose, attributes }) {
  if (translations === undefined) return;
  obey(translations, "translations", FILLED);
  const languages = Object.entries(translations);
  must(languages.length <= 100 && languages.every(([tag]) => LANGUAGE[0](tag)), "translations", Object.keys(translations), LANGUAGE[1]);
  must(language !== undefined, "language", language, "given");
  for (const [tag, value] of languages) {
    const where = `translations[${tag}]`;
    must(tag !== language, where, tag, "another language");
    const read = shape(value, where, PARTS);
    both(description, read.description, `${where}.description`);
    both(purpose, read.purpose, `${where}.purpose`);
    checkSections(new Map(Object.entries(read.sections ?? {})), attributes, where);
    checkQuestions(new Map(Object.entries(read.attributes ?? {})), attributes, where);
  }
}

/**
 * @param {Map<string, unknown>} sections
 * @param {readonly Attribute[]} attributes
 * @param {string} where
 */
function checkSections(sections, attributes, where) {
  const own = new Set(attributes.flatMap(({ section }) => section ?? []));
  for (const name of [...new Set([...own, ...sections.keys()])].sort()) {
    const path = `${where}.sections[${name}]`.slice(0, 200);
    both(own.has(name) ? name : undefined, sections.get(name), path);
    obey(sections.get(name), path, SECTION);
  }
}

/**
 * @param {Map<string, any>} questions
 * @param {readonly Attribute[]} attributes
 * @param {string} where
 */
function checkQuestions(questions, attributes, where) {
  for (const [name, words] of questions) checkKeys(words, `${where}.attributes[${name}]`.slice(0, 200), QUESTION_PARTS);
  for (const name of questions.keys()) {
    must(attributes.some((attribute) => attribute.name === name), `${where}.attributes`, name, "an attribute of the survey");
  }
  for (const { name, question, missing, categories: own, ask_if: condition } of attributes) {
    const path = `${where}.attributes[${name}]`;
    if (questions.has(name)) obey(questions.get(name), path, FILLED);
    const read = shape(questions.get(name) ?? {}, path, QUESTION_PARTS);
    both(question, read.question, `${path}.question`);
    both(missing, read.missing, `${path}.missing`);
    /** @type {string[]} */
    const categories = read.categories ?? own;
    must(categories.length === own.length, `${path}.categories`, categories.length, `${own.length}, in the same order`);
    categories.forEach((category, code) => {
      obey(category, `${path}.categories[${code}]`, CATEGORY);
    });
    const called = [categories, read.missing ?? [], condition ? NOT_ASKED : []].flat();
    must(new Set(called).size === called.length, `${path}.categories`, called, "different");
  }
}

/** @param {unknown} own @param {unknown} words @param {string} path */
function both(own, words, path) {
  must((own === undefined) === (words === undefined), path, words, own === undefined ? "left out" : "translated");
}

/**
 * The survey as a respondent reads it in one language: the same codes, protocols and digest under other words.
 *
 * @template {Published} P
 * @param {P} published
 * @param {string} [language] One of its languages; its own if none is named.
 * @returns {P}
 */
export function inLanguage(published, language) {
  const words = language === undefined ? undefined : new Map(Object.entries(published.translations ?? {})).get(language);
  if (!words) return published;
  const { title, description, purpose } = words;
  const questions = new Map(Object.entries(words.attributes ?? {}));
  const sections = new Map(Object.entries(words.sections ?? {}));
  return {
    ...published,
    title,
    description,
    purpose,
    attributes: published.attributes.map((attribute) => {
      const { question, missing, categories } = questions.get(attribute.name) ?? {};
      return {
        ...attribute,
        question,
        missing,
        domain: [categories ?? attribute.categories, missing ?? [], attribute.ask_if ? NOT_ASKED : []].flat(),
        section: attribute.section === undefined ? undefined : sections.get(attribute.section),
      };
    }),
  };
}
