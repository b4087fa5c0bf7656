/**
 * The published survey. A device trusts none of it: it recomputes every threshold, adds up the epsilons, divides the
 * total by the split itself, and refuses the manifest if any of it disagrees.
 */

import { Attribute } from "./attribute.js";
import { splitBudget, weigh } from "./budget.js";
import { canonicalJson, parseJson, sha256Hex } from "./canonical.js";
import { Layout } from "./codec.js";
import { formatDecimal, parseDecimal } from "./decimals.js";
import { InvalidParameter, ManifestRefused } from "./errors.js";
import { integer, LIST, must, NAME, oneOf, shape, text, TIME } from "./rules.js";

/** @type {import("./rules.js").Rule} */
const READ_LATER = [(value) => value != null, "given"];

const RULES = {
  format: oneOf(1),
  name: NAME,
  version: integer(1, 2 ** 31 - 1),
  title: text(200),
  epsilon: READ_LATER,
  split: READ_LATER,
  submission: oneOf("open", "token"),
  minimum_batch: integer(1, 1e9),
  attributes: LIST,
  "description?": text(5000, /\n/g),
  "opens?": TIME,
  "closes?": TIME,
  "protected?": READ_LATER,
};

/** A published survey that has been checked. */
export class Published {
  /**
   * Use `Published.fromJson`.
   *
   * @param {unknown} value
   * @throws {InvalidParameter}
   */
  constructor(value) {
    const { name, version, title, description, opens, closes, submission, ...rest } = shape(value, "", RULES);
    must(!opens || !closes || opens < closes, "closes", closes, `after opens, ${opens}`);
    /** @type {string} */
    this.name = name;
    /** @type {number} */
    this.version = version;
    /** @type {string} */
    this.title = title;
    /** @type {string | undefined} */
    this.description = description;
    /** From when reports are taken, until before `closes`: YYYY-MM-DDTHH:MM:SSZ. @type {string | undefined} */
    this.opens = opens;
    /** @type {string | undefined} */
    this.closes = closes;
    /** @type {"open" | "token"} */
    this.submission = submission;
    /** Total budget of one respondent, a canonical decimal string in [1e-6, 64]. @type {string} */
    this.epsilon = rest.epsilon;
    const total = parseDecimal(rest.epsilon, "epsilon");
    /** @type {readonly Attribute[]} */
    this.attributes = rest.attributes.map((/** @type {unknown} */ one, /** @type {number} */ at) => new Attribute(one, at));
    checkAttributes(this.attributes);
    checkBudget(total, rest.split, this.attributes);
    if (rest.protected) checkProtected(rest.protected, this.attributes);
    /** Where each attribute stands in a record. */
    this.layout = new Layout(this.attributes);
    /** The published form in RFC 8785 canonical JSON. */
    this.canonical = canonicalJson(value);
    /** SHA-256 of `canonical`, 64 hexadecimal digits. */
    this.digest = "";
  }

  /**
   * Read a published manifest, believing nothing of it that can be recomputed.
   *
   * @param {Uint8Array | string | object} value JSON text, its bytes, or the parsed value.
   * @returns {Promise<Published>}
   * @throws {ManifestRefused} Naming the field.
   */
  static async fromJson(value) {
    try {
      const isText = typeof value === "string" || value instanceof Uint8Array;
      const published = new Published(isText ? parseJson(value) : value);
      published.digest = await sha256Hex(published.canonical);
      return Object.freeze(published);
    } catch (error) {
      if (!(error instanceof InvalidParameter)) throw error;
      throw new ManifestRefused(`the published manifest is refused: ${error.message}`, { field: error.field });
    }
  }
}

/** @param {readonly Attribute[]} attributes */
function checkAttributes(attributes) {
  const { length } = attributes;
  must(length && length <= 256, "attributes", length, "1 to 256");
  must(attributes.some((one) => one.oracle), "attributes", "all in clear", "perturbed at least once");
  attributes.forEach(({ name, role }, at) => {
    const before = attributes.slice(0, at);
    must(!before.some((one) => one.name === name), `attributes[${name}].name`, name, "there once");
    must(role !== "target" || !before.some((one) => one.role === role), `attributes[${name}].role`, role, "there once");
  });
}

/**
 * @param {bigint} total
 * @param {unknown} split
 * @param {readonly Attribute[]} attributes
 */
function checkBudget(total, split, attributes) {
  const spent = attributes.flatMap(({ name, k, oracle }) => (oracle ? [{ name, k, units: parseDecimal(oracle.epsilon, name) }] : []));
  const weights = weigh(split, spent.map(({ name, k }) => [name, k]));
  const sum = spent.reduce((all, { units }) => all + units, 0n);
  must(sum <= total, "epsilon", formatDecimal(total), `at least ${formatDecimal(sum)}, which the attributes spend`);
  splitBudget(total, weights).forEach((part, at) => {
    const { name, units } = spent[at];
    must(units === part, `attributes[${name}].epsilon`, formatDecimal(units), `${formatDecimal(part)} by the split`);
  });
}

/**
 * The groups that a fairness report compares.
 *
 * @param {any} groups
 * @param {readonly Attribute[]} attributes
 */
function checkProtected(groups, attributes) {
  const { attribute, privileged, unprivileged } = groups;
  must(
    Array.isArray(privileged) && Array.isArray(unprivileged) && Object.keys(groups).length === 3,
    "protected",
    groups,
    "an attribute, and lists privileged and unprivileged",
  );
  const found = attributes.find(({ name, role }) => name === attribute && role !== "target");
  must(found, "protected.attribute", attribute, "an attribute other than the target");
  const listed = (/** @type {string[]} */ group) =>
    group.length && new Set(group).size === group.length && group.every((one) => found.domain.includes(one));
  must(listed(privileged), "protected.privileged", privileged, `categories of ${attribute}`);
  must(
    listed(unprivileged) && !unprivileged.some((one) => privileged.includes(one)),
    "protected.unprivileged",
    unprivileged,
    `other categories of ${attribute}`,
  );
}
