/** What a record reveals, in chances rather than in epsilon. */

import { grrRevealed } from "./grr.js";
import { hashingRevealed } from "./local_hashing.js";
import { ssRevealed } from "./ss.js";
import { unaryRevealed } from "./unary.js";

/** @typedef {import("./exponential.js").Rational} Rational */

/** @type {Readonly<Record<string, import("./protocol.js").Revealed>>} */
export const REVEALED = {
  GRR: grrRevealed,
  BLH: hashingRevealed,
  OLH: hashingRevealed,
  RAPPOR: unaryRevealed,
  OUE: unaryRevealed,
  SS: ssRevealed,
  THE: unaryRevealed,
};

/**
 * @typedef {object} Disclosure
 * @property {string} bestGuess Chance that the best guess of the answer from the record is right when every answer
 *   was equally likely beforehand, in [1/k, 1]. For local hashing: given the most revealing hash function.
 * @property {string} truth Chance that the record is, or supports, the true answer; the same for every answer.
 * @property {string} largestPosterior Largest probability that any possible record can give to any answer, from the
 *   same prior.
 * @property {number | undefined} supportSize Number of answers that every record supports; undefined where it varies.
 * @property {boolean | undefined} hashed Whether a record has a hash; `bestGuess` is then that of the most revealing hash.
 */

/**
 * What a record of an oracle reveals; the chances are decimal strings rounded up to 12 places, so they never understate.
 *
 * @param {import("./protocol.js").FrequencyOracle} oracle
 * @returns {Disclosure}
 */
export function disclosure(oracle) {
  const { ratio, truth, bestGuess, supportSize, hashed } = REVEALED[oracle.name](oracle);
  const [inside, outside] = ratio;
  // The smallest support that is not empty.
  const support = BigInt(supportSize ?? 1);
  return {
    supportSize,
    hashed,
    bestGuess: chance(bestGuess),
    truth: chance(truth),
    largestPosterior: chance([inside, inside * support + outside * (BigInt(oracle.k) - support)]),
  };
}

const GUARD = 10n ** 28n;
const ONE = 10n ** 12n;

/** @param {Rational} value */
function chance([numerator, denominator]) {
  // It is rounded to 40 places before it is rounded up, so that a value that is exact at 12 places stays as it is.
  const trimmed = (2n * numerator * ONE * GUARD + denominator) / (2n * denominator);
  const units = (trimmed + GUARD - 1n) / GUARD;
  return units < ONE ? `0.${String(units).padStart(12, "0")}` : "1.000000000000";
}
