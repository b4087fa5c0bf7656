/** Exact decimals as integers of units of 10^-12, with one spelling and never through binary floats. */

import { must } from "./rules.js";

/** Units in 1: an epsilon or a weight has at most 12 decimal places. */
export const UNIT = 10n ** 12n;

/**
 * Read a decimal in its one spelling: a string without exponent, sign or superfluous zero.
 *
 * @param {unknown} value
 * @param {string} field
 * @param {bigint} [least] In units of 10^-12, inclusive; by default 1e-6 and 64, those of an epsilon.
 * @param {bigint} [most]
 * @returns {bigint} Units of 10^-12.
 */
export function parseDecimal(value, field, least = 10n ** 6n, most = 64n * UNIT) {
  // Longer digits are outside every interval, and converting them would take quadratic time.
  const [, whole, places = ""] = /^(0|[1-9]\d{0,8})(?:\.(\d{0,11}[1-9]))?$/.exec(String(value)) ?? [];
  const units = typeof value === "string" && whole ? BigInt(whole + places.padEnd(12, "0")) : -1n;
  must(
    units >= least && units <= most,
    field,
    value,
    `a string in [${formatDecimal(least)}, ${formatDecimal(most)}], at most 12 places`,
  );
  return units;
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
