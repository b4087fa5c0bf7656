/** The table of protocols. A protocol is one module and one line here, in `inspection.js` and in `disclosure.js`. */

import { grr } from "./grr.js";
import { localHashing } from "./local_hashing.js";
import { K_MAX } from "./protocol.js";
import { integer, MAPPING, matching, must, obey } from "./rules.js";
import { ss } from "./ss.js";
import { oue, rappor, the } from "./unary.js";

/** @typedef {import("./protocol.js").FrequencyOracle} FrequencyOracle */
/** @typedef {import("./rules.js").Rule} Rule */

const THETA = matching(/^0\.([6-9]\d{3}|5(?!000)\d{3})$/, "4 places in (0.5, 1)");

/**
 * Every protocol: its law, and the name and rule of the parameter that a manifest publishes for it, if any.
 *
 * @type {Readonly<Record<string, readonly [law: (k: number, units: bigint, parameters: any) =>
 *   import("./protocol.js").Law, parameter?: string, rule?: (k: number) => Rule]>>}
 */
export const PROTOCOLS = {
  GRR: [grr],
  BLH: [localHashing],
  OLH: [localHashing, "g", () => integer(2, K_MAX)],
  RAPPOR: [rappor],
  OUE: [oue],
  SS: [ss, "omega", (k) => integer(1, k - 1)],
  THE: [the, "theta", () => THETA],
};

/**
 * Build a frequency oracle. Its own parameters are taken as published, never chosen here: what is checked is the law
 * that they give, not that they are the best ones.
 *
 * @param {string} name A key of `PROTOCOLS`.
 * @param {number} k Domain size, in [2, 65536]; values are 0..k-1.
 * @param {bigint} units Epsilon in units of 10^-12, in [1e-6, 64]: there the truth is always likelier than the rest.
 * @param {Record<string, unknown>} parameters OLH: g, buckets in [2, 65536]. SS: omega, size of the subset in [1, k-1].
 *   THE: theta, four places in (0.5, 1).
 * @param {string} [where] Path of the parameters, for errors.
 * @returns {FrequencyOracle}
 * @throws {InvalidParameter} Naming the parameter.
 */
export function create(name, k, units, parameters, where = "parameters") {
  const [law, parameter, rule] = PROTOCOLS[name];
  obey(parameters, where, MAPPING);
  must(Object.keys(parameters).length === (parameter ? 1 : 0) && String(Object.keys(parameters)) === (parameter ?? ""), where, parameters, `of ${parameter ?? "nothing"} for ${name}`);
  if (parameter && rule) obey(parameters[parameter], `${where}.${parameter}`, rule(k));
  return { name, k, parameters, ...law(k, units, parameters) };
}
