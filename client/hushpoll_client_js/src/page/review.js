/** The step before sending: shows what leaves in clear, what leaves randomised, and what that reveals. */

import { byId, element } from "./elements.js";
import { legend, picture } from "./picture.js";
import { surveyText, words } from "./words.js";

/**
 * @param {import("../preview.js").Preview} shown
 * @param {{answers: Record<string, string | null>, skipped: Set<string>, asked: Set<string>}} own What the respondent has answered; it is on this
 *   page alone.
 * @param {string} spent Epsilon that this device has spent on other surveys.
 * @param {number} [person] Who has spent it, where several people may answer on this device.
 */
export function showReview({ notices, clear, perturbed, protection, epsilon, digest, recordSize }, { answers, skipped, asked }, spent, person) {
  byId("review-notices").replaceChildren(...notices.map((notice) => paragraph(notice)));
  byId("review-clear").replaceChildren(
    element("h3", {}, words.say(clear.length ? "review.clear" : "review.no_clear")),
    ...(clear.length
      ? [
          paragraph(words.say("review.readable")),
          element("dl", {}, ...clear.flatMap((line) => [
            surveyText("dt", line.question ?? line.name),
            answer(asked.has(line.name) ? line.answer : undefined, skipped.has(line.name) && "review.skipped"),
          ])),
          paragraph(words.say("clear_hint")),
        ]
      : []),
  );
  byId("review-together").replaceChildren(
    element("h3", {}, words.say("review.perturbed")),
    element("p", { class: "soft legend" }, words.say("review.answers")),
    element("dl", {}, ...perturbed.flatMap(({ questions }) => questions).flatMap(({ name, question }) => [
      surveyText("dt", question ?? name),
      answer(answers[name], skipped.has(name) && "review.skipped_randomised"),
    ])),
    element("h4", {}, words.say("review.together")),
    paragraph(protection.words),
    paragraph(protection.limit),
    picture(protection.changes, words.say("beliefs.all")),
    legend(),
    paragraph(words.say("reading")),
    paragraph(words.say("this_survey_alone")),
  );
  byId("review-perturbed").replaceChildren(
    element("h3", {}, words.say("review.each")),
    ...perturbed.flatMap((line) => [
      ...(line.questions.length > 1
        ? [element("h4", {}, line.title), element("ul", {}, ...line.questions.map(({ name, question }) => surveyText("li", question ?? name)))]
        : [surveyText("h4", line.title)]),
      ...line.followUps.map((sentence) => paragraph(sentence)),
      paragraph(line.protection.words),
      ...(line.number === undefined ? [] : [paragraph(line.number)]),
      paragraph(line.truth),
      paragraph(line.protection.limit),
      picture(line.protection.changes, words.say(line.questions.length > 1 ? "beliefs.block" : "beliefs.question")),
      paragraph(line.guess),
      element("p", { class: "soft" }, words.say("review.protocol", { protocol: line.protocol, epsilon: words.decimal(line.epsilon) })),
    ]),
  );
  byId("review-cost").replaceChildren(
    element("h3", {}, words.say("review.loss")),
    paragraph(`${words.say("review.epsilon", { epsilon: words.decimal(epsilon) })} ${spentBefore(spent, person)}`),
    paragraph(words.say("review.bytes", { count: recordSize })),
    element("p", { class: "digest" }, ...words.parts("review.digest", { digest: element("code", {}, digest) })),
  );
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

/** @param {string} text */
const paragraph = (text) => element("p", {}, text);
