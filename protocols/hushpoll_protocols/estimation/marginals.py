"""The law of sets of as many values each: what a record of several questions says of one of them.

A block of questions is one domain of K combinations. A question of it with k answers, or some of
its questions with k combinations of answers, divides the domain into k sets A of m = K/k values.
What a record says of a set is how many of its values it supports, S_A, from 0 to m:

    E[S_A | truth in A] = p + (m - 1) q,        E[S_A | elsewhere] = m q,

so that D_A = (S_A - m q)/(p - q), the sum of the D of its values, is unbiased, as that of one value
is. A :class:`Marginal` says of these k sets what a protocol says of its values. An estimator that
works with moments, and not with the form of a record, takes either.

Supports of a varying size have independent indicators given the truth, whose moments add up. Of a
support of fixed size, S_A is a number drawn without replacement, whose factorial moments are
E[(H)_r] = (m)_r (w)_r / (N)_r for w draws out of N, m of them in the set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import perm

from hushpoll_protocols.errors import refusal_of
from hushpoll_protocols.oracle import FrequencyOracle, IndicatorCovariances


@dataclass(frozen=True, slots=True)
class CountMoments:
    """Central moments of S_A given the truth: variance and third, in the set and elsewhere."""

    at_match: Fraction
    elsewhere: Fraction
    third_at_match: Fraction
    third_elsewhere: Fraction


class _OfOracle:
    """What the law of sets of values has from that of the values."""

    oracle: FrequencyOracle

    @property
    def name(self) -> str:
        """Name of the protocol."""
        return self.oracle.name

    @property
    def epsilon(self) -> Decimal:
        """What the whole record is charged."""
        return self.oracle.epsilon

    @property
    def support_size(self) -> int | None:
        """Size of the support of every record, or None where it varies."""
        return self.oracle.support_size

    @property
    def support_variance(self) -> Fraction:
        """Variance of the size of the support."""
        return self.oracle.support_variance

    @property
    def counts_one(self) -> bool:
        """Whether S_A is 0 or 1 always, an indicator."""
        return self.oracle.support_size == 1


@dataclass(frozen=True)
class Marginal(_OfOracle):
    """The law of how many values of each set a record supports."""

    oracle: FrequencyOracle
    members: int
    """m, the values of each set: at least 2, fewer than the domain has, a divisor of its size."""

    def __post_init__(self) -> None:
        if not 2 <= self.members < self.oracle.k or self.oracle.k % self.members:
            raise refusal_of("members")(
                f"is {self.members}; sets of as many values divide a domain of {self.oracle.k} "
                f"where it is a divisor from 2 to {self.oracle.k // 2}"
            )

    @property
    def k(self) -> int:
        """Number of sets."""
        return self.oracle.k // self.members

    @cached_property
    def p(self) -> Fraction:
        """Expected S_A where the truth is in the set; it may be above 1."""
        return self.oracle.p + (self.members - 1) * self.oracle.q

    @cached_property
    def q(self) -> Fraction:
        """Expected S_A where the truth is elsewhere."""
        return self.members * self.oracle.q

    @cached_property
    def covariances(self) -> IndicatorCovariances:
        """Covariances of the S of two sets: one with the truth and another; two without it."""
        m, pair = self.members, self.oracle.covariances
        return IndicatorCovariances(
            m * pair.with_truth + m * (m - 1) * pair.between_others, m * m * pair.between_others
        )

    @cached_property
    def moments(self) -> CountMoments:
        """Second and third central moments of S_A."""
        oracle, m, size = self.oracle, self.members, self.oracle.support_size
        p, q = oracle.p, oracle.q
        if size is None:
            own, other = p * (1 - p), q * (1 - q)
            own_third, other_third = own * (1 - 2 * p), other * (1 - 2 * q)
            return CountMoments(
                own + (m - 1) * other,
                m * other,
                own_third + (m - 1) * other_third,
                m * other_third,
            )
        rest, kept, lost = oracle.k - 1, size - 1, size
        inside = [
            (p, 1, _moments_of_drawn(kept, rest, m - 1)),
            (1 - p, 0, _moments_of_drawn(lost, rest, m - 1)),
        ]
        outside = [
            (p, 0, _moments_of_drawn(kept, rest, m)),
            (1 - p, 0, _moments_of_drawn(lost, rest, m)),
        ]
        at_match, third_at_match = _central(inside)
        elsewhere, third_elsewhere = _central(outside)
        return CountMoments(at_match, elsewhere, third_at_match, third_elsewhere)

    def estimate_variance(self, frequency: Fraction) -> Fraction:
        """Variance of the estimate of a set's frequency, times the number of respondents."""
        gap = (self.oracle.p - self.oracle.q) ** 2
        noise = frequency * self.moments.at_match + (1 - frequency) * self.moments.elsewhere
        whole = self.support_variance
        # where the size varies, Cov(S_A, size of the support) is the variance of S_A
        shared = noise**2 / whole if self.support_size is None else Fraction(0)
        return frequency * (1 - frequency) + (noise - shared) / gap


