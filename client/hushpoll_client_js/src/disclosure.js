/** What a record reveals, in chances rather than in epsilon. */

/** @typedef {import("./exponential.js").Rational} Rational */

/**
 * @typedef {object} Disclosure
 * @property {string} bestGuess Chance that the best guess of the answer from the record is right when every answer
 *   was equally likely beforehand, in [1/k, 1]. For local hashing: given the most revealing hash function.
 * @property {string} largestPosterior Largest probability that any possible record can give to any answer, from the
 *   same prior.
 */

/**
 * Both chances of an oracle, as decimal strings rounded up to 12 places: they never understate.
 *
 * @param {import("./registry.js").FrequencyOracle} oracle
 * @returns {Disclosure}
 */
export function disclosure({ k, likelihoodRatio: [inside, outside], smallestSupport, bestGuess }) {
  const support = BigInt(smallestSupport);
  return {
    bestGuess: chance(bestGuess()),
    largestPosterior: chance([inside, inside * support + outside * (BigInt(k) - support)]),
  };
}

const GUARD = 10n ** 28n;
const ONE = 10n ** 12n;

/** @param {Rational} value */
function chance([numerator, denominator]) {
  // Rounded to 40 places before it is rounded up, so that a value meant to be exact at the 12th stays exact.
  const trimmed = (2n * numerator * ONE * GUARD + denominator) / (2n * denominator);
  const units = (trimmed + GUARD - 1n) / GUARD;
  return units < ONE ? `0.${String(units).padStart(12, "0")}` : "1.000000000000";
}
