"""Subset selection: a random subset of omega values that is likely to contain the truth.

Ye and Barg (IEEE Trans. Inf. Theory 2018); Wang et al. (2016).

The record is a uniform subset of omega values that contains the truth with probability p = P/2^64.
Each of the C(k-1, omega-1) subsets that contain a value is equally likely, and so is each of the
C(k-1, omega) that do not. So the ratio is p/(1-p) * (k-omega)/omega, at most
e^epsilon because P is rounded down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hushpoll_protocols.bits import Bits, uniform_subset
from hushpoll_protocols.errors import refusal_of, show
from hushpoll_protocols.oracle import BitOracle, decimal_fraction
from hushpoll_protocols.record_forms import BitForm, pack
from hushpoll_protocols.thresholds import Q, floor_in_exp

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class SS(BitOracle):
    """Subset selection; see the module and :class:`FrequencyOracle`."""

    name: ClassVar[str] = "SS"
    parameter_names: ClassVar[tuple[str, ...]] = ("omega",)
    threshold_names: ClassVar[tuple[str, ...]] = ("P",)

    omega: int
    """Size of every reported subset, in [1, k-1]."""

    P: int
    """Words out of 2^64 that keep the truth in the subset."""

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon) and optionally omega, an int in [1, k-1]."""
        omega = parameters.get("omega")
        if omega is not None:
            if type(omega) is not int or not 1 <= omega < k:
                raise refusal_of("omega")(
                    f"is {show(omega)}, outside [1, {k - 1}]; give the size of the subset"
                )
            return cls._of_size(k, epsilon, omega)
        floor = floor_in_exp(lambda e: k / (e + 1), epsilon)
        sizes = sorted({min(max(size, 1), k - 1) for size in (floor, floor + 1)})
        # `min` keeps the first of equals, so a tie goes to the smaller subset.
        return min(
            (cls._of_size(k, epsilon, size) for size in sizes),
            key=lambda oracle: oracle.variance(Fraction(1, k)),
        )

    @classmethod
    def _of_size(cls, k: int, epsilon: Decimal, omega: int) -> Self:
        keep = floor_in_exp(lambda e: Q * omega * e / (omega * e + k - omega), epsilon)
        return cls(k=k, epsilon=epsilon, omega=omega, P=keep)

    @cached_property
    def p(self) -> Fraction:
        """P/2^64."""
        return Fraction(self.P, Q)

    @cached_property
    def q(self) -> Fraction:
        """(p(omega-1) + (1-p)omega)/(k-1)."""
        return (self.p * (self.omega - 1) + (1 - self.p) * self.omega) / (self.k - 1)

    @cached_property
    def likelihood_ratio(self) -> Fraction:
        """p(k-omega)/((1-p)omega)."""
        return self.p * (self.k - self.omega) / ((1 - self.p) * self.omega)

    @cached_property
    def form(self) -> BitForm:
        """A bit per value, of which omega are set."""
        return BitForm(self.k, self.omega)

    @property
    def support_size(self) -> int:
        """The subset's size."""
        return self.omega

    @property
    def _best_guess(self) -> Decimal:
        return decimal_fraction(self.p / self.omega)

    def randomize(self, value: int, bits: Bits) -> bytes:
        """Perturb one value: the keep word, then a uniform subset of the others."""
        self._check_value(value)
        keep = bits.word() < self.P
        chosen = uniform_subset(self.k - 1, self.omega - 1 if keep else self.omega, bits)
        members = [other if other < value else other + 1 for other in chosen]
        if keep:
            members.append(value)
        return pack(members, self.k)

    def probability(self, record: bytes, value: int) -> Fraction:
        """Return the chance of this one subset."""
        self._check_value(value)
        if value in self.support(record):
            return self.p / math.comb(self.k - 1, self.omega - 1)
        return (1 - self.p) / math.comb(self.k - 1, self.omega)
