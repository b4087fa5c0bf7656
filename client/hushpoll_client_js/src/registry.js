/** The table of protocols. A protocol is one module and one line here. */

import { parseEpsilon } from "./decimals.js";
import { InvalidParameter, shown } from "./errors.js";
import { GRR } from "./grr.js";
import { BLH, OLH } from "./local_hashing.js";
import { checkInteger, K_MAX } from "./oracle.js";
import { SS } from "./ss.js";
import { OUE, RAPPOR, THE } from "./unary.js";

/**
 * Every protocol by name, with the parameters that a manifest publishes for it.
 *
 * @satisfies {Record<string, {oracle: new (k: number, units: bigint, parameters: any) => import("./oracle.js").FrequencyOracle,
 *   parameters: string[]}>}
 */
export const PROTOCOLS = Object.freeze({
  GRR: { oracle: GRR, parameters: [] },
  BLH: { oracle: BLH, parameters: [] },
  OLH: { oracle: OLH, parameters: ["g"] },
  RAPPOR: { oracle: RAPPOR, parameters: [] },
  OUE: { oracle: OUE, parameters: [] },
  SS: { oracle: SS, parameters: ["omega"] },
  THE: { oracle: THE, parameters: ["theta"] },
});

/** @typedef {keyof typeof PROTOCOLS} ProtocolName */

/**
 * @param {unknown} name
 * @param {string} field
 * @returns {ProtocolName}
 */
export function checkProtocol(name, field) {
  if (typeof name !== "string" || !Object.hasOwn(PROTOCOLS, name)) {
    throw new InvalidParameter(
      `${field} is ${shown(name)}; a protocol is one of ${Object.keys(PROTOCOLS).join(", ")}`,
      field,
    );
  }
  return /** @type {ProtocolName} */ (name);
}

/**
 * Build a frequency oracle. The protocol's own parameters are taken as published, never chosen here: what is checked
 * is the law that they give, not that they are the best ones.
 *
 * @param {string} name A key of `PROTOCOLS`.
 * @param {object} options
 * @param {number} options.k Domain size, in [2, 65536].
 * @param {string} options.epsilon Canonical decimal string in [1e-6, 64].
 * @param {number} [options.g] OLH: buckets, in [2, 65536].
 * @param {number} [options.omega] SS: size of the subset, in [1, k-1].
 * @param {string} [options.theta] THE: four places, in (0.5, 1).
 */
export function create(name, { k, epsilon, ...parameters }) {
  const { oracle: Oracle, parameters: known } = PROTOCOLS[checkProtocol(name, "protocol")];
  checkInteger(k, "k", 2, K_MAX);
  const units = parseEpsilon(epsilon, "epsilon");
  for (const parameter of Object.keys(parameters)) {
    if (!(/** @type {string[]} */ (known).includes(parameter))) {
      throw new InvalidParameter(
        `${name} does not take ${parameter}; it takes ${known.join() || "no parameters"}`,
        parameter,
      );
    }
  }
  const made = new Oracle(k, units, parameters);
  if (made.p[0] * made.q[1] <= made.q[0] * made.p[1]) {
    throw new InvalidParameter(
      `${name} over ${k} values at epsilon ${epsilon} cannot tell the truth from the rest; raise epsilon`,
      "epsilon",
    );
  }
  return made;
}
