/**
 * The published survey. A device trusts none of it: it recomputes every threshold, adds up the epsilons, divides the
 * total by the split itself, and refuses the manifest if any of it disagrees.
 */

import { Attribute } from "./attribute.js";
import { parseSplit, splitBudget, weigh } from "./budget.js";
import { canonicalJson, parseJson, sha256Hex } from "./canonical.js";
import { Layout } from "./codec.js";
import { formatDecimal, parseEpsilon } from "./decimals.js";
import { InvalidParameter, ManifestRefused, shown } from "./errors.js";
import { checkInteger } from "./oracle.js";
import { checkKeys, checkName, checkText, checkTime } from "./text.js";

const REQUIRED = ["format", "name", "version", "title", "epsilon", "split", "submission", "minimum_batch", "attributes"];
const OPTIONAL = ["description", "opens", "closes", "protected"];

/** A published survey that has been checked. */
export class Published {
  /**
   * Use `Published.fromJson`.
   *
   * @param {unknown} value
   * @throws {InvalidParameter}
   */
  constructor(value) {
    const document = checkKeys(value, "", REQUIRED, OPTIONAL);
    if (document.format !== 1) throw refused("format", document.format, "this version reads format 1: update hushpoll");
    if (!Array.isArray(document.attributes)) throw refused("attributes", document.attributes, "it must be a list");
    const total = parseEpsilon(document.epsilon, "epsilon");
    const split = parseSplit(document.split);
    /** @type {readonly Attribute[]} */
    this.attributes = document.attributes.map((one, position) => new Attribute(one, position));
    const groups = document.protected == null ? undefined : readProtected(document.protected);
    this.name = checkName(document.name, "name");
    this.version = checkInteger(document.version, "version", 1, 2 ** 31 - 1);
    this.title = checkText(document.title, "title", 200);
    /** @type {string | undefined} */
    this.description = document.description ?? undefined;
    if (this.description !== undefined) checkText(this.description, "description", 5000, /\n/g);
    /** From when reports are taken, until before `closes`: YYYY-MM-DDTHH:MM:SSZ. @type {string | undefined} */
    this.opens = document.opens ?? undefined;
    /** @type {string | undefined} */
    this.closes = document.closes ?? undefined;
    const opens = this.opens === undefined ? -Infinity : checkTime(this.opens, "opens");
    if (this.closes !== undefined && checkTime(this.closes, "closes") <= opens) {
      throw refused("closes", this.closes, "it must be after opens");
    }
    checkAttributes(this.attributes);
    const weights = weigh(split, this.perturbed.map(({ name, k }) => [name, k]));
    /** Groups that a fairness report compares. */
    this.protected = groups && checkProtected(groups, this.attributes);
    /** @type {"open" | "token"} */
    this.submission = document.submission;
    if (!["open", "token"].includes(this.submission)) throw refused("submission", this.submission, "open or token");
    this.minimumBatch = checkInteger(document.minimum_batch, "minimum_batch", 1, 1e9);
    /** Total budget of one respondent, a canonical decimal string in [1e-6, 64]. */
    this.epsilon = formatDecimal(total);
    checkBudget(total, weights, this.perturbed);
    const absent = Object.keys(document)
      .sort()
      .find((key) => [document[key]].flat().some((one) => one === null || Object.values(one).includes(null)));
    if (absent) throw refused(absent, null, "what is absent is left out");
    /** The published form in RFC 8785 canonical JSON. */
    this.canonical = canonicalJson(document);
    /** SHA-256 of `canonical`, 64 hexadecimal digits. */
    this.digest = "";
    /** Where each attribute stands in a record. */
    this.layout = new Layout(this.attributes);
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
      const text = typeof value === "string" || value instanceof Uint8Array;
      const published = new Published(text ? parseJson(value) : value);
      published.digest = await sha256Hex(published.canonical);
      return Object.freeze(published);
    } catch (error) {
      if (!(error instanceof InvalidParameter)) throw error;
      throw new ManifestRefused(`the published manifest is refused: ${error.message}`, error.field);
    }
  }

  /** The attributes that leave a device only through a protocol, in record order. */
  get perturbed() {
    return this.attributes.filter((one) => one.oracle);
  }

  /** The attributes that leave a device as they are answered, in record order. */
  get clear() {
    return this.attributes.filter((one) => !one.oracle);
  }
}

/** @param {readonly Attribute[]} attributes */
function checkAttributes(attributes) {
  if (attributes.length < 1 || attributes.length > 256) {
    throw refused("attributes", attributes.length, "a survey has 1 to 256");
  }
  attributes.forEach(({ name }, at) => {
    if (attributes.findIndex((one) => one.name === name) < at) {
      throw refused(`attributes[${name}].name`, name, "names differ");
    }
  });
  const second = attributes.filter((one) => one.role === "target")[1];
  if (second) throw refused(`attributes[${second.name}].role`, "target", "a survey has at most one");
  if (!attributes.some((one) => one.oracle)) {
    throw refused("attributes", "none sensitive", "epsilon would protect nothing");
  }
}

/**
 * @param {bigint} total
 * @param {[name: string, weight: bigint][]} weights
 * @param {readonly Attribute[]} perturbed
 */
function checkBudget(total, weights, perturbed) {
  const spent = perturbed.map((one) => parseEpsilon(one.oracle?.epsilon, one.name));
  const sum = spent.reduce((all, part) => all + part, 0n);
  if (sum > total) {
    throw refused("epsilon", formatDecimal(total), `the attributes spend ${formatDecimal(sum)}: do not answer this survey`);
  }
  [...splitBudget(total, weights)].forEach(([name, part], at) => {
    if (spent[at] !== part) {
      const field = `attributes[${name}].epsilon`;
      throw refused(field, formatDecimal(spent[at]), `the split gives it ${formatDecimal(part)}: do not answer this survey`);
    }
  });
}

/**
 * @typedef {object} Protected
 * @property {string} attribute
 * @property {string[]} privileged
 * @property {string[]} unprivileged
 */

/**
 * @param {unknown} value
 * @returns {Protected}
 */
function readProtected(value) {
  const { attribute, privileged, unprivileged } = /** @type {any} */ (value);
  const listed = [privileged, unprivileged].every(
    (group) => Array.isArray(group) && group.every((one) => typeof one === "string"),
  );
  if (!listed || typeof attribute !== "string" || Object.keys(Object(value)).length !== 3) {
    throw refused("protected", value, "it has exactly an attribute, and lists privileged and unprivileged");
  }
  return { attribute, privileged, unprivileged };
}

/**
 * @param {Protected} groups
 * @param {readonly Attribute[]} attributes
 */
function checkProtected(groups, attributes) {
  const found = attributes.find((one) => one.name === groups.attribute);
  if (!found || found.role === "target") {
    throw refused("protected.attribute", groups.attribute, "name an attribute other than the target");
  }
  for (const key of /** @type {const} */ (["privileged", "unprivileged"])) {
    const group = groups[key];
    if (!group.length || new Set(group).size < group.length || !group.every((one) => found.domain.includes(one))) {
      throw refused(`protected.${key}`, group, `list different categories of ${found.name}`);
    }
  }
  if (groups.privileged.some((one) => groups.unprivileged.includes(one))) {
    throw refused("protected.unprivileged", groups.unprivileged, "the groups are disjoint");
  }
  return groups;
}

/**
 * @param {string} field
 * @param {unknown} value
 * @param {string} rule
 */
function refused(field, value, rule) {
  return new InvalidParameter(`${field} is ${shown(value)}; ${rule}`, field);
}
