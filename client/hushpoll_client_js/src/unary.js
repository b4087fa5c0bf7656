/**
 * Unary encoding: one independent bit per value (Wang et al., USENIX Security 2017, section 4).
 *
 * The bit of the true value is set with probability p = P/2^64, every other with q = R/2^64. Two answers differ in
 * two bits, so the ratio is at most p(1-q)/(q(1-p)): R is rounded up and P down.
 */

import { UNIT } from "./decimals.js";
import { ceilInExp, floorInExp } from "./exponential.js";
import { lieThreshold } from "./grr.js";
import { pack, packedSize, unpack } from "./packing.js";
import { Q } from "./protocol.js";

// Binary places of the powers in unaryRevealed: after k roundings far more than the 40 decimal places used are right.
const PLACES = 384n;

/**
 * @param {number} k
 * @param {bigint} P Words that set the bit of the true value.
 * @param {bigint} R Words that set the bit of any other value.
 * @returns {import("./protocol.js").Law}
 */
const unary = (k, P, R) => ({
  recordSize: packedSize(k),
  thresholds: { P, R },
  randomize: (value, bits) => {
    const words = Array.from(bits(k));
    return pack(
      words.flatMap((word, v) => (word < (v === value ? P : R) ? v : [])),
      k,
    );
  },
});

/** @type {import("./protocol.js").Support} */
export const unarySupport = ({ k }, record) => unpack(record, k);

/**
 * The best guess is (p/q * (1 - (1-q)^k) + (1-p)(1-q)^(k-1))/k: any member of a non-empty support.
 *
 * @type {import("./protocol.js").Revealed}
 */
export function unaryRevealed({ k, thresholds: { P, R } }) {
  let unset = 1n << PLACES;
  for (const bit of (k - 1).toString(2)) {
    unset = (unset * unset) >> PLACES;
    if (bit === "1") unset = (unset * (Q - R)) / Q;
  }
  const some = (Q << PLACES) - unset * (Q - R);
  return {
    ratio: [P * (Q - R), R * (Q - P)],
    truth: [P, Q],
    bestGuess: [P * some + R * (Q - P) * unset, (BigInt(k) * Q * R) << PLACES],
  };
}

/**
 * Basic one-time RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014): every bit is flipped with the same probability.
 *
 * @param {number} k
 * @param {bigint} units
 */
export function rappor(k, units) {
  const flip = lieThreshold(2, units, 2n * UNIT);
  return unary(k, Q - flip, flip);
}

/**
 * Optimized unary encoding: the bit of the truth is a fair coin.
 *
 * @param {number} k
 * @param {bigint} units
 */
export const oue = (k, units) => unary(k, Q / 2n, lieThreshold(2, units));

/**
 * Thresholding with histogram encoding, the bits of the thresholded Laplace histogram drawn directly:
 * P = floor(Q(1 - e^(epsilon(theta-1)/2)/2)) and R = ceil(Q e^(-epsilon theta/2)/2).
 *
 * @param {number} k
 * @param {bigint} units
 * @param {{theta: string}} parameters Four places, in (0.5, 1).
 */
export function the(k, units, { theta }) {
  const grid = BigInt(theta.slice(2));
  const unit = 20_000n * UNIT;
  return unary(
    k,
    floorInExp((e, scale) => [Q * (2n * scale - e), 2n * scale], [units * (grid - 10_000n), unit]),
    ceilInExp((e, scale) => [Q * e, 2n * scale], [-units * grid, unit]),
  );
}
