/**
 * Blocks: the questions whose answers are randomised as one value. Their combinations are in mixed radix, the first question
 * slowest, without those that a follow-up makes impossible. A question alone is a block of one, of its own name.
 */

import { checkClaims, CLAIMS } from "./attribute.js";
import { combinationsOf } from "./follow_ups.js";
import { K_MAX } from "./protocol.js";
import { integer, LIST, must, NAME, obey, shape } from "./rules.js";

/** @typedef {import("./attribute.js").Attribute} Attribute */

/**
 * A declared block of several questions.
 *
 * @typedef {{name: string, attributes: string[], protocol: string, epsilon: string, where: string}} Together
 */

/**
 * What has one place in a record: a block, or an attribute in clear.
 *
 * @typedef {object} Part
 * @property {string} name
 * @property {string} where Its path in the manifest.
 * @property {number[]} places Of its questions among the attributes, the slowest first.
 * @property {number} k Domain size.
 * @property {bigint[]} [combinations] Of a block of several the combinations that are possible: see `combinationsOf`.
 * @property {bigint} units Epsilon in units of 10^-12; 0 in clear.
 * @property {string} [epsilon]
 * @property {import("./protocol.js").FrequencyOracle | undefined} [oracle]
 */

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
 * Check the blocks, give their questions the block's oracle, and return all parts of a record: a block stands where the first of its
 * questions stands.
 *
 * @param {Attribute[]} attributes
 * @param {Together[]} together
 * @returns {Part[]}
 */
export function partsOf(attributes, together) {
  const taken = new Set(attributes.map(({ name }) => name));
  const used = new Set();
  const blocks = new Map(
    together.map(({ name, attributes: members, where, ...claims }) => {
      must(!taken.has(name), `${where}.name`, name, "a new name");
      taken.add(name);
      const field = `${where}.attributes`;
      must(members.length > 1, field, members, "two or more");
      const places = members.map((member) => {
        const place = attributes.findIndex((attribute) => attribute.name === member);
        must(place >= 0 && attributes[place].role !== "plain" && !used.has(member), field, member, "perturbed, in one block");
        used.add(member);
        return place;
      });
      const combinations = combinationsOf(places, attributes);
      const k = combinations.length;
      obey(k, field, integer(2, K_MAX));
      const part = { name, where, places, k, combinations, epsilon: claims.epsilon, ...checkClaims(claims, k, where) };
      for (const place of places) attributes[place].oracle = part.oracle;
      return [name, part];
    }),
  );
  const parts = attributes.map(({ name, k, units, epsilon, oracle, block }, at) =>
    block ? blocks.get(block) : { name, where: `attributes[${name}]`, places: [at], k, units, epsilon, oracle },
  );
  return /** @type {Part[]} */ ([...new Set(parts)]);
}
