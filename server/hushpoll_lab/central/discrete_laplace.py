"""Counts with discrete Laplace noise: epsilon-differentially private, with no floating point.

The Laplace mechanism with floating-point numbers leaks through their low bits (Mironov, CCS 2012).
A count is an integer, so its noise can be one too: Pr[X = x] is proportional to exp(-epsilon |x|).
The sampler is that of Canonne, Kamath and Steinke (NeurIPS 2020, Algorithms 1 and 2), in rational
arithmetic on words of the operating system's generator.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.thresholds import Q


def noisy_count(count: int, epsilon: Decimal | str | float, bits: Bits) -> int:
    """Return a count plus discrete Laplace noise: it may be negative, or exceed the number of rows.

    One row more, less or changed changes the count by at most 1. Refuses an epsilon outside (0,
    64]; a float stands for the decimal that it is printed as.
    """
    return count + discrete_laplace(1 / exact_epsilon(epsilon), bits)


def exact_epsilon(epsilon: Decimal | str | float, field: str = "epsilon") -> Fraction:
    """Return epsilon as a fraction; refuses what is not a number in (0, 64]."""
    try:
        exact = Fraction(Decimal(repr(epsilon) if isinstance(epsilon, float) else epsilon))
    except (ArithmeticError, TypeError, ValueError):
        exact = Fraction(0)
    if not 0 < exact <= 64:
        raise InvalidParameter(f"{field} is {epsilon}; it must lie in (0, 64]", field=field)
    return exact


def discrete_laplace(scale: Fraction, bits: Bits) -> int:
    """Draw x with probability tanh(1 / (2 scale)) exp(-|x| / scale) (Algorithm 2)."""
    numerator, denominator = scale.numerator, scale.denominator
    while True:
        remainder = _below(numerator, bits)
        if not _bernoulli_exp(Fraction(remainder, numerator), bits):
            continue
        quotient = 0
        while _bernoulli_exp(Fraction(1), bits):
            quotient += 1
        magnitude = (remainder + numerator * quotient) // denominator
        negative = _below(2, bits) == 1
        if magnitude or not negative:  # zero would otherwise be drawn with both signs
            return -magnitude if negative else magnitude


def tail(epsilon: float, size: int) -> float:
    """Return Pr[|X| > size] of the noise, for a size of at least 0."""
    return 2 * math.exp(-epsilon * (size + 1)) / (1 + math.exp(-epsilon))


def quantile(epsilon: float, chance: float) -> int:
    """Return the smallest size that the noise exceeds with at most this chance, in (0, 1)."""
    size = math.log(2 / (chance * (1 + math.exp(-epsilon)))) / epsilon - 1
    return max(0, math.ceil(size - 1e-9))


def _bernoulli_exp(rate: Fraction, bits: Bits) -> bool:
    """Return True with probability exp(-rate), for a rate in [0, 1] (Algorithm 1)."""
    draws = 1
    while _below(rate.denominator * draws, bits) < rate.numerator:
        draws += 1
    return draws % 2 == 1


def _below(bound: int, bits: Bits) -> int:
    """Draw an integer in [0, bound), uniformly, by rejection."""
    words = max(1, -(-bound.bit_length() // 64))
    span = Q**words
    limit = span // bound * bound
    while True:
        value = 0
        for word in bits.words(words):
            value = value * Q + word
        if value < limit:
            return value % bound
