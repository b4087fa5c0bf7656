/** The step before sending: shows what leaves in clear, what leaves randomised, and what that reveals. */

import { CLEAR_HINT, READING, THIS_SURVEY_ALONE } from "../sentences.js";
import { byId, element } from "./elements.js";
import { legend, picture } from "./picture.js";

/**
 * @param {import("../preview.js").Preview} shown
 * @param {{answers: Record<string, string | null>, skipped: Set<string>}} own What the respondent has answered; it is on this
 *   page alone.
 * @param {string} spent Epsilon that this device has spent on other surveys.
 * @param {number} [person] Who has spent it, where several people may answer on this device.
 */
export function showReview({ notices, clear, perturbed, protection, epsilon, digest, recordSize }, { answers, skipped }, spent, person) {
  const spender = person === undefined ? "This device" : `Person ${person}`;
  byId("review-notices").replaceChildren(...notices.map((words) => paragraph(words)));
  byId("review-clear").replaceChildren(
    element("h3", {}, clear.length ? "Sent as you answered" : "No answer is sent in clear"),
    ...(clear.length
      ? [
          element("p", {}, "The survey's operator can read these answers."),
          element("dl", {}, ...clear.flatMap((line) => [
            element("dt", {}, line.question ?? line.name),
            element("dd", {}, line.answer ?? "", ...(skipped.has(line.name) ? [own(" (you skipped this question)")] : [])),
          ])),
          paragraph(CLEAR_HINT),
        ]
      : []),
  );
  byId("review-together").replaceChildren(
    element("h3", {}, "Randomised on this device, before anything is sent"),
    element("p", { class: "soft legend" }, "You answered as follows. What is sent for these questions is randomised."),
    element("dl", {}, ...perturbed.flatMap(({ name, question }) => [
      element("dt", {}, question ?? name),
      element("dd", {}, answers[name] ?? "", ...(skipped.has(name) ? [own(" (you skipped this question; this is randomised in its place)")] : [])),
    ])),
    element("h4", {}, "All randomised answers together"),
    paragraph(protection.words),
    paragraph(protection.limit),
    picture(protection.changes, "all that is sent of your randomised answers"),
    legend(),
    paragraph(READING),
    paragraph(THIS_SURVEY_ALONE),
  );
  byId("review-perturbed").replaceChildren(
    element("h3", {}, "Each randomised answer by itself"),
    ...perturbed.flatMap((line) => [
      element("h4", {}, line.question ?? line.name),
      paragraph(line.protection.words),
      paragraph(line.truth),
      paragraph(line.protection.limit),
      picture(line.protection.changes, "what is sent for this question"),
      paragraph(line.guess),
      element("p", { class: "soft" }, `${line.protocol}, epsilon ${line.epsilon}`),
    ]),
  );
  byId("review-cost").replaceChildren(
    element("h3", {}, "Privacy loss"),
    element("p", {}, `Privacy loss (epsilon) of this survey: at most ${epsilon}. ` +
      (spent === "0" ? `${spender} has spent none before.` : `${spender} has spent ${spent} on surveys before.`)),
    element("p", {}, `${recordSize === 1 ? "1 byte is" : `${recordSize} bytes are`} sent, whatever the answers are, and a random number to tell a repeat by.`),
    element("p", { class: "digest" }, "Survey digest: ", element("code", {}, digest)),
  );
}

/** @param {string} words */
const own = (words) => element("span", { class: "own" }, words);

/** @param {string} words */
const paragraph = (words) => element("p", {}, words);