@dataclass(frozen=True)
class UnevenSets(_OfOracle):
    """The law of how many values of each set a record supports, the sets being of any sizes.

    They divide the domain, as the answers to a question do whose follow-up is in its block, where
    combinations with an answer to a question that was not asked are left out. Of one set all is as
    if the others had its size: it depends on its values, and on the whole domain.
    """

    oracle: FrequencyOracle
    sizes: tuple[int, ...]
    """Values of each set, at least 1; two sets or more, which have all values together."""

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1 or sum(self.sizes) != self.oracle.k:
            raise refusal_of("sizes")(
                f"are {self.sizes}; two sets or more, of at least one value each, divide a domain "
                f"of {self.oracle.k}"
            )

    @property
    def k(self) -> int:
        """Number of sets."""
        return len(self.sizes)

    @property
    def members(self) -> int:
        """Values of the largest set."""
        return max(self.sizes)

    def of_size(self, size: int) -> Law:
        """Return the law of a set of this size; its `k` is that of the domain over the size."""
        return self.oracle if size == 1 else _OneSet(self.oracle, size)


@dataclass(frozen=True)
class _OneSet(Marginal):
    """What is said of one set, whose size need not divide that of the domain."""

    def __post_init__(self) -> None:
        if not 2 <= self.members < self.oracle.k:
            raise refusal_of("members")(
                f"is {self.members}; a set has from 2 to {self.oracle.k - 1} values"
            )


Law = FrequencyOracle | Marginal
"""What the records of a perturbed question follow: a protocol, or what it says of sets."""

AnyLaw = Law | UnevenSets
"""The same of sets of any sizes: their p, q and moments are one for each size."""


def members_of(law: AnyLaw | None, k: int) -> tuple[int, ...]:
    """Return how many values of the domain that is randomised each of k categories stands for."""
    if isinstance(law, UnevenSets):
        return law.sizes
    return (law.members if isinstance(law, Marginal) else 1,) * k


def oracle_of(law: AnyLaw | None) -> FrequencyOracle | None:
    """Return the protocol of the whole domain; None in clear."""
    return law.oracle if isinstance(law, Marginal | UnevenSets) else law


def marginal(oracle: FrequencyOracle, k: int) -> Law:
    """Return the law of k sets of as many values each: the protocol itself, of one value each."""
    return oracle if oracle.k == k else Marginal(oracle, oracle.k // k)


def _moments_of_drawn(draws: int, total: int, members: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the first three raw moments of how many of the members are drawn."""
    first, second, third = _factorial(draws, total, members)
    return first, second + first, third + 3 * second + first


def _factorial(draws: int, total: int, members: int) -> Iterator[Fraction]:
    for order in (1, 2, 3):
        ways = perm(total, order)
        # with fewer than so many in all, no so many are drawn
        yield Fraction(perm(members, order) * perm(draws, order), ways) if ways else Fraction(0)


def _central(
    parts: list[tuple[Fraction, int, tuple[Fraction, Fraction, Fraction]]],
) -> tuple[Fraction, Fraction]:
    """Return the variance and the third central moment of a mixture of shifted numbers."""
    one = two = three = Fraction(0)
    for chance, shift, (first, second, third) in parts:
        one += chance * (first + shift)
        two += chance * (second + 2 * shift * first + shift**2)
        three += chance * (third + 3 * shift * second + 3 * shift**2 * first + shift**3)
    return two - one**2, three - 3 * one * two + 2 * one**3
