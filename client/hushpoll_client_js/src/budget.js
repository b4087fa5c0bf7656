/**
 * How one epsilon is divided among the blocks, of which a perturbed attribute alone is one: uniform, k-based (Arcolezi et al., DBSec 2023, section
 * 3.2), or weights. Parts are rounded down to 12 places, so that they never sum to more than the total.
 */

import { formatDecimal, parseDecimal, UNIT } from "./decimals.js";
import { MAPPING, must } from "./rules.js";

/**
 * @param {bigint} total In units of 10^-12.
 * @param {any} split `"uniform"`, `"k-based"` or `{weights: {attribute: decimal string}}`, as published.
 * @param {readonly {name: string, where?: string, k: number}[]} perturbed
 * @returns {bigint[]} Of each block floor(total * weight / sum of weights), an epsilon in [1e-6, 64].
 */
export function splitBudget(total, split, perturbed) {
  const { weights } = Object(split);
  must(
    split === "uniform" || split === "k-based" || (MAPPING[0](weights) && Object.keys(split).length === 1),
    "split",
    split,
    "uniform, k-based or {weights: {...}}",
  );
  const path = (/** @type {string} */ name) => `split.weights[${name.slice(0, 80)}]`;
  for (const name of Object.keys(Object(weights))) {
    must(perturbed.some((attribute) => attribute.name === name), path(name), weights[name], "that of a block");
  }
  const parts = perturbed.map(({ name, k }) =>
    weights ? parseDecimal(weights[name], path(name), 1n, 1_000_000n * UNIT) : BigInt(split === "uniform" ? 1 : k),
  );
  const sum = parts.reduce((all, part) => all + part, 0n);
  return parts.map((part, at) =>
    parseDecimal(formatDecimal((total * part) / sum), `${perturbed[at].where ?? `attributes[${perturbed[at].name}]`}.epsilon`),
  );
}
