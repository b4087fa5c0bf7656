"""The interface of every protocol: one immutable object that device and estimator share.

All protocols are *pure* in the sense of Wang et al. (USENIX Security 2017, Definition 3.2): a
record z has a support set S(z), with p = Pr[v in S(z) | v] and q = Pr[v' in S(z) | v] for v' != v.
Here they have a stronger property as well: given z, the likelihood takes two values only,

    Pr[z | v] = A_z * likelihood_ratio   if v in S(z),        Pr[z | v] = A_z   otherwise,

so that epsilon is ln(likelihood_ratio), and everything a server can infer from a record is its
support.

What the rest of hushpoll asks of a protocol is asked here, never by its name: a new protocol is its
own module, its kernel and a line of the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hushpoll_protocols.bits import Bits
from hushpoll_protocols.epsilon import EPSILON_PLACES, parse_epsilon
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord, refusal_of, show
from hushpoll_protocols.record_forms import BitForm, RecordForm, unpack
from hushpoll_protocols.thresholds import log_rounded_up, own_context, unit

if TYPE_CHECKING:
    from random import Random

K_MIN = 2
K_MAX = 65536


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What a record reveals, in chances rather than in epsilon.

    Attributes
    ----------
    best_guess : Decimal
        Chance that the best guess of the answer from the record is right when every answer was
        equally likely beforehand, in [1/k, 1]. For local hashing: given a hash that spreads the
        values over min(g, k) buckets; no hash reveals more, and most reveal less.
    largest_posterior : Decimal
        Largest probability that any possible record can give to any answer, from the same prior.

    Both are rounded up to 12 places, so they never understate.
    """

    best_guess: Decimal
    largest_posterior: Decimal


@dataclass(frozen=True, slots=True)
class IndicatorCovariances:
    """Covariances of two indicators of one record's support, given the truth."""

    with_truth: Fraction
    """For the true category and another one."""

    between_others: Fraction
    """For two categories that are not the truth; 0 where k = 2, which has only one."""


