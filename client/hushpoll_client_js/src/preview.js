/** What would leave the device, before anything does: clear answers first. */

import { codeAnswers } from "./codec.js";
import { disclosure } from "./disclosure.js";

/**
 * @typedef {object} Preview
 * @property {{name: string, question: string | undefined, answer: string | undefined}[]} clear Attributes that leave as
 *   they are answered; they can betray randomised ones by correlation.
 * @property {({name: string, question: string | undefined, protocol: string, k: number, epsilon: string} &
 *   import("./disclosure.js").Disclosure)[]} perturbed Attributes that leave randomised.
 * @property {string} epsilon Privacy loss in all, at most.
 * @property {string} digest
 * @property {number} recordSize Bytes of the record, the same for all answers.
 */

/**
 * Describe the report that the answers would become; nothing is randomised.
 *
 * @param {import("./published.js").Published} published
 * @param {import("./codec.js").Answers} [answers] With them, the clear part shows what would be sent.
 * @returns {Preview}
 * @throws {InvalidParameter} If the answers do not fit the survey.
 */
export function preview({ attributes, recordSize, epsilon, digest }, answers) {
  const codes = answers && codeAnswers(attributes, answers);
  return {
    clear: attributes.flatMap(({ name, question, oracle, domain }, at) =>
      oracle ? [] : { name, question, answer: codes && domain[codes[at]] },
    ),
    perturbed: attributes.flatMap(({ name, question, oracle, k, epsilon = "" }) =>
      oracle ? { name, question, protocol: oracle.name, k, epsilon, ...disclosure(oracle) } : [],
    ),
    epsilon,
    digest,
    recordSize,
  };
}

/**
 * The same in words, for a page or a terminal.
 *
 * @param {Preview} shown
 * @returns {string}
 */
export function inWords({ clear, perturbed, epsilon, digest, recordSize }) {
  const label = (/** @type {{name: string, question: string | undefined}} */ { name, question }) =>
    question ? `${name} (${question})` : name;
  return [
    clear.length ? "Sent in clear, readable by the survey's operator:" : "Nothing is sent in clear.",
    ...clear.map((one) => `  ${label(one)}: ${one.answer ?? "your answer as it is"}`),
    ...(clear.length ? ["  Clear answers can hint at the randomised ones where the two go together."] : []),
    "Randomised on this device before anything is sent:",
    ...perturbed.map(
      (one) =>
        `  ${label(one)}: ${one.protocol} with epsilon ${one.epsilon}. The best guess from what is sent is right ` +
        `${percent(one.bestGuess)} of the time, a blind guess among ${one.k} answers ${percent(1 / one.k)}; whatever is ` +
        `sent, no answer becomes more likely than ${percent(one.largestPosterior)}.`,
    ),
    `  Privacy loss in all: at most epsilon ${epsilon}.`,
    `The record has ${recordSize} bytes whatever the answers are.`,
    `Survey digest: ${digest}`,
  ].join("\n");
}

/** Rounded up: words may overstate what is revealed, never understate it. */
export const percent = (/** @type {string | number} */ chance) => `${(Math.ceil(Number(chance) * 1000 - 1e-9) / 10).toFixed(1)} %`;
