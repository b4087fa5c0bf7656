/**
 * Subset selection (Ye and Barg, IEEE Trans. Inf. Theory 2018; Wang et al. 2016).
 *
 * The record is a uniform subset of omega values that contains the truth with probability p = P/2^64. The ratio is
 * p/(1-p) * (k-omega)/omega, at most e^epsilon because P is rounded down.
 */

import { UNIT } from "./decimals.js";
import { floorInExp } from "./exponential.js";
import { pack, packedSize, unpack } from "./packing.js";
import { Q } from "./protocol.js";
import { uniformSubset } from "./subset.js";

/**
 * @param {number} k
 * @param {bigint} units
 * @param {{omega: number}} parameters Size of every subset, in [1, k-1].
 * @returns {import("./protocol.js").Law}
 */
export function ss(k, units, { omega }) {
  const w = BigInt(omega);
  const P = floorInExp((e, scale) => [Q * w * e, w * e + (BigInt(k) - w) * scale], [units, UNIT]);
  return {
    recordSize: packedSize(k),
    thresholds: { P },
    // The keep word, then a uniform subset of the others.
    randomize: (value, bits) => {
      const keep = bits(1)[0] < P;
      const size = keep ? omega - 1 : omega;
      const chosen = uniformSubset(k - 1, size, bits);
      const members = [...chosen].map((other) => (other < value ? other : other + 1));
      return pack(keep ? [...members, value] : members, k);
    },
  };
}

/** @type {import("./protocol.js").Support} */
export function ssSupport({ k, parameters: { omega } }, record) {
  const members = unpack(record, k);
  return members === "padding" || members.length === omega ? members : "popcount";
}

/** @type {import("./protocol.js").Revealed} */
export function ssRevealed({ k, parameters: { omega }, thresholds: { P } }) {
  const w = BigInt(omega);
  return { ratio: [P * (BigInt(k) - w), (Q - P) * w], truth: [P, Q], bestGuess: [P, Q * w], supportSize: omega };
}
