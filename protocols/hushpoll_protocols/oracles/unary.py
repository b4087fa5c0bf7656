"""Unary encoding, one independent bit per value: RAPPOR and OUE, and what THE builds on.

Wang et al. (USENIX Security 2017), section 4.3; Erlingsson, Pihur and Korolova (CCS 2014).

The bit of the true value is set with probability p = P/2^64, every other bit with q = R/2^64. Two
answers differ in two bits, so the ratio of a record's probabilities is at most p(1-q)/(q(1-p)).
Raising R and lowering P both lower it, which fixes the direction in which each threshold is
rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.oracle import BitOracle, decimal_fraction
from hushpoll_protocols.record_forms import BitForm
from hushpoll_protocols.thresholds import EXACT, Q, ceil_in_exp

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class UnaryEncoding(BitOracle):
    """A bit per value, perturbed independently."""

    threshold_names: ClassVar[tuple[str, ...]] = ("P", "R")

    P: int
    """Words out of 2^64 that set the bit of the true value."""

    R: int
    """Words out of 2^64 that set the bit of any other value."""

    @cached_property
    def p(self) -> Fraction:
        """P/2^64."""
        return Fraction(self.P, Q)

    @cached_property
    def q(self) -> Fraction:
        """R/2^64."""
        return Fraction(self.R, Q)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """p(1-q)/(q(1-p))."""
        return self.p * (1 - self.q) / (self.q * (1 - self.p))

    @cached_property
    def form(self) -> BitForm:
        """A bit per value, of which any number may be set."""
        return BitForm(self.k)

    @property
    def support_size(self) -> None:
        """Any number of values, each independently of the others."""

    @property
    def _best_guess(self) -> Decimal:
        # (1/k) * sum over z of max_v Pr[z | v]: any member of a non-empty support is a best guess.
        p, q = decimal_fraction(self.p), decimal_fraction(self.q)
        with localcontext(EXACT):
            unset = (1 - q) ** (self.k - 1)
            return (p / q * (1 - unset * (1 - q)) + (1 - p) * unset) / self.k

    def randomize(self, value: int, bits: Bits) -> bytes:
        """Perturb one value with k words, one per category in order."""
        self._check_value(value)
        words = bits.words(self.k)
        other = self.R
        digits = ["1" if word < other else "0" for word in words]
        digits[value] = "1" if words[value] < self.P else "0"
        digits.reverse()
        return int("".join(digits), 2).to_bytes(self.record_size, "little")

    def probability(self, record: bytes, value: int) -> Fraction:
        """Return the product over the k independent bits."""
        self._check_value(value)
        support = self.support(record)
        others = len(support) - (value in support)
        truth = self.p if value in support else 1 - self.p
        return truth * self.q**others * (1 - self.q) ** (self.k - 1 - others)


class RAPPOR(UnaryEncoding):
    """Basic one-time RAPPOR: a bit is flipped with R/2^64, R = ceil(2^64/(e^(epsilon/2) + 1))."""

    name: ClassVar[str] = "RAPPOR"

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        flip = ceil_in_exp(lambda e: Q / (e + 1), EXACT.divide(epsilon, Decimal(2)))
        return cls(k=k, epsilon=epsilon, P=Q - flip, R=flip, **parameters)


class OUE(UnaryEncoding):
    """Optimal unary encoding: P = 2^63 and R = ceil(2^64/(e^epsilon + 1)).

    Most bits are zeros, so these are the ones that are seldom flipped.
    """

    name: ClassVar[str] = "OUE"

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        noise = ceil_in_exp(lambda e: Q / (e + 1), epsilon)
        return cls(k=k, epsilon=epsilon, P=Q // 2, R=noise, **parameters)
