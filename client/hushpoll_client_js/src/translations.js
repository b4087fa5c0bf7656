/** Translations of a survey, which are complete or refused; loaded where a manifest has some. */

import { CATEGORY, checkKeys, DESCRIPTION, HELP, LANGUAGE, LIST, MAPPING, must, NOT_ASKED, obey, PURPOSE, QUESTION, SECTION, shape, text, THANKS, TITLE } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */
/** @typedef {import("./rules.js").Rule} Rule */

/** @type {Rule} */
const FILLED = [(value) => MAPPING[0](value) && Object.keys(value).length > 0, "a filled object"];

const PARTS = { title: TITLE, "description?": DESCRIPTION, "purpose?": PURPOSE, "thanks?": THANKS, "logo?": text(200), "sections?": FILLED, "attributes?": FILLED, "selects?": FILLED, "select_help?": FILLED, "matrices?": FILLED };
const QUESTION_PARTS = { "question?": QUESTION, "categories?": LIST, "missing?": CATEGORY, "unit?": text(40), "help?": HELP, "ends?": LIST };

/**
 * Refuse translations that are incomplete or translate what the survey does not have: a respondent reads one language.
 *
 * @param {Record<string, any>} survey As it was read, with its attributes.
 * @throws {import("./errors.js").InvalidParameter} Naming the language and the field.
 */
export function checkTranslations({ translations, language, description, purpose, thanks, logo, attributes, selects = [], matrices = [] }) {
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
    both(thanks, read.thanks, `${where}.thanks`);
    both(logo?.alt, read.logo, `${where}.logo`);
    checkSections(new Map(Object.entries(read.sections ?? {})), attributes, where);
    checkQuestions(new Map(Object.entries(read.attributes ?? {})), attributes, where);
    ofGroups(selects, "question", read.selects, `${where}.selects`, QUESTION);
    ofGroups(matrices, "question", read.matrices, `${where}.matrices`, QUESTION);
    ofGroups(selects, "help", read.select_help, `${where}.select_help`, HELP);
  }
}

/**
 * Refuse texts of select-alls or matrices that are translated and not there, or there and not translated.
 *
 * @param {readonly any[]} groups
 * @param {string} key Which of their texts.
 * @param {Record<string, unknown>} words By the name of the group.
 * @param {string} where
 * @param {Rule} rule
 */
function ofGroups(groups, key, words = {}, where, rule) {
  const own = new Map(groups.map((group) => [group?.name, group?.[key]]));
  const translated = new Map(Object.entries(words));
  for (const name of [...new Set([...own.keys(), ...translated.keys()])].sort()) {
    const path = `${where}[${name}]`.slice(0, 200);
    both(own.get(name), translated.get(name), path);
    if (translated.has(name)) obey(translated.get(name), path, rule);
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
  for (const { name, question, missing, categories: own, ask_if: condition, number, help, ends } of attributes) {
    const path = `${where}.attributes[${name}]`;
    if (questions.has(name)) obey(questions.get(name), path, FILLED);
    const read = shape(questions.get(name) ?? {}, path, QUESTION_PARTS);
    both(question, read.question, `${path}.question`);
    both(missing, read.missing, `${path}.missing`);
    both(help, read.help, `${path}.help`);
    both(ends, read.ends, `${path}.ends`);
    const different = !read.ends || (read.ends.length === 2 && read.ends[0] !== read.ends[1]);
    must(different, `${path}.ends`, read.ends, "two different texts");
    for (const [place, end] of Object.entries(read.ends ?? [])) obey(end, `${path}.ends[${place}]`, CATEGORY);
    must(!read.unit || number?.unit, `${path}.unit`, read.unit, "left out");
    must(!number || !read.categories, `${path}.categories`, read.categories, "left out");
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
