/** What would leave the device, before anything does: clear answers first. */

import { codeAnswers } from "./codec.js";
import { disclosure } from "./disclosure.js";
import { WEAK } from "./protection.js";
import { guessAmong, guessSentence, protectionOfBlock, protectionOfQuestion, protectionOfSurvey, truthSentence } from "./sentences.js";
import { ENGLISH } from "./words.js";

/** @typedef {import("./sentences.js").Protection} Protection */
/** @typedef {import("./words.js").Words} Words */

// Minimum batches below this are warned of.
const SMALL_BATCH = 20;

/**
 * A question that leaves randomised, or several of them that leave as one value.
 *
 * @typedef {object} Perturbed
 * @property {string} name The attribute's, or the block's.
 * @property {string | undefined} question Of an attribute alone.
 * @property {{name: string, question: string | undefined}[]} questions All questions that the value answers, in order.
 * @property {string} title What the respondent reads as its heading.
 * @property {string} protocol
 * @property {number} k Number of possible answers, the missing one included; of a block its combinations.
 * @property {string} epsilon Privacy loss charged for it.
 * @property {string} bestGuess Chance that the best guess from what is sent is right, if all answers were equally likely
 *   beforehand; for local hashing an upper bound over the hashes.
 * @property {Protection} protection How far what is sent can move any belief, whatever was known before.
 * @property {string} truth How often what is sent is, or points at, the true answer.
 * @property {string} guess The best guess in words.
 * @property {string | undefined} number Of a number, in words what stands for it before it is randomised.
 * @property {string[]} followUps A sentence for each follow-up among the questions: when it is asked.
 */

/**
 * @typedef {object} Preview
 * @property {string} title
 * @property {string} survey
 * @property {number} version
 * @property {string[]} notices What a respondent should read first; see `notices`.
 * @property {{name: string, question: string | undefined, answer: string | undefined}[]} clear Attributes that leave as
 *   they are answered; they can betray randomised ones by correlation.
 * @property {Perturbed[]} perturbed Attributes that leave randomised.
 * @property {Protection} protection How far all randomised answers together can move any belief.
 * @property {string} epsilon Privacy loss in all, at most.
 * @property {string} digest
 * @property {number} recordSize Bytes of the record, the same for all answers.
 * @property {string | undefined} operator Who asks.
 * @property {string | undefined} purpose What the answers are used for.
 */

/**
 * Describe the report that the answers would become; nothing is randomised.
 *
 * @param {import("./published.js").Published} published
 * @param {import("./codec.js").Answers} [answers] With them, the clear part shows what would be sent.
 * @param {Words} [words] The language of the sentences; English if none is given.
 * @returns {Preview}
 * @throws {InvalidParameter} If the answers do not fit the survey.
 */
export function preview(published, answers, words = ENGLISH) {
  const { attributes, fields, recordSize, epsilon, digest, title, name: survey, version, operator, purpose } = published;
  const codes = answers && codeAnswers(attributes, answers);
  return {
    title,
    survey,
    version,
    notices: notices(published, words),
    clear: attributes.flatMap(({ name, question, oracle, domain }, at) =>
      oracle ? [] : { name, question, answer: codes && domain[codes[at]] },
    ),
    perturbed: fields.flatMap((field) => {
      const { name, places, oracle, k, units, epsilon = "" } = field;
      if (!oracle) return [];
      const reach = reachOf(published, field);
      const router = reach !== units;
      const revealed = disclosure(oracle);
      const count = places.length;
      const questions = places.map((place) => ({ name: attributes[place].name, question: attributes[place].question }));
      const { number, domain, codes: all } = attributes[places[0]];
      const answers = number ? all : k;
      const question = count > 1 ? undefined : questions[0].question;
      return {
        name,
        question,
        questions,
        title: count > 1 ? words.say("block", { count }) : (question ?? name),
        protocol: oracle.name,
        k: answers,
        epsilon,
        bestGuess: number ? guessAmong(revealed.bestGuess, k, answers) : revealed.bestGuess,
        protection: count > 1 ? protectionOfBlock(reach, count, words, router) : protectionOfQuestion(reach, words, router),
        truth: truthSentence(k, revealed, words, number ? "truth.number" : count > 1 ? "truth.block" : "truth"),
        guess: guessSentence(k, revealed, words, count, answers) + (router ? ` ${words.say("guess.apart")}` : ""),
        number: number ? words.say("number", { values: listed(domain) }) : undefined,
        followUps: places.flatMap((place) => followUp(attributes, place, words) ?? []),
      };
    }),
    protection: ofAll(published, words),
    epsilon,
    digest,
    recordSize,
    operator,
    purpose,
  };
}

/**
 * What a respondent should read before anything else, worst first.
 *
 * @param {import("./published.js").Published} published
 * @param {Words} words
 * @returns {string[]}
 */
