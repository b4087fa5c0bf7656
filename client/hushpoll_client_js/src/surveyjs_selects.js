/** A SurveyJS checkbox or tagbox that answers a select-all: its limits, and the options that its choices are. */

import { refuse } from "./surveyjs_refusals.js";

/** @typedef {import("./selects.js").Selection} Selection */
/** @typedef {import("./attribute.js").Attribute} Attribute */

/** Types of questions that give several answers. */
export const SEVERAL = ["checkbox", "tagbox"];

/**
 * Check that a question gives nothing but selections within the limits, and return what it gives.
 *
 * @param {any} question
 * @param {Selection} select
 * @param {ReadonlyMap<string, Attribute>} attributes By name.
 * @param {boolean} hidden Whether a rule may hide the question.
 * @returns {{attribute: string, answer: () => string[]}}
 * @throws {import("./errors.js").InvalidParameter} Naming the question.
 */
export function selectField(question, { name, attributes: options, at_least: least, at_most: most }, attributes, hidden) {
  const texts = options.map((option) => attributes.get(option)?.question ?? option);
  const own = question.name;
  const categories = new Map(Object.entries(question.hushpollCategories ?? {}));
  const meant = (/** @type {unknown} */ value) => categories.get(String(value)) ?? String(value);
  const offered = question.choices.map((/** @type {any} */ { value }) => meant(value));
  for (const text of new Set([...texts, ...offered])) {
    const times = offered.filter((/** @type {string} */ one) => one === text).length;
    if (!texts.includes(text)) refuse(own, `offers ${JSON.stringify(text)}, which is no option of ${name}; translate it in hushpollCategories`);
    if (times !== 1) refuse(own, `offers ${JSON.stringify(text)} ${times} times; each option of ${name} is one choice`);
  }
  const { choicesVisibleIf, choicesEnableIf, choices } = question;
  const ruled = choicesVisibleIf || choicesEnableIf || choices.some((/** @type {any} */ one) => one.visibleIf || one.enableIf);
  if (ruled) refuse(own, "hides some of its choices; show all of them, since an option that is not offered is not one that does not apply");
  if (question.valuePropertyName) refuse(own, "keeps its values as objects; leave valuePropertyName out");
  for (const key of ["showRefuseItem", "showDontKnowItem"]) {
    if (question[key]) refuse(own, `offers a refusal, and ${name} has no missing category; switch ${key} off`);
  }
  if (question.showNoneItem && least) refuse(own, `offers none of its choices, and ${name} wants ${least} at least; switch showNoneItem off`);
  if (hidden) refuse(own, `can be hidden, and ${name} has no missing category; show it always`);
  const few = question.minSelectedChoices ?? 0;
  if (least && (few < least || !question.isRequired)) refuse(own, `may give fewer than ${least}; set minSelectedChoices to ${least} and isRequired`);
  const many = question.maxSelectedChoices || choices.length;
  if (many > most) refuse(own, `may give more than ${most}; set maxSelectedChoices to ${most}`);
  const answer = () => {
    const none = question.showNoneItem ? String(question.noneItem.value) : undefined;
    const chosen = [question.value ?? []].flat().map(String).filter((value) => value !== none);
    return chosen.map(meant);
  };
  return { attribute: name, answer };
}
