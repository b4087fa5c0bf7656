/** The table of protocols. A protocol is one function and one line here. */

import { parseDecimal } from "./decimals.js";
import { InvalidParameter, MalformedRecord } from "./errors.js";
import { grr } from "./grr.js";
import { localHashing } from "./local_hashing.js";
import { K_MAX } from "./protocol.js";
import { integer, must, oneOf, shape } from "./rules.js";
import { ss } from "./ss.js";
import { oue, rappor, the } from "./unary.js";

/** @typedef {import("./protocol.js").Law} Law */
/** @typedef {import("./rules.js").Rule} Rule */

/**
 * Every protocol: its law, and the rules of the parameters that a manifest publishes for it.
 *
 * @type {Readonly<Record<string, readonly [law: (k: number, units: bigint, parameters: any) => Law,
 *   parameters?: (k: number) => Record<string, Rule>]>>}
 */
export const PROTOCOLS = {
  GRR: [grr],
  BLH: [localHashing],
  OLH: [localHashing, () => ({ g: integer(2, K_MAX) })],
  RAPPOR: [rappor],
  OUE: [oue],
  SS: [ss, (k) => ({ omega: integer(1, k - 1) })],
  THE: [the, () => ({ theta: [(v) => typeof v === "string" && /^0\.\d{4}$/.test(v) && +v > 0.5, "4 places in (0.5, 1)"] })],
};

/**
 * One protocol at one (k, epsilon).
 *
 * @typedef {Readonly<Omit<Law, "support"> & {
 *   name: string,
 *   k: number,
 *   epsilon: string,
 *   parameters: Record<string, number | string>,
 *   support: (record: Uint8Array) => number[],
 * }>} FrequencyOracle
 */

/**
 * Build a frequency oracle. Its own parameters are taken as published, never chosen here: what is checked is the law
 * that they give, not that they are the best ones.
 *
 * @param {string} name A key of `PROTOCOLS`.
 * @param {object} options
 * @param {number} options.k Domain size, in [2, 65536]; values are 0..k-1.
 * @param {string} options.epsilon Canonical decimal string in [1e-6, 64].
 * @param {number} [options.g] OLH: buckets, in [2, 65536].
 * @param {number} [options.omega] SS: size of the subset, in [1, k-1].
 * @param {string} [options.theta] THE: four places, in (0.5, 1).
 * @param {string} [where] Path of the parameters, for errors.
 * @returns {FrequencyOracle} `randomize` throws InvalidParameter for what is no code, `support` MalformedRecord.
 */
export function create(name, { k, epsilon, ...parameters }, where = "") {
  const [test, words] = oneOf(...Object.keys(PROTOCOLS));
  must(test(name), "protocol", name, words);
  shape({ k }, "", { k: integer(2, K_MAX) });
  const units = parseDecimal(epsilon, "epsilon");
  const [build, rules] = PROTOCOLS[name];
  shape(parameters, where, rules?.(k) ?? {});
  const law = build(k, units, parameters);
  // As much as p > q.
  must(law.likelihoodRatio[0] > law.likelihoodRatio[1], "epsilon", epsilon, `larger: ${name} cannot tell ${k} values apart`);
  return Object.freeze({
    name,
    k,
    epsilon,
    parameters,
    ...law,
    /** @type {Law["randomize"]} */
    randomize(value, bits) {
      if (!integer(0, k - 1)[0](value)) {
        throw new InvalidParameter(`the value given to ${name} (not shown) is no code in [0, ${k - 1}]; give one`, {
          field: "value",
        });
      }
      return law.randomize(value, bits);
    },
    /** @param {Uint8Array} record */
    support(record) {
      const found = record.length === law.recordSize ? law.support(record) : "length";
      if (typeof found === "string") {
        throw new MalformedRecord(`the ${name} record is malformed (${found}); send it exactly as the device made it`, {
          reason: found,
        });
      }
      return found;
    },
  });
}
