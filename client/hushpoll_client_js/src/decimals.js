/** Exact decimals as integers of units of 10^-12, with one spelling and never through binary floats. */

import { InvalidParameter, shown } from "./errors.js";

/** Units in 1: an epsilon or a weight has at most 12 decimal places. */
export const UNIT = 10n ** 12n;

const CANONICAL = /^(0|[1-9]\d*)(\.\d*[1-9])?$/;

/**
 * Read a decimal in its one spelling: a string without exponent, sign or superfluous zero.
 *
 * @param {unknown} value
 * @param {string} field
 * @param {bigint} least In units of 10^-12, inclusive.
 * @param {bigint} most
 * @returns {bigint} Units of 10^-12.
 */
export function parseDecimal(value, field, least, most) {
  if (typeof value === "string" && CANONICAL.test(value)) {
    const [whole, places = ""] = value.split(".");
    // Longer digits are outside every interval; converting them would take quadratic time.
    const units = whole.length < 9 && places.length < 13 ? BigInt(whole + places.padEnd(12, "0")) : -1n;
    if (units >= least && units <= most) return units;
  }
  throw new InvalidParameter(
    `${field} is ${shown(value)}; give a decimal string in [${formatDecimal(least)}, ${formatDecimal(most)}] with ` +
      'at most 12 places and no superfluous zero, such as "0.25"',
    field,
  );
}

/** Smallest and largest epsilon, in units of 10^-12: [1e-6, 64]. */
export const EPSILON_MIN = 10n ** 6n;
export const EPSILON_MAX = 64n * UNIT;

/**
 * Read an epsilon in [1e-6, 64].
 *
 * @param {unknown} value
 * @param {string} field
 */
export function parseEpsilon(value, field) {
  return parseDecimal(value, field, EPSILON_MIN, EPSILON_MAX);
}

/**
 * Spell units of 10^-12 in plain notation without superfluous zeros.
 *
 * @param {bigint} units Not negative.
 */
export function formatDecimal(units) {
  const places = String(units % UNIT).padStart(12, "0").replace(/0+$/, "");
  return String(units / UNIT) + (places && `.${places}`);
}
