/** What would leave the device, before anything does: clear answers first. */

import { codeAnswers } from "./codec.js";
import { formatDecimal } from "./decimals.js";
import { disclosure } from "./disclosure.js";
import { surveyLevel, WEAK } from "./protection.js";
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
 * @property {boolean} [selectAll] Whether it is a select-all, which is named and asked as one question.
 * @property {string | undefined} draw Name of the draw that it is in.
 * @property {string | undefined} sentAtRandom The same, for beside the question.
 * @property {string | undefined} drawn How likely it is sent, of a draw; all else holds where it is.
 * @property {string | undefined} number Of a number, in words what stands for it before it is randomised.
 * @property {string[]} followUps A sentence for each follow-up among the questions: when it is asked.
 */

/**
 * @typedef {object} Preview
 * @property {string} title
 * @property {string} survey
 * @property {number} version
 * @property {string[]} notices What a respondent should read first; see `notices`.
 * @property {{name: string, question: string | undefined, answer: string | undefined, selectAll?: boolean}[]} clear Attributes that leave as
 *   they are answered; they can betray randomised ones by correlation.
 * @property {Perturbed[]} perturbed Attributes that leave randomised.
 * @property {Record<string, string>} draws By draw: that all of its answers are read, and how many are sent.
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
  published = { ...published, attributes: withMatrices(published) };
  const { attributes, fields, recordSize, epsilon, digest, title, name: survey, version, operator, purpose, selects = [] } = published;
  const owners = new Map(selects.flatMap((select) => select.attributes.map((option) => [option, select])));
  const codes = answers && codeAnswers(published, answers);
  return {
    title,
    survey,
    version,
    notices: notices(published, words),
    clear: attributes.flatMap(({ name, question, oracle, domain }, at) => {
      if (oracle) return [];
      const select = owners.get(name);
      if (!select) return { name, question, answer: codes && domain[codes[at]] };
      if (name !== select.attributes[0]) return [];
      const chosen = attributes.slice(at, at + select.attributes.length).filter((_, place) => codes?.[at + place]);
      return { selectAll: true, name: select.name, question: select.question, answer: codes && namedOptions(chosen, words) };
    }),
    perturbed: fields.flatMap((field) => {
      const { name, places, oracle, k, units, epsilon = "", draw } = field;
      if (!oracle) return [];
      const reach = reachOf(published, field);
      const router = reach !== units;
      const revealed = disclosure(oracle);
      const count = places.length;
      const questions = places.map((place) => ({ name: attributes[place].name, question: attributes[place].question }));
      const select = owners.get(questions[0].name);
      if (select && count === 1) return questions[0].name === select.attributes[0] ? selectApart(published, field, select, words) : [];
      const { number, domain, codes: all } = attributes[places[0]];
      const answers = number ? all : k;
      const question = count > 1 ? select?.question : questions[0].question;
      return {
        selectAll: Boolean(select),
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
        draw: draw?.name,
        sentAtRandom: draw && words.say("draw.one", { answer: draw.answer, count: draw.count }),
        drawn: draw && words.say("drawn", { answer: draw.answer, count: draw.count }),
        number: number ? words.say("number", { values: listed(domain) }) : undefined,
        followUps: places.flatMap((place) => followUp(attributes, place, words) ?? []),
      };
    }),
    draws: drawsOf(fields, words),
    protection: ofAll(published, words),
    epsilon,
    digest,
    recordSize,
    operator,
    purpose,
  };
}

/**
 * The questions, those of a matrix with what is asked of all its items.
 *
 * @param {import("./published.js").Published} published
 */
const withMatrices = ({ attributes, matrices = [] }) =>
  attributes.map((one) => {
    const { question } = matrices.find((matrix) => matrix.attributes.includes(one.name)) ?? {};
    return question ? { ...one, question: `${question} ${one.question}` } : one;
  });

/**
 * The options that apply, in words.
 *
 * @param {readonly {name: string, question?: string | undefined}[]} chosen
 * @param {Words} words
 */
export const namedOptions = (chosen, words) =>
  chosen.map(({ name, question }) => question ?? name).join(", ") || words.say("none_selected");

/**
 * A select-all whose options are randomised apart, all or some of them: what is said of all of them together, and of each.
 *
 * @param {import("./published.js").Published} published
 * @param {import("./codec.js").Field} first Of its first option; all have the same protocol and epsilon.
 * @param {import("./selects.js").Selection} select
 * @param {Words} words
 * @returns {Perturbed}
 */
