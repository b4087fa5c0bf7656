/**
 * How one epsilon is divided among the perturbed attributes: uniform, k-based (Arcolezi et al., DBSec 2023, section
 * 3.2), or weights. Parts are rounded down to 12 places, so that they never sum to more than the total.
 */

import { EPSILON_MAX, EPSILON_MIN, formatDecimal, parseDecimal, UNIT } from "./decimals.js";
import { InvalidParameter, shown } from "./errors.js";

/** @typedef {"uniform" | "k-based" | Map<string, bigint>} Split A named rule, or weights in units of 10^-12. */

/**
 * Read a published split.
 *
 * @param {unknown} value
 * @returns {Split}
 */
export function parseSplit(value) {
  if (value === "uniform" || value === "k-based") return value;
  const weights = value && Object.keys(value).join() === "weights" && /** @type {any} */ (value).weights;
  if (!weights || typeof weights !== "object" || Array.isArray(weights)) {
    throw new InvalidParameter(
      `split is ${shown(value)}; it is uniform, k-based or {weights: {attribute: decimal}}`,
      "split",
    );
  }
  return new Map(
    Object.entries(weights).map(([name, weight]) => [
      name,
      parseDecimal(weight, `split.weights[${name.slice(0, 80)}]`, 1n, 1_000_000n * UNIT),
    ]),
  );
}

/**
 * Weigh every perturbed attribute.
 *
 * @param {Split} split
 * @param {[name: string, k: number][]} sizes Domain size of every perturbed attribute.
 * @returns {[name: string, weight: bigint][]}
 */
export function weigh(split, sizes) {
  if (!(split instanceof Map)) return sizes.map(([name, k]) => [name, split === "uniform" ? 1n : BigInt(k)]);
  const names = sizes.map(([name]) => name);
  const wrong = [...split.keys()].find((name) => !names.includes(name)) ?? names.find((name) => !split.has(name));
  if (wrong !== undefined) {
    throw new InvalidParameter(
      `split.weights must name exactly the perturbed attributes, ${names.join(", ")}; correct ${shown(wrong)}`,
      `split.weights[${wrong.slice(0, 80)}]`,
    );
  }
  return names.map((name) => [name, split.get(name) ?? 0n]);
}

/**
 * Divide a total: floor(total * weight / sum of weights) of each, in units of 10^-12.
 *
 * @param {bigint} total
 * @param {[name: string, weight: bigint][]} weights
 * @returns {Map<string, bigint>}
 */
export function splitBudget(total, weights) {
  const sum = weights.reduce((all, [, weight]) => all + weight, 0n);
  return new Map(
    weights.map(([name, weight]) => {
      const part = (total * weight) / sum;
      if (part < EPSILON_MIN || part > EPSILON_MAX) {
        throw new InvalidParameter(
          `the split leaves ${name} with epsilon ${formatDecimal(part)}, outside [0.000001, 64]; raise the total`,
          `attributes[${name}].epsilon`,
        );
      }
      return [name, part];
    }),
  );
}
