"""Generalized randomized response: the truth with probability p, each other value with q.

Kairouz, Bonawitz and Ramage (ICML 2016); Arcolezi et al. (DBSec 2023), section 3.3.

Here q = R/2^64. Under two answers, the probabilities of a record differ by the factor
p/q <= e^epsilon, because R is rounded up and p is what the k-1 others leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.oracle import FrequencyOracle, decimal_fraction
from hushpoll_protocols.record_forms import CodeForm
from hushpoll_protocols.thresholds import Q, ceil_in_exp

if TYPE_CHECKING:
    from random import Random


def lie_threshold(categories: int, epsilon: Decimal) -> int:
    """Return R = ceil(2^64/(e^epsilon + categories - 1)), words that name one given other."""
    return ceil_in_exp(lambda e: Q / (e + categories - 1), epsilon)


def respond(value: int, word: int, others: int, lie: int) -> int:
    """Apply randomized response over others + 1 categories with one uniform 64-bit word U.

    A word below others * lie reports the (U div lie)-th category but `value`, others the truth.
    """
    if word < others * lie:
        other = word // lie
        return other if other < value else other + 1
    return value


@dataclass(frozen=True)
class GRR(FrequencyOracle):
    """Generalized randomized response; see the module and :class:`FrequencyOracle`."""

    name: ClassVar[str] = "GRR"
    threshold_names: ClassVar[tuple[str, ...]] = ("R",)

    R: int
    """Words out of 2^64 that report one given other value."""

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        return cls(k=k, epsilon=epsilon, R=lie_threshold(k, epsilon), **parameters)

    @cached_property
    def p(self) -> Fraction:
        """1 - (k-1)R/2^64."""
        return 1 - (self.k - 1) * self.q

    @cached_property
    def q(self) -> Fraction:
        """R/2^64."""
        return Fraction(self.R, Q)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """p/q."""
        return self.p / self.q

    @cached_property
    def form(self) -> CodeForm:
        """The code of a value, of 1 byte for up to 256 values, else of 2."""
        return CodeForm(self.k, 1 if self.k <= 256 else 2)

    @property
    def support_size(self) -> int:
        """A record supports the one value that it names."""
        return 1

    @property
    def _best_guess(self) -> Decimal:
        return decimal_fraction(self.p)

    def randomize(self, value: int, bits: Bits) -> bytes:
        """Perturb one value with one word; see :meth:`FrequencyOracle.randomize`."""
        self._check_value(value)
        return respond(value, bits.word(), self.k - 1, self.R).to_bytes(self.record_size, "little")

    def singling_out(self, value: int, rng: Random) -> bytes:  # noqa: ARG002 (nothing is free)
        """Return the record that names the value."""
        return value.to_bytes(self.record_size, "little")

    def support(self, record: bytes) -> tuple[int, ...]:
        """Return the one value that the record names."""
        self.check(record)
        return (self.form.code(record),)

    def probability(self, record: bytes, value: int) -> Fraction:
        """Return p or q."""
        self._check_value(value)
        return self.p if value in self.support(record) else self.q
