/**
 * How one epsilon is divided among the perturbed attributes: uniform, k-based (Arcolezi et al., DBSec 2023, section
 * 3.2), or weights. Parts are rounded down to 12 places, so that they never sum to more than the total.
 */

import { formatDecimal, parseDecimal, UNIT } from "./decimals.js";
import { must } from "./rules.js";

/**
 * Weigh every perturbed attribute by a published split.
 *
 * @param {unknown} split `"uniform"`, `"k-based"` or `{weights: {attribute: decimal string}}`.
 * @param {[name: string, k: number][]} sizes Domain size of every perturbed attribute.
 * @returns {[name: string, weight: bigint][]}
 */
export function weigh(split, sizes) {
  if (split === "uniform") return sizes.map(([name]) => [name, 1n]);
  if (split === "k-based") return sizes.map(([name, k]) => [name, BigInt(k)]);
  const weights = Object.keys(Object(split)).join() === "weights" && /** @type {any} */ (split).weights;
  must(
    weights && typeof weights === "object" && !Array.isArray(weights),
    "split",
    split,
    "uniform, k-based or {weights: {attribute: decimal}}",
  );
  const path = (/** @type {string} */ name) => `split.weights[${name.slice(0, 80)}]`;
  for (const name of Object.keys(weights)) {
    must(sizes.some(([known]) => known === name), path(name), weights[name], "of a perturbed attribute");
  }
  return sizes.map(([name]) => [name, parseDecimal(weights[name], path(name), 1n, 1_000_000n * UNIT)]);
}

/**
 * Divide a total: floor(total * weight / sum of weights) of each.
 *
 * @param {bigint} total In units of 10^-12.
 * @param {[name: string, weight: bigint][]} weights
 * @returns {bigint[]} In units of 10^-12, each an epsilon in [1e-6, 64].
 */
export function splitBudget(total, weights) {
  const sum = weights.reduce((all, [, weight]) => all + weight, 0n);
  return weights.map(([name, weight]) =>
    parseDecimal(formatDecimal((total * weight) / sum), `attributes[${name}].epsilon`),
  );
}
