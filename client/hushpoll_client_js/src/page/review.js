/** The step before sending: shows what leaves in clear, what leaves randomised, and what that reveals. */

import { byId, element } from "./elements.js";
import { namedOptions } from "../preview.js";
import { SELECTED } from "../wording.js";
import { legend, picture } from "./picture.js";
import { surveyText, words } from "./words.js";

/** Answers in clear up to which their questions have two lines; of more they have one. */
const FEW = 6;

/**
 * @param {import("../preview.js").Preview} shown
 * @param {{answers: Record<string, string | null>, skipped: Set<string>, asked: Set<string>}} own What the respondent has answered; it is on this
 *   page alone.
 * @param {string} spent Epsilon that this device has spent on other surveys.
 * @param {number} [person] Who has spent it, where several people may answer on this device.
 */
export function showReview({ notices, clear, perturbed, draws, protection, epsilon, digest, recordSize }, { answers, skipped, asked }, spent, person) {
  byId("review-notices").replaceChildren(...notices.map((notice) => paragraph(notice)));
  byId("review-clear").replaceChildren(
    ...(clear.length
      ? [
          element("h3", {}, words.say("review.clear")),
          paragraph(words.say("review.readable")),
          // Long questions are cut until the list is touched; the answers beside them are not.
          element("dl", { class: clear.length > FEW ? "many" : "", tabindex: "0" }, ...clear.flatMap((line) => [
            surveyText("dt", line.question ?? line.name),
            answer(line.selectAll || asked.has(line.name) ? line.answer : undefined, skipped.has(line.name) && "review.skipped"),
          ])),
          paragraph(words.say("clear_hint")),
        ]
      : [element("h3", {}, words.say("review.no_clear"))]),
  );
  byId("review-together").replaceChildren(
    element("h3", {}, words.say("review.perturbed")),
    fold(words.say("review.own"), element("p", { class: "soft" }, words.say("review.answers")), ...Object.values(draws).map((sentence) => paragraph(sentence)), element("dl", {}, ...perturbed.flatMap(({ name, question, questions, selectAll }) => selectAll
      ? [
          surveyText("dt", question ?? name),
          element("dd", {}, chosenOf(questions, answers)),
        ]
      : questions.flatMap(({ name, question }) => [
          surveyText("dt", question ?? name),
          answer(answers[name], skipped.has(name) && "review.skipped_randomised"),
        ])))),
    ...(notices.includes(protection.words) ? [] : [paragraph(protection.words)]),
    paragraph(protection.limit),
    picture(protection.changes, words.say("beliefs.all")),
    fold(words.say("review.reading"), legend(), paragraph(words.say("reading")), paragraph(words.say("this_survey_alone"))),
  );
  byId("review-perturbed").replaceChildren(
    fold(element("h3", {}, words.say("review.each")), ...perturbed.flatMap((line, at) => [
      ...drawBefore(line, perturbed[at - 1], perturbed, draws),
      ...(line.questions.length > 1
        ? [line.selectAll ? surveyText("h4", line.question ?? line.name) : element("h4", {}, line.title), ...(line.selectAll ? [paragraph(line.title)] : []), element("ul", {}, ...line.questions.map(({ name, question }) => surveyText("li", question ?? name)))]
        : [surveyText("h4", line.title)]),
      ...line.followUps.map((sentence) => paragraph(sentence)),
      ...(line.drawn === undefined ? [] : [paragraph(line.drawn)]),
      paragraph(line.protection.words),
      ...(line.number === undefined ? [] : [paragraph(line.number)]),
      paragraph(line.truth),
      paragraph(line.protection.limit),
      picture(line.protection.changes, words.say(line.questions.length > 1 ? "beliefs.block" : "beliefs.question")),
      paragraph(line.guess),
      element("p", { class: "soft" }, words.say("review.protocol", { protocol: line.protocol, epsilon: words.decimal(line.epsilon) })),
    ])),
  );
  byId("review-cost").replaceChildren(
    paragraph(`${words.say("review.epsilon", { epsilon: words.decimal(epsilon) })} ${spentBefore(spent, person)}`),
    fold(words.say("review.more"),
      paragraph(words.say("take_back")),
      paragraph(words.say("review.bytes", { count: recordSize })),
      element("p", { class: "digest" }, ...words.parts("review.digest", { digest: element("code", {}, digest) })),
    ),
  );
}

/**
 * What is said of a draw before the first of its blocks: its questions, and that some of them are sent.
 *
 * @param {import("../preview.js").Perturbed} line
 * @param {import("../preview.js").Perturbed | undefined} before
 * @param {readonly import("../preview.js").Perturbed[]} perturbed
 * @param {Record<string, string>} draws
 */
function drawBefore({ draw }, before, perturbed, draws) {
  if (draw === undefined || before?.draw === draw) return [];
  const questions = perturbed.filter((line) => line.draw === draw).flatMap((line) => line.questions);
  return [paragraph(draws[draw]), element("ul", {}, ...questions.map(({ name, question }) => surveyText("li", question ?? name)))];
}

/** @param {string} spent @param {number} [person] */
function spentBefore(spent, person) {
  const key = spent === "0" ? "review.unspent" : "review.spent";
  const values = { spent: words.decimal(spent) };
  return person === undefined ? words.say(key, values) : words.say(`${key}.person`, { ...values, person });
}

/**
 * @param {string | null | undefined} text Nothing where the question was not asked.
 * @param {false | "review.skipped" | "review.skipped_randomised"} skipped
 */
const answer = (text, skipped) =>
  element("dd", {}, text == null ? words.say("not_asked") : surveyText("span", text), ...(skipped ? [" ", element("span", { class: "own" }, words.say(skipped))] : []));

/**
 * The options that apply.
 *
 * @param {{name: string, question: string | undefined}[]} questions
 * @param {Record<string, string | null>} answers
 */
function chosenOf(questions, answers) {
  const chosen = questions.filter(({ name }) => answers[name] === SELECTED);
  return chosen.length ? surveyText("span", namedOptions(chosen, words)) : words.say("none_selected");
}

/** @param {Node | string} summary @param {...Node} children */
const fold = (summary, ...children) => element("details", {}, element("summary", {}, summary), ...children);

/** @param {string} text */
const paragraph = (text) => element("p", {}, text);
