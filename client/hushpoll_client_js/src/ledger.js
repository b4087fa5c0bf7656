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
 */

/**
 * Refuse a survey that collects in clear what must not be, or has no such attribute: a misspelt name must not protect
 * nothing.
 *
 * @param {Published} published
 * @param {Limits} limits
 * @throws {ManifestRefused}
 */
export function checkSensitive({ attributes }, { requiredSensitive = [] }) {
  for (const name of requiredSensitive) {
    if (!attributes.some((one) => one.name === name && one.oracle)) {
      throw new ManifestRefused(`${name} must be sensitive, and this survey does not randomise it`, {
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
        `${name} spends epsilon ${epsilon} after ${formatDecimal(spent)}, and ${field} is ${limit}; nothing was randomised`,
        { field },
      );
    }
  }
}