function selectApart({ attributes, fields }, { oracle, k, draw }, { name, question, attributes: options }, words) {
  const revealed = disclosure(/** @type {import("./protocol.js").FrequencyOracle} */ (oracle));
  const units = draw?.units ?? fields.reduce((sum, field) => (options.includes(field.name) ? sum + field.units : sum), 0n);
  const count = options.length;
  const each = (/** @type {string} */ sentence) => words.say("each", { sentence });
  return {
    selectAll: true,
    name,
    question,
    questions: options.map((option) => ({ name: option, question: attributes.find((one) => one.name === option)?.question })),
    title: words.say("block", { count }),
    protocol: /** @type {import("./protocol.js").FrequencyOracle} */ (oracle).name,
    k,
    epsilon: formatDecimal(units),
    bestGuess: revealed.bestGuess,
    protection: protectionOfBlock(units, count, words, false),
    truth: each(truthSentence(k, revealed, words)),
    guess: each(guessSentence(k, revealed, words, 1)),
    draw: draw?.name,
    sentAtRandom: draw && words.say("draw.one", { answer: draw.answer, count: draw.count }),
    drawn: draw && each(words.say("drawn", { answer: draw.answer, count: draw.count })),
    number: undefined,
    followUps: [],
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
  const { submission, release, minimum_batch: least } = published;
  return [
    ...(protection.level >= WEAK ? [protection.words] : []),
    ...(submission === "invited" ? [words.say("invited")] : []),
    ...(release === "immediate" ? [words.say("released_at_once")] : []),
    ...(least < SMALL_BATCH ? [words.say("small_batch", { count: least })] : []),
  ];
}

/** @param {import("./published.js").Published} published @param {Words} words */
const ofAll = (published, words) => protectionOfSurvey(spentOn(published), words, reaching(published));

/** Epsilon of every block outside draws and of every draw. @param {import("./published.js").Published} published */
const spentOn = ({ fields }) =>
  fields.flatMap(({ oracle, units, draw }) => (oracle ? (draw ? (draw.at ? [] : [draw.units]) : [units]) : []));

/** Epsilon of all that tells about each block. @param {import("./published.js").Published} published */
const reaching = (published) => published.fields.flatMap((field) => (field.oracle ? [reachOf(published, field)] : []));

/**
 * How strong all that is sent of randomised answers is, and what is sent for one question or block; a select-all is one question, however
 * its options are randomised.
 *
 * @param {import("./published.js").Published} published
 */
export function partsOf(published) {
  const owners = new Map((published.selects ?? []).flatMap((select) => select.attributes.map((option) => [option, select.name])));
  const [spent, reach] = [spentOn(published), reaching(published)];
  /** @type {Record<string, bigint>} */
  const parts = {};
  /** @type {Record<string, number>} */
  const counted = {};
  published.fields.filter(({ oracle }) => oracle).forEach(({ name, draw }, at) => {
    const own = owners.get(name) ?? name;
    counted[own] = (counted[own] ?? 0) + 1;
    // Of a select-all whose options are drawn, as many count as a device answers.
    if (draw && counted[own] > draw.answer) return;
    parts[own] = (parts[own] ?? 0n) + reach[at];
  });
  return {
    level: surveyLevel(spent, reach),
    total: spent.reduce((sum, part) => sum + part, 0n),
    single: Object.values(parts).reduce((most, part) => (part > most ? part : most)),
  };
}

/**
 * Epsilon of all that tells about the answers of a field, in units of 10^-12. Whether a follow-up was asked depends on the answer to its
 * router, so what is sent of the follow-up tells about the router as well. Of the blocks of a draw as many count as a device sends.
 *
 * @param {import("./published.js").Published} published
 * @param {import("./codec.js").Field} field
 */
function reachOf({ attributes, fields }, { places, name }) {
  const tells = (/** @type {number | undefined} */ place) => {
    for (let at = place; at !== undefined; at = attributes[at].router) if (at !== place && places.includes(at)) return true;
    return false;
  };
  /** @type {Record<string, number>} */
  const counted = {};
  return fields.reduce((sum, { name: own, places: theirs, oracle, units, draw }) => {
    if (!oracle || !(own === name || theirs.some(tells))) return sum;
    if (draw && (counted[draw.name] = (counted[draw.name] ?? 0) + 1) > draw.answer) return sum;
    return sum + units;
  }, 0n);
}

/**
 * @param {readonly import("./codec.js").Field[]} fields
 * @param {Words} words
 */
const drawsOf = (fields, words) =>
  Object.fromEntries(
    fields.flatMap(({ draw }) => {
      if (!draw || draw.at) return [];
      const groups = fields.some((other) => other.draw?.name === draw.name && other.places.length > 1);
      return [[draw.name, words.say(groups ? "draw.groups" : "draw", { answer: draw.answer, count: draw.count })]];
    }),
  );

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
export function inWords({ title, survey, version, operator, purpose, notices, clear, perturbed, draws, protection, epsilon, digest, recordSize }) {
  const label = (/** @type {{name: string, question: string | undefined}} */ { name, question }) =>
    question ? `${name} (${question})` : name;
  const heading = (/** @type {Perturbed} */ line) =>
    line.questions.length > 1
      ? `${line.selectAll && line.question ? `${line.question} ` : ""}${line.title} (${line.name}): ${line.questions.map((one) => (line.selectAll ? (one.question ?? one.name) : label(one))).join(", ")}`
      : label(line);
  const ofDraw = (/** @type {Perturbed} */ { draw }, /** @type {number} */ at) =>
    draw === undefined || perturbed[at - 1]?.draw === draw
      ? []
      : ["", `  ${perturbed.filter((line) => line.draw === draw).map(heading).join("; ")}`, `  ${draws[draw]}`];
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
    ...perturbed.flatMap((line, at) => [
      ...ofDraw(line, at),
      "",
      `  ${heading(line)}`,
      ...line.followUps.map((sentence) => `    ${sentence}`),
      ...(line.drawn === undefined ? [] : [`    ${line.drawn}`]),
      `    ${line.protocol} with epsilon ${line.epsilon}. ${line.protection.words}`,
      ...(line.number === undefined ? [] : [`    ${line.number}`]),
      `    ${line.truth}`,
      `    ${line.protection.limit}`,
      ...line.protection.changes.map((change) => `      ${row(change)}`),
      `    ${line.guess}`,
    ]),
    "",
    ENGLISH.say("take_back"),
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
