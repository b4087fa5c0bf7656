/**
 * The sentences that tell a respondent what perturbed answers reveal: word for word those of
 * `hushpoll_client/device/sentences.py`, whose tests compute each number from the enumerated law of every protocol.
 */

import { oddsFactor, posteriorBounds } from "./odds.js";
import { questionLevel, surveyLevel } from "./protection.js";

/** @typedef {import("./exponential.js").Rational} Rational */

/**
 * How far a belief can move.
 *
 * @typedef {object} Change
 * @property {string} before Such as "1 in 10".
 * @property {number} prior The same in thousandths.
 * @property {number} low Smallest probability afterwards in thousandths, rounded down.
 * @property {number} high Largest, rounded up.
 * @property {string} range Both in words.
 */

/**
 * How well one answer, or all of them together, are protected.
 *
 * @typedef {object} Protection
 * @property {import("./protection.js").Level} level
 * @property {string} words The level as a sentence.
 * @property {string} limit By which factor the odds of anything can change at most, as a sentence.
 * @property {Change[]} changes What that does to three beliefs.
 */

export const BARS =
  "Each bar is about something that a person thinks possible of you. # is how likely it seemed before: 1 in 10, 1 in 2 " +
  "or 9 in 10. + is how much likelier it can seem at most to a person who has seen what is sent.";
export const READING =
  "Odds compare a chance with the chance of the opposite: 1 in 10 is odds of 1 to 9. All figures are rounded so that " +
  "they overstate what is revealed.";
export const CLEAR_HINT =
  "None of the figures below covers these answers, and they can hint at the randomised ones where the two go together.";
export const THIS_SURVEY_ALONE = "This counts this survey alone. What you tell other surveys adds to it.";
export const RELEASED_AT_ONCE =
  "This survey gives reports to its analysts soon after they arrive. An analyst who asks before and after yours " +
  "arrives can tell it from the others: what is sent, answers in clear included, and when.";

const QUESTION_WORDS = [
  "This answer is strongly protected.",
  "This answer is protected to a limited degree.",
  "This answer is weakly protected: what is sent can say a lot about it.",
  "This answer is hardly protected: treat it as if it were sent as it is.",
];
const SURVEY_WORDS = [
  "Your randomised answers are strongly protected.",
  "Your randomised answers are protected to a limited degree.",
  "Protection is weak: what is sent can say a lot about you.",
  "Your answers are hardly protected: treat them as if they were sent as they are.",
];
const MILLION = 1_000_000n;

/**
 * How well the answer to a question is protected, by its own epsilon.
 *
 * @param {bigint} units Epsilon in units of 10^-12.
 * @returns {Protection}
 */
export function protectionOfQuestion(units) {
  const level = questionLevel(units);
  return {
    level,
    words: QUESTION_WORDS[level],
    limit: limit(
      units,
      "By itself, it changes the odds of anything about you by at most a factor of ",
      "The limit on how far it alone changes the odds of anything about you is a factor of ",
    ),
    changes: changes(units),
  };
}

/**
 * How well all answers together are protected, by the epsilons of the questions.
 *
 * @param {readonly bigint[]} parts In units of 10^-12.
 * @returns {Protection}
 */
export function protectionOfSurvey(parts) {
  const level = surveyLevel(parts);
  const total = parts.reduce((sum, part) => sum + part, 0n);
  return {
    level,
    words: SURVEY_WORDS[level],
    limit: limit(
      total,
      "Whatever a person knew or thought before, your randomised answers change the odds of anything about you by at " +
        "most a factor of ",
      "Whatever a person knew or thought before, the limit on how far your randomised answers change the odds of " +
        "anything about you is a factor of ",
    ),
    changes: changes(total),
  };
}

/**
 * That analysts may be given few reports at once, among which one stands out.
 *
 * @param {number} minimumBatch
 */
export const smallBatchSentence = (minimumBatch) =>
  `This survey may give its analysts as few as ${minimumBatch} new reports at once; among so few, yours can stand out.`;

/**
 * How often what is sent is, or points at, the true answer: exact for every answer.
 *
 * @param {number} k
 * @param {import("./disclosure.js").Disclosure} disclosure
 */
export const truthSentence = (k, { truth, supportSize }) =>
  supportSize === 1
    ? `What is sent is your true answer with a chance of ${high(thousandths(truth))}.`
    : `What is sent points at ${supportSize ?? "some, all or none"} of the ${k} answers, and with a chance of ` +
      `${high(thousandths(truth))} your true answer is among them.`;

/**
 * How often the best guess is right under its assumption, a uniform prior.
 *
 * @param {number} k
 * @param {import("./disclosure.js").Disclosure} disclosure
 */
export function guessSentence(k, { bestGuess, hashed }) {
  const chance = high(thousandths(bestGuess));
  // A hash puts several answers into one group, and how much a record reveals depends on the groups.
  const right = hashed ? `at most ${chance}, whatever hash is drawn` : chance;
  return (
    `If the ${k} answers were equally likely beforehand, the best guess from what is sent would be right with a chance ` +
    `of ${right}; without it, ${high(Math.ceil(1000 / k))}.`
  );
}

/**
 * e^epsilon in words, rounded up: such as 1.5, 20, 3,000 or "more than a million".
 *
 * @param {bigint} units Epsilon in units of 10^-12.
 */
export function factor(units) {
  const whole = oddsFactor(units);
  if (whole > MILLION) return "more than a million";
  if (whole > 100n) {
    const unit = 10n ** BigInt(String(whole).length - 2);
    return String(((whole + unit - 1n) / unit) * unit).replace(/\B(?=(\d{3})+$)/g, ",");
  }
  if (whole > 10n) return String(whole);
  const parts = whole === 2n ? 100n : 10n;
  return String(Number(oddsFactor(units, parts)) / Number(parts));
}

/** @param {bigint} units @param {string} sentence @param {string} beyond */
function limit(units, sentence, beyond) {
  const spelled = factor(units);
  return `${spelled.startsWith("more") ? beyond : sentence}${spelled}.`;
}

/** @type {[string, Rational][]} */
const BELIEFS = [
  ["1 in 10", [1n, 10n]],
  ["1 in 2", [1n, 2n]],
  ["9 in 10", [9n, 10n]],
];

/** @param {bigint} units @returns {Change[]} */
const changes = (units) =>
  BELIEFS.map(([before, prior]) => {
    const [smallest, largest] = posteriorBounds(prior, units).map(Number);
    return {
      before,
      prior: Number((1000n * prior[0]) / prior[1]),
      low: smallest,
      high: largest,
      range: `${low(smallest)} to ${high(largest)}`,
    };
  });

/** A chance that was rounded up. @param {number} chance In thousandths. */
const high = (chance) => (chance >= 1000 ? "nearly 100 %" : `${(chance / 10).toFixed(1)} %`);

/** A chance that was rounded down. @param {number} chance In thousandths. */
const low = (chance) => (chance <= 0 ? "nearly 0 %" : `${(chance / 10).toFixed(1)} %`);

/** A chance of 12 decimal places in thousandths, rounded up. @param {string} chance */
const thousandths = (chance) => Number((BigInt(chance.replace(".", "")) + 10n ** 9n - 1n) / 10n ** 9n);
