/** One question of a published survey: what it declares, and what it claims, recomputed. */

import { canonicalJson } from "./canonical.js";
import { parseDecimal } from "./decimals.js";
import { InvalidParameter, shown } from "./errors.js";
import { K_MAX } from "./protocol.js";
import { create, PROTOCOLS } from "./registry.js";
import { GIVEN, integer, LIST, MAPPING, must, NAME, obey, oneOf, shape } from "./rules.js";
import { CATEGORY, HELP, NOT_ASKED, QUESTION, SECTION } from "./wording.js";

/**
 * A question with its ordered domain.
 *
 * @typedef {object} Attribute
 * @property {string} name
 * @property {"sensitive" | "plain" | "target"} role
 * @property {string} [question] What the respondent is asked.
 * @property {string} [missing] Label of one more category, last, for an answer skipped or refused.
 * @property {string} [positive] For a target: the category that counts as 1.
 * @property {string} [section] Heading of the questions that this one stands among.
 * @property {"ordinal" | "nps"} [scale] How the answers are laid out: from one end to the other, or as the scores 0 to 10.
 * @property {string} [help] What the respondent reads below the question.
 * @property {readonly string[]} categories The possible answers, without the missing one.
 * @property {readonly string[]} domain The possible answers in code order, the missing one behind them; last, of a follow-up, that of
 *   who is not asked.
 * @property {Record<string, string[]>} [ask_if] Of a follow-up the question and its answers after which it is asked.
 * @property {number} [router] The place of that question.
 * @property {Set<string>} [asking] These answers.
 * @property {number} k Domain size.
 * @property {number} codes How many codes answers have: k, or of a number one for each value.
 * @property {{low: number, high: number, unit?: string}} [number] Of a question that is answered by a whole number its limits; its categories
 *   are the anchors of what is randomised.
 * @property {(answer: string) => number} [read] Of a number: the code of an answer, or -1.
 * @property {string} [offers] Of a number: what may be answered.
 * @property {(code: number, bits: import("./bits.js").Bits) => number} [draw] Of a number that is randomised: the anchor of a code, drawn.
 * @property {string} [epsilon] What one answer is charged; absent for an attribute in clear or in a block of several.
 * @property {bigint} units The same in units of 10^-12; 0 in clear.
 * @property {import("./protocol.js").FrequencyOracle | undefined} [oracle] The protocol, which may be that of its block; undefined in clear.
 * @property {string} [block] Name of the block of several questions that it is in.
 */

const SCORES = JSON.stringify([..."0123456789", "10"]);

const CLEAR = {
  name: NAME,
  role: oneOf("sensitive", "plain", "target"),
  categories: LIST,
  "missing?": CATEGORY,
  "question?": QUESTION,
  "positive?": CATEGORY,
  "section?": SECTION,
  "scale?": oneOf("ordinal", "nps"),
  "help?": HELP,
  "ask_if?": MAPPING,
  "number?": GIVEN,
};

/** What is claimed of an oracle. */
export const CLAIMS = {
  protocol: oneOf(...Object.keys(PROTOCOLS)),
  epsilon: GIVEN,
  parameters: GIVEN,
  thresholds: GIVEN,
};

/**
 * Read one attribute of a published manifest, believing nothing that can be recomputed.
 *
 * @param {any} value The JSON value.
 * @param {number} position Its place, for messages before its name is known.
 * @param {Map<string, string>} owners Names of the blocks of several questions, by question.
 * @returns {Attribute}
 * @throws {InvalidParameter} Naming the attribute.
 */
export function readAttribute(value, position, owners) {
  const where = `attributes[${NAME[0](value?.name) ? value.name : position}]`;
  const block = owners.get(value?.name);
  const perturbed = !block && (value?.role === "sensitive" || "protocol" in Object(value));
  const read = shape(value, where, perturbed ? { ...CLEAR, ...CLAIMS } : CLEAR);
  const { role, categories, missing, positive, ask_if: condition } = read;
  must(!perturbed || role !== "plain", `${where}.protocol`, read.protocol, "left out");
  /** @type {string[]} */
  const domain = [categories, missing ?? [], condition ? NOT_ASKED : []].flat();
  domain.forEach((category, code) => {
    obey(category, `${where}.categories[${code}]`, CATEGORY);
  });
  const k = domain.length;
  must(!categories.includes(missing), `${where}.missing`, missing, "another");
  must(new Set(domain).size === k, `${where}.categories`, categories, "different");
  obey(k, `${where}.categories`, integer(condition ? 3 : 2, K_MAX));
  must(
    positive === undefined || (role === "target" && categories.includes(positive)),
    `${where}.positive`,
    positive,
    "a target's category",
  );
  must(read.scale !== "nps" || JSON.stringify(categories) === SCORES, `${where}.scale`, read.scale, "for 0 to 10");
  /** @type {Attribute} */
  const attribute = /** @type {any} */ ({ ...read, domain, k, codes: k, block, units: 0n });
  return perturbed ? Object.assign(attribute, checkClaims(read, k, where)) : attribute;
}

/**
 * Rebuild the oracle from what is declared and compare what is claimed of it.
 *
 * @param {Record<string, any>} read
 * @param {number} k
 * @param {string} where
 */
export function checkClaims({ protocol, epsilon, parameters, thresholds }, k, where) {
  const units = parseDecimal(epsilon, `${where}.epsilon`);
  const oracle = create(protocol, k, units, parameters, `${where}.parameters`);
  const computed = JSON.stringify(oracle.thresholds, (name, value) => (name ? hex64(value) : value));
  must(canonicalJson(thresholds) === computed, `${where}.thresholds`, thresholds, `${computed}: do not answer`);
  return { units, oracle };
}

/** @param {bigint} value */
export const hex64 = (value) => value.toString(16).padStart(16, "0");

/**
 * The code of an answer, from 0 below `codes`. Errors name the attribute and its categories, never the answer.
 *
 * @param {Attribute} attribute
 * @param {unknown} answer A category; an integer stands for its decimal string; null or undefined for the missing one.
 * @throws {InvalidParameter}
 */
export function codeOf({ name, domain, missing, read, offers }, answer) {
  const given = Number.isSafeInteger(answer) ? String(answer) : (answer ?? missing);
  // Respondents cannot see which normal form their keyboard types.
  const find = read ?? ((label) => domain.indexOf(label));
  const code = typeof given === "string" ? Math.max(find(given), find(given.normalize())) : -1;
  if (code < 0) {
    throw new InvalidParameter(
      `the answer to ${name} is not in the survey; give one of ${offers ?? domain.slice(0, 12).map(shown)}`,
      { field: name },
    );
  }
  return code;
}