@dataclass(frozen=True)
class FrequencyOracle(ABC):
    """One protocol at one (k, epsilon), with the integer thresholds that devices use.

    Build with :func:`hushpoll_protocols.create`, which checks (k, epsilon) and derives the rest.

    Attributes
    ----------
    k : int
        Domain size, in [2, 65536]; values are 0..k-1.
    epsilon : Decimal
        Privacy parameter charged to the respondent, in [1e-6, 64].
    """

    name: ClassVar[str]
    parameter_names: ClassVar[tuple[str, ...]] = ()
    threshold_names: ClassVar[tuple[str, ...]]

    k: int
    epsilon: Decimal

    @classmethod
    @abstractmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon), choosing the parameters that are not given."""

    @cached_property
    @abstractmethod
    def p(self) -> Fraction:
        """Probability that the support contains the true value."""

    @cached_property
    @abstractmethod
    def q(self) -> Fraction:
        """Probability that the support contains a given other value."""

    @cached_property
    @abstractmethod
    def likelihood_ratio(self) -> Fraction:
        """Exact ratio of Pr[z | v] for v inside and outside the support of z; at most e^epsilon."""

    @property
    def thresholds(self) -> Mapping[str, int]:
        """Integer thresholds out of 2^64 by name."""
        return {name: getattr(self, name) for name in self.threshold_names}

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """Free parameters that a manifest publishes (g, omega or theta), as JSON values."""
        values = {name: getattr(self, name) for name in self.parameter_names}
        return {name: v if isinstance(v, int) else str(v) for name, v in values.items()}

    @cached_property
    @abstractmethod
    def form(self) -> RecordForm:
        """Form of every record: what is well formed, and how long it is."""

    @cached_property
    def record_size(self) -> int:
        """Length of every record in bytes."""
        return self.form.size

    @property
    @abstractmethod
    def support_size(self) -> int | None:
        """Size of the support of every record, or None where it varies.

        None promises more: given the truth, the indicators of different categories are independent
        of each other (where records have a public seed: every two of them, on average over seeds).
        :attr:`covariances` and :mod:`hushpoll_protocols.estimation.weights` follow from it.
        """

    @property
    def smallest_support(self) -> int:
        """Size of the smallest non-empty support set that a record can have."""
        return self.support_size or 1

    @property
    def names_one_value(self) -> bool:
        """Whether every record supports exactly one value, so that it can serve as a label."""
        return self.support_size == 1

    @cached_property
    def covariances(self) -> IndicatorCovariances:
        """Covariances of the indicators of two categories, given the truth."""
        size, k, p, q = self.support_size, self.k, self.p, self.q
        if size is None:
            return IndicatorCovariances(Fraction(0), Fraction(0))
        # With the truth a record supports size - 1 of the k - 1 others, without it size of them;
        # no other category is treated differently from the rest.
        both = p * (size - 1) / (k - 1)
        neither = q * q
        if k > 2:
            with_truth, without = p * (size - 1) * (size - 2), (1 - p) * size * (size - 1)
            neither = (with_truth + without) / ((k - 1) * (k - 2))
        return IndicatorCovariances(both - p * q, neither - q * q)

    @cached_property
    def support_variance(self) -> Fraction:
        """Variance of the number of values that a record supports; 0 where it is fixed."""
        others, covariances = self.k - 1, self.covariances
        return (
            self.p * (1 - self.p)
            + others * self.q * (1 - self.q)
            + 2 * others * covariances.with_truth
            + others * (others - 1) * covariances.between_others
        )

    @property
    @abstractmethod
    def _best_guess(self) -> Decimal:
        """Chance of a right best guess under a uniform prior, to 40 digits."""

    @abstractmethod
    def randomize(self, value: int, bits: Bits) -> bytes:
        """Perturb one value.

        Parameters
        ----------
        value : int
            Code in [0, k).
        bits : Bits
            Source of randomness; :class:`SecureBits` on a device.

        Returns
        -------
        bytes
            Exactly ``record_size`` bytes, whatever the value.

        Raises
        ------
        InvalidParameter
            The value is no code of this domain. The message does not repeat it: it is an answer.
        """

    @abstractmethod
    def singling_out(self, value: int, rng: Random) -> bytes:
        """Draw a well-formed record that supports `value` and few others: a fake, not an answer.

        It is what the maximal gain attack sends (Cao, Jia and Gong, USENIX Security 2021), for
        simulated poisoners. A device never calls it.

        Parameters
        ----------
        value : int
            Code in [0, k) whose estimate the fake is to raise.
        rng : random.Random
            Source of all that the form leaves free.
        """

    def check(self, record: bytes) -> None:
        """Refuse bytes that no device following the protocol could have produced.

        Raises
        ------
        MalformedRecord
            With the reason ``length``, ``range``, ``padding`` or ``popcount``.
        """
        if len(record) != self.record_size:
            raise MalformedRecord(
                f"a {self.name} record of a domain of {self.k} has {self.record_size} bytes, "
                f"this one has {len(record)}; send it exactly as the device made it",
                reason="length",
            )
        self.form.check(record, self.name)

    @abstractmethod
    def support(self, record: bytes) -> tuple[int, ...]:
        """Return S(z), the values that the record supports, in ascending order.

        Raises
        ------
        MalformedRecord
            See :meth:`check`.
        """

    @abstractmethod
    def probability(self, record: bytes, value: int) -> Fraction:
        """Return Pr[record | value] exactly; for local hashing, given the record's own hash seed.

        Raises
        ------
        MalformedRecord
            See :meth:`check`.
        InvalidParameter
            The value is no code of this domain.
        """

    @cached_property
    def realized_epsilon(self) -> Decimal:
        """Epsilon of the law that runs: ln(likelihood_ratio), rounded up to 12 places."""
        # The ratio is below e^epsilon by directed rounding, and epsilon has at most 12 places, so
        # rounding up cannot pass it. Not clamped: thresholds that overspend have to show.
        return log_rounded_up(self.likelihood_ratio, EPSILON_PLACES)

    def variance(self, frequency: Fraction) -> Fraction:
        """Variance of the debiased indicator's mean, times the number of respondents.

        Parameters
        ----------
        frequency : Fraction
            True frequency of the value in the population, in [0, 1].

        Returns
        -------
        Fraction
            pi(1 - pi)/(p - q)^2 with pi = q + (p - q) * frequency.
        """
        pi = self.q + (self.p - self.q) * frequency
        return pi * (1 - pi) / (self.p - self.q) ** 2

    def estimate_variance(self, frequency: Fraction) -> Fraction:
        """Variance of the estimate of a frequency, times the number of respondents.

        Parameters
        ----------
        frequency : Fraction
            True frequency of the value in the population, in [0, 1].

        Returns
        -------
        Fraction
            :meth:`variance`, less what weights that sum to one take from it where the size of the
            support varies: h^2/V with h = E + f (M - E); see
            :mod:`hushpoll_protocols.estimation.weights`.
        """
        raw = self.variance(frequency)
        if self.support_size is not None:
            return raw
        at_match, elsewhere = self.p * (1 - self.p), self.q * (1 - self.q)
        shared = elsewhere + frequency * (at_match - elsewhere)
        return raw - shared**2 / self.support_variance / (self.p - self.q) ** 2

    def disclosure(self) -> Disclosure:
        """Say what a record reveals, as chances; see :class:`Disclosure`."""
        ratio, support = self.likelihood_ratio, self.smallest_support
        posterior = ratio / (ratio * support + self.k - support)
        return Disclosure(
            best_guess=_chance(self._best_guess),
            largest_posterior=_chance(decimal_fraction(posterior)),
        )

    def _check_value(self, value: int) -> None:
        if type(value) is not int or not 0 <= value < self.k:
            raise InvalidParameter(
                f"the value given to {self.name} is not an integer code in [0, {self.k - 1}]; "
                "give the index of the answer's category (the value itself is not shown)",
                field="value",
            )


@dataclass(frozen=True)
class BitOracle(FrequencyOracle):
    """A protocol whose records have a bit for each value: those that are set are the support."""

    @cached_property
    @abstractmethod
    def form(self) -> BitForm:
        """A bit per value."""

    def singling_out(self, value: int, rng: Random) -> bytes:
        """Return a record that supports the value, and as few others as the form has."""
        return self.form.with_few_besides(value, rng)

    def support(self, record: bytes) -> tuple[int, ...]:
        """Return the values whose bit is set."""
        self.check(record)
        return unpack(record)


def check_domain(k: object, epsilon: object) -> tuple[int, Decimal]:
    """Check (k, epsilon), here and nowhere else: k in [2, 65536], epsilon by `parse_epsilon`."""
    if type(k) is not int or not K_MIN <= k <= K_MAX:
        raise refusal_of("k")(
            f"is {show(k)}, outside [{K_MIN}, {K_MAX}]; give the number of categories, an integer "
            "of at least two (a question with one answer needs no perturbation)"
        )
    return k, parse_epsilon(epsilon)


_DIGITS = own_context(60)


def decimal_fraction(value: Fraction) -> Decimal:
    """Divide out a Fraction at 60 digits."""
    return _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _chance(value: Decimal) -> Decimal:
    # 40 guard digits lie below the last place kept, so a value meant to be exact there stays exact.
    trimmed = _DIGITS.quantize(value, unit(40))
    return min(trimmed.quantize(unit(EPSILON_PLACES), ROUND_CEILING, _DIGITS), Decimal(1))