function notices(published, words) {
  const protection = ofAll(published, words);
  const { release, minimum_batch: least } = published;
  return [
    ...(protection.level >= WEAK ? [protection.words] : []),
    ...(release === "immediate" ? [words.say("released_at_once")] : []),
    ...(least < SMALL_BATCH ? [words.say("small_batch", { count: least })] : []),
  ];
}

/** @param {import("./published.js").Published} published @param {Words} words */
function ofAll(published, words) {
  const perturbed = published.fields.filter(({ oracle }) => oracle);
  return protectionOfSurvey(
    perturbed.map(({ units }) => units),
    words,
    perturbed.map((field) => reachOf(published, field)),
  );
}

/**
 * Epsilon of all that tells about the answers of a field, in units of 10^-12. Whether a follow-up was asked depends on the answer to its
 * router, so what is sent of the follow-up tells about the router as well.
 *
 * @param {import("./published.js").Published} published
 * @param {import("./codec.js").Field} field
 */
function reachOf({ attributes, fields }, { places, name }) {
  const tells = (/** @type {number | undefined} */ place) => {
    for (let at = place; at !== undefined; at = attributes[at].router) if (at !== place && places.includes(at)) return true;
    return false;
  };
  return fields.reduce((sum, other) => (other.oracle && (other.name === name || other.places.some(tells)) ? sum + other.units : sum), 0n);
}

/**
 * When a follow-up is asked, and that its answers are one more.
 *
 * @param {readonly import("./attribute.js").Attribute[]} attributes
 * @param {number} place
 * @param {Words} words
 */
function followUp(attributes, place, words) {
  const { router } = attributes[place];
  if (router === undefined) return undefined;
  const [question, first] = [place, router].map((at) => attributes[at].question ?? attributes[at].name);
  return words.say("follow_up", { question, router: first });
}

/**
 * The same in English words, for a terminal or a page of plain text; the Python SDK's preview says the same.
 *
 * @param {Preview} shown
 * @returns {string}
 */
export function inWords({ title, survey, version, operator, purpose, notices, clear, perturbed, protection, epsilon, digest, recordSize }) {
  const label = (/** @type {{name: string, question: string | undefined}} */ { name, question }) =>
    question ? `${name} (${question})` : name;
  return [
    `${title} (${survey}, version ${version})`,
    ...(operator === undefined ? [] : [`Asked by: ${operator}`]),
    ...(purpose === undefined ? [] : [`Purpose: ${purpose.replaceAll("\n", " ")}`]),
    ...notices,
    "",
    clear.length ? "Sent in clear, readable by the survey's operator:" : "Nothing is sent in clear.",
    ...clear.map((line) => `  ${label(line)}: ${line.answer ?? "your answer as it is"}`),
    ...(clear.length ? [`  ${ENGLISH.say("clear_hint")}`] : []),
    "",
    "Randomised on this device before anything is sent:",
    `  ${ENGLISH.say("legend", { before: "#", after: "+" })}`,
    `  ${ENGLISH.say("reading")}`,
    "",
    "  All of them together",
    `    ${protection.words}`,
    `    ${protection.limit}`,
    ...protection.changes.map((change) => `      ${row(change)}`),
    `    ${ENGLISH.say("this_survey_alone")}`,
    `    Privacy loss in all: at most epsilon ${epsilon}.`,
    ...perturbed.flatMap((line) => [
      "",
      `  ${line.questions.length > 1 ? `${line.title} (${line.name}): ${line.questions.map(label).join(", ")}` : label(line)}`,
      ...line.followUps.map((sentence) => `    ${sentence}`),
      `    ${line.protocol} with epsilon ${line.epsilon}. ${line.protection.words}`,
      ...(line.number === undefined ? [] : [`    ${line.number}`]),
      `    ${line.truth}`,
      `    ${line.protection.limit}`,
      ...line.protection.changes.map((change) => `      ${row(change)}`),
      `    ${line.guess}`,
    ]),
    "",
    `The record has ${recordSize} ${recordSize === 1 ? "byte" : "bytes"} whatever the answers are.`,
    `Survey digest: ${digest}`,
  ].join("\n");
}

/** What may stand for a number, in one line. @param {readonly string[]} domain */
const listed = (domain) => (domain.length > 12 ? [...domain.slice(0, 9), "…", ...domain.slice(-2)] : domain).join(", ");

const BAR = 30;

/** A belief before and after, with its picture. @param {import("./sentences.js").Change} change */
function row({ before, prior, high, range }) {
  const [from, to] = [Math.round((prior * BAR) / 1000), Math.ceil((high * BAR) / 1000)];
  const bar = "#".repeat(from) + "+".repeat(to - from) + ".".repeat(BAR - to);
  return `${before.padEnd(7)}  ${bar}  afterwards ${range}`;
}
