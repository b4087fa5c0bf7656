/**
 * What a respondent reads of a survey, in its own language and in each translation.
 *
 * A translation changes words alone. The code of an answer is its place in the domain, which is the same in every language.
 */

import { matching, text } from "./rules.js";

/** @typedef {import("./published.js").Published} Published */

export const LANGUAGE = matching(/^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|\d{3}))?$/, "a language such as de or pt-BR");
export const CATEGORY = text(200);
/** Label of a follow-up's last category, in every survey and language. */
export const NOT_ASKED = "not asked";
/** What an option of a select-all is in every survey and language, where it applies. */
export const SELECTED = "selected";
export const TITLE = text(200);
export const QUESTION = text(1000);
export const SECTION = text(200);
export const HELP = text(1000, /\n/g);
export const DESCRIPTION = text(5000, /\n/g);
export const PURPOSE = text(2000, /\n/g);

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
  const asked = new Map(Object.entries(words.selects ?? {}));
  const helps = new Map(Object.entries(words.select_help ?? {}));
  return {
    ...published,
    title,
    description,
    purpose,
    selects: published.selects?.map((select) => ({ ...select, question: asked.get(select.name), help: helps.get(select.name) })),
    attributes: published.attributes.map((attribute) => {
      const { question, missing, categories, unit, help } = questions.get(attribute.name) ?? {};
      return {
        ...attribute,
        question,
        missing,
        help,
        ...(attribute.number && unit ? { number: { ...attribute.number, unit } } : {}),
        domain: [categories ?? attribute.categories, missing ?? [], attribute.ask_if ? NOT_ASKED : []].flat(),
        section: attribute.section === undefined ? undefined : sections.get(attribute.section),
      };
    }),
  };
}
