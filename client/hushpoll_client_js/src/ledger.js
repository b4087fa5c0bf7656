/** Epsilon spent, per survey over all its versions and overall, and what the device's owner allows. */

import { formatDecimal, parseDecimal } from "./decimals.js";
import { BudgetExhausted, ManifestRefused } from "./errors.js";

/** @typedef {import("./storage.js").Entry} Entry */
/** @typedef {import("./published.js").Published} Published */

/**
 * @typedef {object} Limits
 * @property {string | number | undefined} [maxEpsilon] Most that one survey may spend, over all its versions.
 * @property {string | number | undefined} [maxEpsilonTotal] Most that all surveys may spend together.
 * @property {readonly string[] | undefined} [requiredSensitive] Attributes that must never leave in clear.
 * @property {number | undefined} [requiredBatch] Fewest reports that the survey may release at once.
 */

/**
 * Refuse a survey that releases fewer reports at once than is required, collects in clear what must not be, or has no
 * such attribute: a misspelt name must not protect nothing.
 *
 * @param {Published} published
 * @param {Limits} limits
 * @throws {ManifestRefused}
 */
export function checkRequired({ attributes, minimum_batch }, { requiredBatch = 1, requiredSensitive = [] }) {
  if (!(minimum_batch >= requiredBatch)) {
    throw new ManifestRefused(`minimum_batch is ${minimum_batch}, below ${requiredBatch}`, { field: "minimum_batch" });
  }
  for (const name of requiredSensitive) {
    if (!attributes.some((attribute) => attribute.name === name && attribute.oracle)) {
      throw new ManifestRefused(`${name} must be sensitive, and is not`, {
        field: `attributes[${name}].role`,
      });
    }
  }
}

/**
 * Refuse to spend beyond the limits.
 *
 * @param {readonly Entry[]} entries What was answered before.
 * @param {Published} published What is about to be.
 * @param {Limits} limits
 * @throws {BudgetExhausted}
 */
export function checkBudget(entries, { name, epsilon }, { maxEpsilon, maxEpsilonTotal }) {
  for (const [field, limit, survey] of /** @type {const} */ ([
    ["maxEpsilon", maxEpsilon, name],
    ["maxEpsilonTotal", maxEpsilonTotal, undefined],
  ])) {
    if (limit === undefined) continue;
    let spent = 0n;
    for (const entry of entries) {
      if (!survey || entry.survey === survey) spent += parseDecimal(entry.epsilon, "epsilon");
    }
    if (spent + parseDecimal(epsilon, "epsilon") > parseDecimal(String(limit), field, 1n, 10n ** 18n)) {
      throw new BudgetExhausted(
        `${name} spends epsilon ${epsilon} after ${formatDecimal(spent)}, and ${field} is ${limit}`,
        { field },
      );
    }
  }
}
