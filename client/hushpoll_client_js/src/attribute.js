/** One question of a published survey: what it declares, and what it claims, recomputed. */

import { canonicalJson } from "./canonical.js";
import { parseDecimal } from "./decimals.js";
import { InvalidParameter, shown } from "./errors.js";
import { K_MAX } from "./protocol.js";
import { create, PROTOCOLS } from "./registry.js";
import { integer, LIST, must, NAME, oneOf, shape, text } from "./rules.js";

const CATEGORY = text(200);

const CLEAR = {
  name: NAME,
  role: oneOf("sensitive", "plain", "target"),
  categories: LIST,
  "missing?": CATEGORY,
  "question?": text(1000),
  "positive?": CATEGORY,
};

/** @type {import("./rules.js").Rule} */
const ANYTHING = [(value) => value != null, "given"];

const PERTURBED = {
  ...CLEAR,
  protocol: oneOf(...Object.keys(PROTOCOLS)),
  epsilon: ANYTHING,
  parameters: ANYTHING,
  thresholds: ANYTHING,
};

/** A question with its ordered domain; a perturbed one has the oracle that devices use. */
export class Attribute {
  /** @type {Map<unknown, number>} */
  #codes;

  /**
   * Read one attribute of a published manifest, believing nothing that can be recomputed.
   *
   * @param {any} value The JSON value.
   * @param {number} position Its place, for messages before its name is known.
   * @throws {InvalidParameter} Naming the attribute.
   */
  constructor(value, position) {
    const where = `attributes[${NAME[0](value?.name) ? value.name : position}]`;
    const perturbed = value?.role === "sensitive" || "protocol" in Object(value);
    const { name, role, categories, missing, question, positive, ...claims } = shape(
      value,
      where,
      perturbed ? PERTURBED : CLEAR,
    );
    must(!perturbed || role !== "plain", `${where}.protocol`, claims.protocol, "left out: plain answers leave in clear");
    categories.forEach((/** @type {unknown} */ category, /** @type {number} */ code) =>
      must(CATEGORY[0](category), `${where}.categories[${code}]`, category, CATEGORY[1]),
    );
    must(new Set(categories).size === categories.length, `${where}.categories`, categories, "different from each other");
    must(!categories.includes(missing), `${where}.missing`, missing, "none of the categories");
    must(
      positive === undefined || (role === "target" && categories.includes(positive)),
      `${where}.positive`,
      positive,
      "one of a target's categories",
    );
    /** @type {string} */
    this.name = name;
    /** @type {"sensitive" | "plain" | "target"} */
    this.role = role;
    /** What the respondent is asked. @type {string | undefined} */
    this.question = question;
    /** For a target: the category that counts as 1. @type {string | undefined} */
    this.positive = positive;
    /** Label of one more category, last, for an answer skipped or refused. @type {string | undefined} */
    this.missing = missing;
    /** The possible answers in code order, the missing one last. @type {readonly string[]} */
    this.domain = missing === undefined ? categories : [...categories, missing];
    /** Domain size. */
    this.k = this.domain.length;
    const [test, words] = integer(2, K_MAX);
    must(test(this.k), `${where}.categories`, categories, `${words} of them, with the missing one`);
    /** The protocol at this attribute's k and epsilon; undefined for one in clear. */
    this.oracle = perturbed ? checkClaims(claims, this.k, where) : undefined;
    this.#codes = new Map(this.domain.map((category, code) => [category, code]));
  }

  /**
   * The code of an answer, 0..k-1. Errors name the attribute and its categories, never the answer.
   *
   * @param {unknown} answer A category; an integer stands for its decimal string; null or undefined for the missing one.
   * @throws {InvalidParameter}
   */
  code(answer) {
    const given = Number.isSafeInteger(answer) ? String(answer) : (answer ?? this.missing);
    // Nobody sees which normal form a keyboard types.
    const code = this.#codes.get(given) ?? this.#codes.get(typeof given === "string" && given.normalize());
    if (code === undefined) {
      throw new InvalidParameter(
        `the answer to ${this.name} is missing or not in the survey; give one of ${this.domain.slice(0, 12).map(shown)}`,
        { field: this.name },
      );
    }
    return code;
  }
}

/**
 * Rebuild the oracle from what is declared and compare what is claimed of it.
 *
 * @param {Record<string, any>} claims
 * @param {number} k
 * @param {string} where
 */
function checkClaims({ protocol, epsilon, parameters, thresholds }, k, where) {
  parseDecimal(epsilon, `${where}.epsilon`);
  const path = `${where}.parameters`;
  const known = Object.keys(PROTOCOLS[protocol][1]?.(k) ?? {}).join();
  must(Object.keys(parameters).join() === known, path, parameters, `${known || "empty"} for ${protocol}`);
  const oracle = create(protocol, { ...parameters, k, epsilon }, path);
  const computed = canonicalJson(
    Object.fromEntries(
      Object.entries(oracle.thresholds).map(([name, value]) => [name, value.toString(16).padStart(16, "0")]),
    ),
  );
  must(canonicalJson(thresholds) === computed, `${where}.thresholds`, thresholds, `${computed}: do not answer this survey`);
  return oracle;
}
