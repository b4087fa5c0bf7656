/** One question of a published survey: what it declares, and what it claims, recomputed. */

import { canonicalJson } from "./canonical.js";
import { parseEpsilon } from "./decimals.js";
import { InvalidParameter, shown } from "./errors.js";
import { K_MAX } from "./oracle.js";
import { checkProtocol, create, PROTOCOLS } from "./registry.js";
import { checkKeys, checkName, checkText, isName } from "./text.js";

const DECLARED = ["name", "role", "categories"];
const CLAIMED = ["protocol", "epsilon", "parameters", "thresholds"];
const OPTIONAL = ["missing", "question", "positive"];
const LONGEST_CATEGORY = 200;

/** A question with its ordered domain; a perturbed one has the oracle that devices use. */
export class Attribute {
  /** @type {Map<string, number>} */
  #codes;

  /**
   * Read one attribute of a published manifest, believing nothing that can be recomputed.
   *
   * @param {unknown} value The JSON value.
   * @param {number} position Its place, for messages before its name is known.
   * @throws {InvalidParameter} Naming the attribute.
   */
  constructor(value, position) {
    const given = /** @type {any} */ (value);
    const perturbed = given?.role === "sensitive" || (typeof given === "object" && given && "protocol" in given);
    const where = `attributes[${isName(given?.name) ? given.name : position}]`;
    const read = checkKeys(value, where, perturbed ? [...DECLARED, ...CLAIMED] : DECLARED, OPTIONAL);
    if (!Array.isArray(read.categories)) {
      throw new InvalidParameter(`${where}.categories is ${shown(read.categories)}; give a list`, `${where}.categories`);
    }
    this.name = checkName(read.name, "attributes[].name");
    /** @type {"sensitive" | "plain" | "target"} */
    this.role = read.role;
    if (!["sensitive", "plain", "target"].includes(this.role)) {
      throw refused(`${where}.role`, read.role, "a role is sensitive, plain or target");
    }
    /** The possible answers in order: the position is the code. @type {readonly string[]} */
    this.categories = read.categories;
    /** Label of one more category, last, for an answer skipped or refused. @type {string | undefined} */
    this.missing = read.missing ?? undefined;
    /** The categories in code order, the missing one last. @type {readonly string[]} */
    this.domain = this.missing === undefined ? this.categories : [...this.categories, this.missing];
    this.#codes = new Map(this.domain.map((category, code) => [category, code]));
    this.#checkDomain(where);
    /** What the respondent is asked. @type {string | undefined} */
    this.question = read.question ?? undefined;
    if (this.question !== undefined) checkText(this.question, `${where}.question`, 1000);
    if (perturbed) {
      checkProtocol(read.protocol, `${where}.protocol`);
      if (this.role === "plain") {
        throw refused(`${where}.protocol`, read.protocol, "plain answers leave in clear: remove it");
      }
    }
    /** For a target: the category that counts as 1. @type {string | undefined} */
    this.positive = read.positive ?? undefined;
    if (this.positive !== undefined && (this.role !== "target" || !this.categories.includes(this.positive))) {
      throw refused(`${where}.positive`, this.positive, "it is one of a target's categories");
    }
    /** The protocol at this attribute's k and epsilon; undefined for one in clear. */
    this.oracle = perturbed ? checkClaims(read, this.k, where) : undefined;
  }

  /** Domain size. */
  get k() {
    return this.domain.length;
  }

  /** @param {string} where */
  #checkDomain(where) {
    this.categories.forEach((category, code) => {
      checkText(category, `${where}.categories[${code}]`, LONGEST_CATEGORY);
      // Of two of a kind the map keeps the later code.
      if (this.#codes.get(category) !== code && this.categories.indexOf(category, code + 1) > 0) {
        throw refused(`${where}.categories`, category, "each category is listed once");
      }
    });
    if (this.missing !== undefined) {
      checkText(this.missing, `${where}.missing`, LONGEST_CATEGORY);
      if (this.#codes.size < this.k) throw refused(`${where}.missing`, this.missing, "it is none of the categories");
    }
    if (this.k < 2 || this.k > K_MAX) {
      throw refused(`${where}.categories`, this.k, `a domain has 2 to ${K_MAX} categories`);
    }
  }

  /**
   * The code of an answer, 0..k-1. Errors name the attribute and its categories, never the answer.
   *
   * @param {unknown} answer A category; an integer stands for its decimal string; null or undefined for the missing one.
   * @throws {InvalidParameter}
   */
  code(answer) {
    const text = Number.isSafeInteger(answer) ? String(answer) : (answer ?? this.missing);
    // Authors and respondents cannot see which normal form their keyboard typed.
    const code = typeof text === "string" ? (this.#codes.get(text) ?? this.#codes.get(text.normalize("NFC"))) : undefined;
    if (code === undefined) {
      const listed = this.domain.slice(0, 12).map(shown).join(", ") + (this.k > 12 ? ", ..." : "");
      throw new InvalidParameter(
        `the answer to ${this.name} is missing or not in the survey; answer with one of ${listed}`,
        this.name,
      );
    }
    return code;
  }
}

/**
 * Rebuild the oracle from what is declared and compare what is claimed of it.
 *
 * @param {Record<string, any>} read
 * @param {number} k
 * @param {string} where
 */
function checkClaims({ protocol, epsilon, parameters, thresholds }, k, where) {
  parseEpsilon(epsilon, `${where}.epsilon`);
  const known = PROTOCOLS[/** @type {import("./registry.js").ProtocolName} */ (protocol)].parameters;
  if (!parameters || Object.keys(parameters).join() !== known.join()) {
    throw refused(`${where}.parameters`, parameters, `${protocol} has ${known.join() || "none"}`);
  }
  let oracle;
  try {
    oracle = create(protocol, { ...parameters, k, epsilon });
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error;
    const path = Object.hasOwn(parameters, error.field) ? `${where}.parameters.${error.field}` : where;
    throw new InvalidParameter(`${where}: ${error.message}`, path);
  }
  const computed = Object.fromEntries(
    Object.entries(oracle.thresholds).map(([name, value]) => [name, value.toString(16).padStart(16, "0")]),
  );
  if (canonicalJson(thresholds) !== canonicalJson(computed)) {
    throw refused(
      `${where}.thresholds`,
      thresholds,
      `${protocol} with k = ${k} and epsilon = ${epsilon} gives ${canonicalJson(computed)}: do not answer this survey`,
    );
  }
  return oracle;
}

/**
 * @param {string} field
 * @param {unknown} value
 * @param {string} rule
 */
function refused(field, value, rule) {
  return new InvalidParameter(`${field} is ${shown(value)}; ${rule}`, field);
}
