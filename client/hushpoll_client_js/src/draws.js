/**
 * Draws: sets of blocks of which a device sends some, chosen at random and independently of the answers; loaded where a manifest has
 * `draws`. The part of a draw in a record is a mask, least significant bit first, and then all of its blocks in its own order; those that
 * are not chosen are zero.
 */

import { formatDecimal, GIVEN, integer, LIST, must, NAME, pack, packedSize, parseDecimal, shape, splitBudget, uniformSubset } from "./core.js";

/** @typedef {import("./codec.js").Part} Part */

/**
 * What a block knows of its draw.
 *
 * @typedef {object} OfDraw
 * @property {string} name
 * @property {string} where Its path in the manifest.
 * @property {number} count Its blocks.
 * @property {number} answer How many of them a device sends.
 * @property {bigint} units Epsilon of the draw in units of 10^-12.
 * @property {string} epsilon
 * @property {number} at Where the block stands in it.
 */

/**
 * Check the draws, and put the blocks of each together, where the first of them stands.
 *
 * @param {readonly Part[]} parts All parts of a record.
 * @param {readonly unknown[]} draws
 * @returns {Part[]} The same in the order of the record; blocks of draws know their draw.
 */
export function drawParts(parts, draws) {
  const taken = new Set(parts.flatMap(({ name, names = [] }) => [name, ...names]));
  /** @type {Map<string, Part[]>} */
  const runs = new Map();
  must(draws.length, "draws", draws, "left out where there is none");
  draws.forEach((/** @type {any} */ value, number) => {
    const where = `draws[${NAME[0](value?.name) ? value.name : number}]`;
    const { name, blocks, answer, epsilon } = shape(value, where, { name: NAME, blocks: LIST, answer: integer(1, 255), epsilon: GIVEN });
    must(!taken.has(name), `${where}.name`, name, "a new name");
    taken.add(name);
    const count = blocks.length;
    must(count > 1, `${where}.blocks`, blocks, "two or more");
    must(answer < count, `${where}.answer`, answer, `1 to ${count - 1}`);
    const units = parseDecimal(epsilon, `${where}.epsilon`);
    let start = 0;
    const members = blocks.map((/** @type {unknown} */ block, /** @type {number} */ at) => {
      const part = parts.find((one) => one.name === block && one.oracle);
      must(part && !runs.has(part.name), `${where}.blocks`, block, "a block, in one draw");
      runs.set(part.name, []);
      const before = at ? 0 : packedSize(count);
      /** @type {NonNullable<Part["chosen"]>} */
      const chosen = (record, offset, bits) => {
        if (!at) {
          start = offset - before;
          record.set(pack([...uniformSubset(count, answer, bits)], count), start);
        }
        return (record[start + (at >> 3)] >> (at & 7)) & 1;
      };
      return { ...part, before, chosen, draw: { name, where, count, answer, units, epsilon, at } };
    });
    for (const { name: block } of members) runs.set(block, members);
  });
  return [...new Set(parts.flatMap((part) => runs.get(part.name) ?? [part]))];
}

/**
 * Check that the split gives draws and blocks outside draws what they claim, and chosen blocks their part of it, rounded down.
 *
 * @param {bigint} total
 * @param {unknown} split
 * @param {readonly Part[]} parts
 * @param {typeof splitBudget} [divide] Where options of select-alls are one entry of the split.
 */
export function checkShares(total, split, parts, divide = splitBudget) {
  const perturbed = parts.filter(({ oracle }) => oracle);
  const units = perturbed.flatMap((part) => (part.draw ? (part.draw.at ? [] : [{ ...part, ...part.draw, k: 1 }]) : [part]));
  const shares = divide(total, split, units);
  const ofDraws = new Map(units.map(({ name }, at) => [name, shares[at]]));
  for (const { name, where, units: own, draw } of perturbed) {
    const part = /** @type {bigint} */ (ofDraws.get(draw?.name ?? name)) / BigInt(draw?.answer ?? 1);
    must(own === part, `${where}.epsilon`, formatDecimal(own), `${formatDecimal(part)} by the split`);
  }
  units.forEach(({ where, units: own, epsilon }, at) => {
    must(own === shares[at], `${where}.epsilon`, epsilon, `${formatDecimal(shares[at])} by the split`);
  });
}
