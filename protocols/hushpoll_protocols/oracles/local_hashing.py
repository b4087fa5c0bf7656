"""Local hashing: hash the domain into g buckets with a fresh public hash, then GRR over them.

Bassily and Smith (STOC 2015); Wang et al. (USENIX Security 2017), section 4.4.

The hash seed is drawn independently of the answer, so the record's epsilon is that of GRR over g.
The family is multiply-shift (Dietzfelbinger, STACS 1996) after a bijection: pairwise independent,
hence Pr[h(v') = y | v] = 1/g up to 2^-32, which is all that the estimator needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.errors import MalformedRecord
from hushpoll_protocols.oracle import FrequencyOracle, decimal_fraction
from hushpoll_protocols.oracles.grr import respond
from hushpoll_protocols.thresholds import Q

G_MAX = 65536
_WORD = Q - 1
_HALF = 0xFFFFFFFF


def finalise(code: int) -> int:
    """Apply the 32-bit finaliser of MurmurHash3, a bijection of [0, 2^32).

    Without it consecutive codes would form arithmetic progressions under the hash, and sums over
    ranges of categories would have up to twice the variance.

    Parameters
    ----------
    code : int
        In [0, 2^32).

    Returns
    -------
    int
        In [0, 2^32).
    """
    code ^= code >> 16
    code = code * 0x85EBCA6B & _HALF
    code ^= code >> 13
    code = code * 0xC2B2AE35 & _HALF
    return code ^ code >> 16


def bucket(a: int, b: int, code: int, g: int) -> int:
    """Return h(v) = (((a*m(v) + b) mod 2^64) >> 32) * g >> 32.

    Parameters
    ----------
    a, b : int
        The hash seed, uniform in [0, 2^64).
    code : int
        Value v, in [0, 65536).
    g : int
        Number of buckets, in [2, 65536].

    Returns
    -------
    int
        In [0, g).
    """
    return ((a * finalise(code) + b & _WORD) >> 32) * g >> 32


@dataclass(frozen=True)
class LocalHashing(FrequencyOracle):
    """GRR over g hashed buckets; a record is a, b (8 bytes each) and the bucket y (2 bytes).

    Attributes
    ----------
    g : int
        Number of buckets, in [2, 65536].
    R : int
        Words out of 2^64 that report one given other bucket.
    """

    g: int
    R: int

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

    @property
    def thresholds(self) -> dict[str, int]:
        """R."""
        return {"R": self.R}

    @property
    def record_size(self) -> int:
        """a, b and y."""
        return 18

    @property
    def smallest_support(self) -> int:
        """Some hash isolates a value in its bucket."""
        return 1

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
        return (a | b << 64 | y << 128).to_bytes(18, "little")

    def check(self, record: bytes) -> None:
        """Refuse a wrong length or a bucket outside [0, g)."""
        self._check_length(record)
        y = int.from_bytes(record[16:], "little")
        if y >= self.g:
            raise MalformedRecord(
                f"the {self.name} record names bucket {y}, outside [0, {self.g - 1}]; "
                "send it exactly as the device made it",
                reason="range",
            )

    def support(self, record: bytes) -> tuple[int, ...]:
        """Return the values whose hash is the record's bucket."""
        self.check(record)
        a = int.from_bytes(record[0:8], "little")
        b = int.from_bytes(record[8:16], "little")
        y = int.from_bytes(record[16:18], "little")
        return tuple(v for v in range(self.k) if bucket(a, b, v, self.g) == y)

    def probability(self, record: bytes, value: int) -> Fraction:
        """Return Pr[y | value, a, b]."""
        self._check_value(value)
        self.check(record)
        a = int.from_bytes(record[0:8], "little")
        b = int.from_bytes(record[8:16], "little")
        y = int.from_bytes(record[16:18], "little")
        return self.p if bucket(a, b, value, self.g) == y else Fraction(self.R, Q)
