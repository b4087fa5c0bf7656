"""e^x between two rationals, by Taylor's series in integers; shares no code with the thresholds."""

from __future__ import annotations

from fractions import Fraction

_BITS = 320
_ONE = 1 << _BITS


def enclose_exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return (low, high) with low < e^x < high, some 200 bits apart, for 0 < |x| <= 64."""
    if x < 0:
        low, high = enclose_exp(-x)
        return 1 / high, 1 / low
    halvings = 8
    low = high = _ONE
    term_low = term_high = _ONE
    # x/2^8 is at most 1/4, so after 80 terms the remainder is below 4^-80/80! < 2^-320, and at most
    # twice the next term.
    argument = x / (1 << halvings)
    assert argument <= Fraction(1, 4)
    for i in range(1, 81):
        term_low = term_low * argument.numerator // (argument.denominator * i)
        term_high = -(-term_high * argument.numerator // (argument.denominator * i))
        low += term_low
        high += term_high
    high += 2 * term_high
    for _ in range(halvings):
        low = low * low >> _BITS
        high = -(-high * high >> _BITS)
    return Fraction(low, _ONE), Fraction(high, _ONE)
