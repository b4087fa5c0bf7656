"""Local hashing, BLH and OLH: hash the domain into g buckets with a fresh public hash, then GRR.

BLH has two buckets (Bassily and Smith, STOC 2015), OLH the number of them that minimises the
estimator's variance (Wang et al., USENIX Security 2017, section 4.4).

The hash seed is drawn independently of the answer, so the record's epsilon is that of GRR over g.
The family is multiply-shift (Dietzfelbinger, STACS 1996) after a bijection: pairwise independent,
hence Pr[h(v') = y | v] = 1/g up to 2^-32, which is all that the estimator needs.

For OLH, Wang et al. minimise over the real numbers and for a frequency of 0, which gives
e^epsilon + 1. Here g is an integer, and the frequency is 1/k, as for the subset of SS. With
E = e^epsilon, f = 1/k and x = g - 1, the exact p and 1/g give

    variance * (E-1)^2 = A*x + B/x + constant,    A = 1 + f(E-1),    B = E(E - f(E-1)),

which is convex in x, so x + 1 is better than x where x(x+1) < B/A = E((k-1)E + 1)/(E + k - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.errors import refusal_of, show
from hushpoll_protocols.oracle import FrequencyOracle, decimal_fraction
from hushpoll_protocols.oracles.grr import lie_threshold, respond
from hushpoll_protocols.record_forms import CodeForm
from hushpoll_protocols.thresholds import Q, floor_in_exp

if TYPE_CHECKING:
    from random import Random

G_MAX = 65536
_WORD = Q - 1
_HALF = 0xFFFFFFFF

_AROUND = 2
"""How far the thresholds' rounding can move the best g.

Rounding R changes p - q by at most the share (x+1)(E+x)/((E-1)*2^64), hence the variance by about
2f*x/2^64 where E is much larger than k; m steps from the best x, the variance is m^2/x^3 larger.
So m^2 is at most 2f*x^4/2^64 there, which is 1 for k = 2 and x = 2^16; everywhere else it is less.
"""


def finalise(code: int) -> int:
    """Apply the 32-bit finaliser of MurmurHash3, a bijection of [0, 2^32).

    Without it consecutive codes would form arithmetic progressions under the hash, and sums over
    ranges of categories would have up to twice the variance.
    """
    code ^= code >> 16
    code = code * 0x85EBCA6B & _HALF
    code ^= code >> 13
    code = code * 0xC2B2AE35 & _HALF
    return code ^ code >> 16


def bucket(a: int, b: int, code: int, g: int) -> int:
    """Return h(v) = (((a*m(v) + b) mod 2^64) >> 32) * g >> 32 of a code v < 65536, in [0, g)."""
    return ((a * finalise(code) + b & _WORD) >> 32) * g >> 32


@dataclass(frozen=True)
class LocalHashing(FrequencyOracle):
    """GRR over g hashed buckets; a record is a, b (8 bytes each) and the bucket y (2 bytes)."""

    threshold_names: ClassVar[tuple[str, ...]] = ("R",)

    g: int
    """Number of buckets, in [2, 65536]."""

    R: int
    """Words out of 2^64 that report one given other bucket."""

    @cached_property
    def p(self) -> Fraction:
        """1 - (g-1)R/2^64."""
        return 1 - (self.g - 1) * Fraction(self.R, Q)

    @cached_property
    def q(self) -> Fraction:
        """1/g: the hash is pairwise independent."""
        return Fraction(1, self.g)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """GRR's ratio over g buckets."""
        return self.p / Fraction(self.R, Q)

    @cached_property
    def form(self) -> CodeForm:
        """The hash seed a and b, then the bucket y."""
        return CodeForm(self.g, 2, seed_size=16, code_name="bucket")

    @property
    def support_size(self) -> None:
        """As many values as the hash sends to the bucket: none, one, several or all."""

    @property
    def _best_guess(self) -> Decimal:
        # Given a hash that reaches min(g, k) buckets, the guess is right with the chance
        # (1/k) * sum over y of max_v Pr[y | v]: p where y is reached, R/Q where it is not.
        reached = min(self.g, self.k)
        lie = Fraction(self.R, Q)
        return decimal_fraction((reached * self.p + (self.g - reached) * lie) / self.k)

    def randomize(self, value: int, bits: Bits) -> bytes:
        """Perturb one value with three words: a, b and GRR's."""
        self._check_value(value)
        a, b, word = bits.words(3)
        y = respond(bucket(a, b, value, self.g), word, self.g - 1, self.R)
        return _record(a, b, y)

    def singling_out(self, value: int, rng: Random) -> bytes:
        """Return an evenly drawn hash with the bucket that it sends the value to."""
        a, b = rng.randrange(Q), rng.randrange(Q)
        return _record(a, b, bucket(a, b, value, self.g))

    def support(self, record: bytes) -> tuple[int, ...]:
        """Return the values whose hash is the record's bucket."""
        a, b, y = self._parts(record)
        return tuple(v for v in range(self.k) if bucket(a, b, v, self.g) == y)

    def probability(self, record: bytes, value: int) -> Fraction:
        """Return Pr[y | value, a, b]."""
        self._check_value(value)
        a, b, y = self._parts(record)
        return self.p if bucket(a, b, value, self.g) == y else Fraction(self.R, Q)

    def _parts(self, record: bytes) -> tuple[int, int, int]:
        self.check(record)
        a = int.from_bytes(record[0:8], "little")
        b = int.from_bytes(record[8:16], "little")
        return a, b, self.form.code(record)


def _record(a: int, b: int, y: int) -> bytes:
    return (a | b << 64 | y << 128).to_bytes(18, "little")


class BLH(LocalHashing):
    """Binary local hashing; g is always 2 and therefore not published."""

    name: ClassVar[str] = "BLH"

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        return cls(k=k, epsilon=epsilon, g=2, R=lie_threshold(2, epsilon), **parameters)


class OLH(LocalHashing):
    """Optimal local hashing; unless it is given, g has the least variance at frequency 1/k."""

    name: ClassVar[str] = "OLH"
    parameter_names: ClassVar[tuple[str, ...]] = ("g",)

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon) and optionally g, an int in [2, 65536]."""
        g = parameters.get("g")
        if g is not None:
            if type(g) is not int or not 2 <= g <= G_MAX:
                raise refusal_of("g")(
                    f"is {show(g)}, outside [2, {G_MAX}]; give the number of hash buckets"
                )
            return cls._of_buckets(k, epsilon, g)
        near = _without_rounding(k, epsilon)
        candidates = range(max(near - _AROUND, 2), min(near + _AROUND, G_MAX) + 1)
        # `min` keeps the first of equals, so a tie goes to the smaller g.
        return min(
            (cls._of_buckets(k, epsilon, g) for g in candidates),
            key=lambda oracle: oracle.variance(Fraction(1, k)),
        )

    @classmethod
    def _of_buckets(cls, k: int, epsilon: Decimal, g: int) -> Self:
        return cls(k=k, epsilon=epsilon, g=g, R=lie_threshold(g, epsilon))


def _without_rounding(k: int, epsilon: Decimal) -> int:
    """Return the best g in [2, 65536] if p were exactly e^epsilon/(e^epsilon + g - 1)."""
    below = floor_in_exp(lambda e: e * ((k - 1) * e + 1) / (e + k - 1), epsilon)
    # The smallest x with x(x+1) > below, that is (2x+1)^2 > 4*below + 1.
    return min((math.isqrt(4 * below + 1) + 1) // 2 + 1, G_MAX)
