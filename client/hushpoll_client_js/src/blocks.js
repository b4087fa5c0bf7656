/**
 * Blocks of several questions, whose answers are randomised as one value; loaded where a manifest has `together`. Their combinations are in
 * mixed radix, the first question slowest, without those that a follow-up makes impossible.
 */

import { checkClaims, CLAIMS, integer, K_MAX, LIST, must, NAME, obey, shape } from "./core.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * A declared block of several questions.
 *
 * @typedef {object} Together
 * @property {string} name
 * @property {string[]} attributes
 * @property {string} protocol
 * @property {string} epsilon
 * @property {string} where Its path in the manifest.
 * @property {bigint[]} [within] Of the options of a select-all, the combinations that its limits leave.
 */

/** @typedef {import("./codec.js").Part} Part */

/**
 * The declared blocks, before their questions are read.
 *
 * @param {unknown[]} together
 * @returns {Together[]}
 */
export const readTogether = (together) =>
  together.map((/** @type {any} */ value, at) => {
    const where = `together[${NAME[0](value?.name) ? value.name : at}]`;
    return /** @type {any} */ ({ ...shape(value, where, { name: NAME, attributes: LIST, ...CLAIMS }), where });
  });

/**
 * Check the blocks, give their questions the block's oracle, and put each block in the place of the first of its questions.
 *
 * @param {readonly Part[]} alone A part for each attribute.
 * @param {Attribute[]} attributes
 * @param {Together[]} together
 * @returns {Part[]} All parts of a record.
 */
export function joinParts(alone, attributes, together) {
  const taken = new Set(attributes.map(({ name }) => name));
  const used = new Set();
  const blocks = new Map(
    together.map(({ name, attributes: members, where, within, ...claims }) => {
      must(!taken.has(name), `${where}.name`, name, "a new name");
      taken.add(name);
      const field = `${where}.attributes`;
      must(members.length > 1, field, members, "two or more");
      const places = members.map((member) => {
        const place = attributes.findIndex((attribute) => attribute.name === member);
        must(place >= 0 && attributes[place].role !== "plain" && !("number" in attributes[place]) && !used.has(member), field, member, "perturbed, in one block");
        used.add(member);
        return place;
      });
      const combinations = within ?? combinationsOf(places, attributes);
      const k = combinations.length;
      obey(k, field, integer(2, K_MAX));
      const code = (/** @type {readonly number[]} */ codes) => combinations.indexOf(lanesOf(places, codes));
      const part = { name, where, places, names: members, k, combinations, code, epsilon: claims.epsilon, ...checkClaims(claims, k, where) };
      for (const place of places) attributes[place].oracle = part.oracle;
      return [name, part];
    }),
  );
  const parts = attributes.map(({ block }, at) => (block ? blocks.get(block) : alone[at]));
  return /** @type {Part[]} */ ([...new Set(parts)]);
}

/**
 * The combinations of answers to the questions of a block that are possible, increasing: codes in lanes of 16 bits, the first question's
 * highest.
 *
 * @param {number[]} places Of the block's questions among the attributes, the slowest first.
 * @param {Attribute[]} attributes
 * @returns {bigint[]} Some of them where they are more than a domain may have.
 */
export function combinationsOf(places, attributes) {
  // Routers outside of the block decide as well: what is added is visited in its turn.
  const concerned = new Set(places);
  for (const place of concerned) concerned.add(attributes[place].router ?? place);
  // A state has the lanes so far, and above them which of the later follow-ups are asked. There are never more of them than
  // combinations in the end. An engine may tell big numbers apart by their low bits alone, so a set of many is no place for them:
  // states can only meet where a question outside of the block has been passed.
  const above = BigInt(16 * places.length);
  const flag = (/** @type {number} */ place) => 1n << (above + BigInt(place));
  let states = [0n];
  attributes.forEach(({ k, asking, categories }, place) => {
    const lane = lanesOf(places, { [place]: 1 });
    const steps = Array.from({ length: k }, (_, code) =>
      [...concerned].reduce((step, other) => {
        const { router, asking: after } = attributes[other];
        return router === place && after?.has(categories[code]) ? step + flag(other) : step;
      }, lane * BigInt(code)),
    );
    const unasked = asking && distinct(steps.splice(-1));
    const asked = distinct(steps);
    const met = new Set();
    const next = [];
    for (const state of states) {
      const own = state & flag(place);
      for (const step of own ? asked : (unasked ?? asked)) {
        const to = state - own + step;
        if (!lane && met.size === met.add(to).size) continue;
        next.push(to);
      }
      if (next.length > K_MAX) break;
    }
    states = next;
  });
  const lanes = (1n << above) - 1n;
  return states.map((state) => state & lanes).sort((a, b) => (a < b ? -1 : 1));
}

/** @type {(numbers: bigint[]) => bigint[]} */
const distinct = (numbers) => [...new Set(numbers)];

/**
 * The combination of some questions' codes, in lanes.
 *
 * @param {number[]} places
 * @param {Readonly<Record<number, number>>} codes By place; absent ones are 0.
 */
export const lanesOf = (places, codes) => places.reduce((lanes, place) => (lanes << 16n) + BigInt(codes[place] ?? 0), 0n);
