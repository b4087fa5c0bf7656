/** What a question of a SurveyJS survey must not do, for its answers to be categories: refused when attaching, by name. */

import { InvalidParameter } from "./errors.js";

/**
 * What a marked question must not have, and what to do about it.
 *
 * @type {readonly [(question: any) => unknown, string][]}
 */
const UNMAPPABLE = [
  [
    ({ hasOther, hasComment, choices }) =>
      hasOther || hasComment || choices?.some((/** @type {any} */ item) => item.showCommentArea || item.hasElements),
    "takes free text beside its choices; switch that off (showOtherItem, showCommentArea, elements of a choice)",
  ],
  [({ allowCustomChoices }) => allowCustomChoices, "takes choices that respondents add; switch allowCustomChoices off"],
  [
    ({ choicesByUrl, choicesLazyLoadEnabled }) => (choicesByUrl && !choicesByUrl.isEmpty) || choicesLazyLoadEnabled,
    "takes its choices from a server, which may give others than the survey has; write them as choices",
  ],
  [
    ({ choicesFromQuestion }) => choicesFromQuestion,
    "takes its choices from another question; write them as choices, and hide some by choicesVisibleIf",
  ],
  [({ isMultiSelect, rows }) => isMultiSelect && rows, "takes several answers in each row; set cellType to radio"],
  [
    ({ setValueExpression, defaultValueExpression }) => setValueExpression || defaultValueExpression,
    "takes its value from an expression (setValueExpression, defaultValueExpression), which may give what is no category; leave that out",
  ],
  [
    ({ choices = [], columns = [], rateValues = [] }) =>
      [...choices, ...columns, ...rateValues].some((item) => Object(item.value) === item.value),
    "has a choice whose value is an object; give each a text or a number",
  ],
];

/**
 * Refuse a marked question whose answers may be no categories.
 *
 * @param {any} question
 */
export function refuseUnmappable(question) {
  for (const [has, words] of UNMAPPABLE) {
    if (has(question)) refuse(question.name, words);
  }
}

/**
 * Refuse a survey in which something else sets a marked question, or copies its answer to where it stays in clear.
 *
 * @param {any} survey
 * @param {readonly any[]} marked
 * @param {readonly any[]} unsent
 */
export function refuseCopies(survey, marked, unsent) {
  const isOne = (/** @type {readonly any[]} */ questions, /** @type {string | undefined} */ path) =>
    questions.find((question) => [question.name, keyOf(question)].includes(String(path).split(".")[0]));
  const mentioned = (/** @type {string[]} */ ...expressions) =>
    marked.find((question) =>
      [question.name, keyOf(question)].some((name) => expressions.join(" ").toLowerCase().includes(`{${name.toLowerCase()}`)),
    );
  for (const trigger of survey.triggers) {
    const { setToName, fromName, runExpression = "" } = trigger;
    const set = setToName && isOne(marked, setToName);
    if (set) refuse(set.name, "is set by a trigger, which may give what is no category; leave the trigger out");
    const copied = isOne(marked, fromName) ?? mentioned(runExpression);
    const kept = setToName && isOne(unsent, setToName);
    if (copied && kept) refuse(kept.name, `is unsent, and a trigger would keep the answer to ${copied.name} in it; leave the trigger out`);
  }
  for (const question of unsent) {
    const { name, expression = "", setValueExpression = "", defaultValueExpression = "" } = question;
    const shared = marked.find((other) => keyOf(other) === keyOf(question));
    if (shared) refuse(name, `is unsent, and shares its value with ${shared.name}; give it a valueName of its own`);
    const copied = mentioned(expression, setValueExpression, defaultValueExpression);
    if (copied) refuse(name, `is unsent, and its expression would keep the answer to ${copied.name}; leave that out, or do not list it`);
  }
}

/**
 * Where a survey keeps a question's value.
 *
 * @param {any} question
 * @returns {string}
 */
export const keyOf = (question) => question.valueName || question.name;

/**
 * @param {string} question
 * @param {string} words
 * @returns {never}
 */
export function refuse(question, words) {
  throw new InvalidParameter(`question ${question} ${words}`, { field: question });
}
