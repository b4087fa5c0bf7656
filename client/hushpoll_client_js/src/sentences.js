/**
 * The sentences that tell a respondent what perturbed answers reveal: in English word for word those of
 * `hushpoll_client/device/sentences.py`, whose tests compute each number from the enumerated law of every protocol.
 */

import { oddsFactor, posteriorBounds } from "./odds.js";
import { questionLevel, surveyLevel } from "./protection.js";
import { ENGLISH } from "./words.js";

/** @typedef {import("./words.js").Words} Words */

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

const MILLION = 1_000_000n;

/**
 * How well the answer to a question is protected.
 *
 * @param {bigint} units Epsilon in units of 10^-12; of a router with those of the follow-ups that tell about its answer.
 * @param {Words} [words]
 * @param {boolean} [router] Whether there are such follow-ups.
 * @returns {Protection}
 */
export function protectionOfQuestion(units, words = ENGLISH, router = false) {
  const level = questionLevel(units);
  return {
    level,
    words: words.say(`level.question.${level}`),
    limit: limit(units, router ? "limit.router" : "limit.question", words),
    changes: changes(units, words),
  };
}

/**
 * How well the answers of a block of several questions are protected.
 *
 * @param {bigint} units As for `protectionOfQuestion`.
 * @param {number} count Of its questions.
 * @param {Words} [words]
 * @param {boolean} [router]
 * @returns {Protection}
 */
export function protectionOfBlock(units, count, words = ENGLISH, router = false) {
  const level = questionLevel(units);
  return {
    level,
    words: words.say(`level.block.${level}`, { count }),
    limit: limit(units, router ? "limit.block.router" : "limit.block", words),
    changes: changes(units, words),
  };
}

/**
 * How well all answers together are protected, by the epsilons of the questions.
 *
 * @param {readonly bigint[]} parts In units of 10^-12.
 * @param {Words} [words]
 * @param {readonly bigint[]} [reach] Of routers with the follow-ups that tell about their answers.
 * @returns {Protection}
 */
export function protectionOfSurvey(parts, words = ENGLISH, reach = []) {
  const level = surveyLevel(parts, reach);
  const total = parts.reduce((sum, part) => sum + part, 0n);
  return {
    level,
    words: words.say(`level.survey.${level}`),
    limit: limit(total, "limit.survey", words),
    changes: changes(total, words),
  };
}

/**
 * How often what is sent is, or points at, the true answer: exact for every answer.
 *
 * @param {number} k
 * @param {import("./disclosure.js").Disclosure} disclosure
 * @param {Words} [words]
 * @param {"truth" | "truth.block" | "truth.number"} [key] Whether it is of an answer, of those of a block, or of what stands for a number.
 */
export function truthSentence(k, { truth, supportSize }, words = ENGLISH, key = "truth") {
  const chance = words.high(thousandths(truth));
  if (supportSize === undefined) return words.say(`${key}.among_any`, { k, chance });
  return supportSize === 1 ? words.say(key, { k, chance }) : words.say(`${key}.among`, { size: supportSize, k, chance });
}

/**
 * How often the best guess is right under its assumption, a uniform prior.
 *
 * @param {number} k
 * @param {import("./disclosure.js").Disclosure} disclosure
 * @param {Words} [words]
 * @param {number} [count] Questions that are answered by one of the k values.
 * @param {number} [answers] Of a number how many there are; the best guess is one of its anchors.
 */
export function guessSentence(k, { bestGuess, hashed }, words = ENGLISH, count = 1, answers = k) {
  // Rounded down: what the record adds to a guess is not to look smaller than it is.
  const blind = words.low(Math.floor(1000 / answers));
  const values = { k: answers, count, chance: words.high(thousandths(guessAmong(bestGuess, k, answers))), blind };
  const key = count > 1 ? "guess.block" : "guess";
  // A hash puts several answers into one group, and how much a record reveals depends on the groups.
  return words.say(hashed ? `${key}.hashed` : key, values);
}

/**
 * The chance of the best guess of one of k categories as that of one of more answers, rounded up to 12 places.
 *
 * @param {string} bestGuess
 * @param {number} k
 * @param {number} answers
 */
export function guessAmong(bestGuess, k, answers) {
  const [part, all] = [BigInt(bestGuess.replace(".", "")) * BigInt(k), BigInt(answers)];
  const units = String((part + all - 1n) / all).padStart(13, "0");
  return `${units.slice(0, -12)}.${units.slice(-12)}`;
}

/**
 * e^epsilon in words, rounded up: such as 1.5, 20, 3,000 or "more than a million".
 *
 * @param {bigint} units Epsilon in units of 10^-12.
 * @param {Words} [words]
 */
export function factor(units, words = ENGLISH) {
  const whole = oddsFactor(units);
  if (whole > MILLION) return words.say("factor.beyond");
  if (whole > 100n) {
    const unit = 10n ** BigInt(String(whole).length - 2);
    return words.factor(((whole + unit - 1n) / unit) * unit);
  }
  if (whole > 10n) return words.factor(whole);
  const parts = whole === 2n ? 100n : 10n;
  return words.factor(Number(oddsFactor(units, parts)) / Number(parts));
}

/**
 * @param {bigint} units
 * @param {"limit.question" | "limit.router" | "limit.block" | "limit.block.router" | "limit.survey"} key
 * @param {Words} words
 */
const limit = (units, key, words) =>
  words.say(oddsFactor(units) > MILLION ? `${key}.beyond` : key, { factor: factor(units, words) });

/** @type {[number, number][]} Parts in a whole: 1 in 10, 1 in 2 and 9 in 10. */
const BELIEFS = [
  [1, 10],
  [1, 2],
  [9, 10],
];

/** @param {bigint} units @param {Words} words @returns {Change[]} */
const changes = (units, words) =>
  BELIEFS.map(([part, whole]) => {
    const [low, high] = posteriorBounds([BigInt(part), BigInt(whole)], units).map(Number);
    return {
      before: words.say("belief", { part, whole }),
      prior: (1000 * part) / whole,
      low,
      high,
      range: words.say("range", { low: words.low(low), high: words.high(high) }),
    };
  });

/** A chance of 12 decimal places in thousandths, rounded up. @param {string} chance */
const thousandths = (chance) => Number((BigInt(chance.replace(".", "")) + 10n ** 9n - 1n) / 10n ** 9n);
