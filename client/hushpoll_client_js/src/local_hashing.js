/**
 * Local hashing, BLH and OLH: hash the domain into g buckets with a fresh public hash, then GRR over them.
 *
 * Bassily and Smith (STOC 2015); Wang et al. (USENIX Security 2017), section 4.4. The seed is drawn independently of
 * the answer, so the record's epsilon is that of GRR over g. A record is a, b (8 bytes each) and the bucket y (2 bytes).
 */

import { lieThreshold, respond } from "./grr.js";
import { bucket } from "./hashing.js";
import { readInteger, writeInteger } from "./integers.js";
import { Q } from "./protocol.js";

/**
 * @param {number} _k
 * @param {bigint} units
 * @param {{g?: number}} parameters BLH has two buckets and publishes none.
 * @returns {import("./protocol.js").Law}
 */
export function localHashing(_k, units, { g = 2 }) {
  const R = lieThreshold(g, units);
  return {
    recordSize: 18,
    thresholds: { R },
    randomize: (value, bits) => {
      const [a, b, word] = Array.from(bits(3));
      const y = respond(bucket(a, b, value, g), word, g - 1, R);
      return writeInteger(a | (b << 64n) | (BigInt(y) << 128n), 18);
    },
  };
}

/** @type {import("./protocol.js").Support} */
export function hashingSupport({ k, parameters: { g = 2 } }, record) {
  const read = readInteger(record);
  const y = Number(read >> 128n);
  return y < g ? [...Array(k).keys()].filter((v) => bucket(read % Q, (read >> 64n) % Q, v, g) === y) : "range";
}

/**
 * The best guess is given a hash that reaches min(g, k) buckets: p where the bucket is reached, R/2^64 where it is not.
 *
 * @type {import("./protocol.js").Revealed}
 */
export function hashingRevealed({ k, parameters: { g = 2 }, thresholds: { R } }) {
  const truth = Q - BigInt(g - 1) * R;
  const reached = BigInt(Math.min(g, k));
  return {
    ratio: [truth, R],
    truth: [truth, Q],
    bestGuess: [reached * truth + (BigInt(g) - reached) * R, Q * BigInt(k)],
    hashed: true,
  };
}
