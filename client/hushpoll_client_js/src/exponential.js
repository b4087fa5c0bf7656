/**
 * Exact directed rounding of expressions in e^x, with integers alone.
 *
 * e^x is transcendental for every rational x other than 0 (Lindemann), so no expression here is ever an
 * integer: enclosing e^x ever more tightly must end with both ends in the same unit interval.
 */

/**
 * An exact rational: numerator and denominator, the latter positive.
 *
 * @typedef {readonly [bigint, bigint]} Rational
 */

const HALVINGS = 10n;

/**
 * Enclose e^x * 2^bits between two integers.
 *
 * @param {Rational} x Exponent, |x| at most 64 or so.
 * @param {bigint} bits Binary places.
 * @returns {[bigint, bigint]} Strictly below and strictly above.
 */
export function encloseExp([numerator, denominator], bits) {
  const scale = 1n << bits;
  if (numerator < 0n) {
    const [low, high] = encloseExp([-numerator, denominator], bits);
    return [(scale * scale) / high, (scale * scale) / low + 1n];
  }
  // x/2^10 is under 1/8, so that the series falls fast and its remainder is under its last term.
  const down = (numerator << bits) / (denominator << HALVINGS);
  let low = series(down, scale, 0n);
  let high = series(down + 1n, scale, 1n) + 2n;
  for (let i = 0n; i < HALVINGS; i++) {
    low = (low * low) >> bits;
    high = ((high * high) >> bits) + 1n;
  }
  return [low - 1n, high];
}

/**
 * Sum the series of e^x, each term rounded down and then raised by `up`.
 *
 * @param {bigint} x Times `scale`.
 * @param {bigint} scale
 * @param {bigint} up
 */
function series(x, scale, up) {
  let sum = scale;
  let term = scale;
  for (let i = 1n; term > up; i++) {
    term = (term * x) / (scale * i) + up;
    sum += term;
  }
  return sum;
}

/**
 * Return floor(expression(e^x)), exactly.
 *
 * @param {(e: bigint, scale: bigint) => Rational} expression Monotone rational function of e^x, positive; e^x
 *   is given as e/scale.
 * @param {Rational} x Not 0.
 * @returns {bigint}
 */
export function floorInExp(expression, x) {
  for (let bits = 256n; ; bits *= 2n) {
    const [low, high] = encloseExp(x, bits).map((e) => {
      const [numerator, denominator] = expression(e, 1n << bits);
      return numerator / denominator;
    });
    if (low === high) return low;
  }
}

/**
 * Return ceil(expression(e^x)), exactly; see `floorInExp`.
 *
 * @param {(e: bigint, scale: bigint) => Rational} expression
 * @param {Rational} x
 */
export function ceilInExp(expression, x) {
  return floorInExp(expression, x) + 1n;
}
