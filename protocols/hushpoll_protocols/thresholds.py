"""Computing the integer thresholds out of 2^64 that devices compare words with, rounded exactly.

A device compares a 64-bit word with a threshold, so its probabilities are rationals with
denominator 2^64 and the law that runs is the law that is proved. Each threshold is the floor or the
ceiling of an expression in e^x; which one is chosen so that rounding can only lower epsilon.

Rounding is exact, not merely precise. e^x is transcendental for every rational x other than 0
(Lindemann), so no expression here is ever an integer, and enclosing e^x ever more tightly must end
with both ends of the enclosure in the same unit interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction


def own_context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    """Return a decimal context that does not depend on the host app's.

    ``Context(prec=...)`` alone would take rounding, exponent limits and traps from
    ``decimal.DefaultContext``, which an app may change: two devices must not disagree over that.
    """
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=-999_999,
        Emax=999_999,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


def unit(places: int) -> Decimal:
    """Return 10^-places; unlike ``scaleb``, without the thread's context."""
    return Decimal((0, (1,), -places))


EXACT = own_context(80)
"""Digits enough for every product of published decimals, whatever context the host app has set."""

Q = 1 << 64
"""Number of values of a word: every threshold is out of Q."""


def enclose_exp(x: Decimal, digits: int) -> tuple[Fraction, Fraction]:
    """Enclose e^x strictly between two rationals of so many significant digits.

    ``Decimal.exp`` is correctly rounded, so the truth lies within one unit in the last place.
    """
    context = own_context(digits)
    value = context.exp(x)
    return Fraction(context.next_minus(value)), Fraction(context.next_plus(value))


def floor_in_exp(expression: Callable[[Fraction], Fraction], x: Decimal) -> int:
    """Return floor(expression(e^x)), exactly, of a monotone rational function of e^x, x not 0."""
    digits = 60
    while True:
        low, high = (math.floor(expression(bound)) for bound in enclose_exp(x, digits))
        if low == high:
            return low
        digits *= 2


def ceil_in_exp(expression: Callable[[Fraction], Fraction], x: Decimal) -> int:
    """Return ceil(expression(e^x)), exactly; see :func:`floor_in_exp`."""
    return -floor_in_exp(lambda e: -expression(e), x)


def log_rounded_up(ratio: Fraction, places: int) -> Decimal:
    """Return ln(ratio), ratio >= 1, rounded up to so many places, never below the truth."""
    up = own_context(80, ROUND_CEILING)
    quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = up.next_plus(up.ln(quotient))
    return up.quantize(logarithm, unit(places))
