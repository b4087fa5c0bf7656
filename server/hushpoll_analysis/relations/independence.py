"""A test that two attributes are independent, which is right for perturbed records too.

Let R = J - f1 f2' be the estimated joint shares minus the product of the estimated margins. Under
independence the products of centred weights of one record have the covariance S1 x S2 (Kronecker),
S being the covariance matrix of an attribute's weights, noise included
(:mod:`hushpoll_analysis.relations.weight_covariances`). So

    X^2 = n tr(S1^+ R S2^+ R')

is chi-square with rank(S1) rank(S2) degrees of freedom for many records. In clear
S = diag(f) - f f' and X^2 is Pearson's. Pearson's own statistic of perturbed answers would take
noise for people: its level is wrong (Gaboardi and Rogers, Local Private Hypothesis Testing, ICML
2018, who correct it for randomised responses as is done here).

Noise makes dependence harder to see. A dependence of size phi, phi^2 being Pearson's statistic of
the population over n, has a noncentrality of n phi^2 times an efficiency, which depends on the kind
of dependence; its extremes are products of the extreme eigenvalues of S^+ (diag(f) - f f').
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.joint import Side, joint_frequencies
from hushpoll_analysis.frames.tabular import Found
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.relations import chi_square
from hushpoll_analysis.relations.weight_covariances import WeightCovariances
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_shared.queries.independence import Conclusion, OutcomeOfTest
from hushpoll_shared.queries.independence import Independence as Query

Array = npt.NDArray[np.float64]

ALPHA = 0.05
POWER = 0.8
"""For which the smallest detectable dependence is given."""

MOST_CATEGORIES = 2048
"""Of each attribute: its covariance matrix is decomposed."""

_RANK = 1e-9
"""Eigenvalues below this part of the largest are taken for 0."""


@dataclass(frozen=True, slots=True)
class IndependenceTest(Found):
    """The result of the test; it has no interval.

    Attributes
    ----------
    a, b : str
        The attributes.
    n : int
        Records behind it.
    statistic : float
        X^2, at least 0.
    degrees : int
        Of freedom; 0 where an attribute has one category that anybody gave.
    p_value : float
        Chance of so large a statistic if the attributes are independent; 1 for no degrees.
    alpha : float
        Level of the test.
    detectable : (float, float or None) or None
        Smallest phi that the test finds with a chance of `POWER`: for the kind of dependence that
        is easiest to see through the noise, and for the hardest. None where even a dependence of
        `largest_possible` would not be found with that chance, or there are no degrees.
    largest_possible : float
        The phi of the strongest dependence between two such attributes: the root of k - 1, k being
        the categories of the attribute that has fewer (Cramer, Mathematical Methods of Statistics,
        1946, chapter 21).
    smallest_expected : float or None
        Of both attributes in clear: expected people in the emptiest cell. Below 5 the p-value is an
        approximation of unknown quality.
    """

    a: str
    b: str
    n: int
    statistic: float
    degrees: int
    p_value: float
    alpha: float
    detectable: tuple[float, float | None] | None
    largest_possible: float
    smallest_expected: float | None

    @property
    def conclusion(self) -> Conclusion:
        """What follows, in words."""
        return "dependent" if self.p_value <= self.alpha else "no dependence found"

    def result(self) -> OutcomeOfTest:
        """Return the test and its conclusion."""
        easy, hard = self.detectable or (None, None)
        return OutcomeOfTest(
            a=self.a,
            b=self.b,
            n=self.n,
            statistic=self.statistic,
            degrees=self.degrees,
            p_value=self.p_value,
            alpha=self.alpha,
            conclusion=self.conclusion,
            power=POWER,
            smallest_detectable=easy,
            largest_detectable=hard,
            largest_possible=self.largest_possible,
            smallest_expected=self.smallest_expected,
        )


def independence(
    records: Records | RecordStream, a: str, b: str, *, alpha: float = ALPHA
) -> IndependenceTest:
    """Test whether two different attributes, each perturbed or in clear, are independent.

    Assumptions: respondents are drawn independently, devices follow the protocol, and there are
    enough records for the central limit theorem; a study measures the level.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    a, b : str
        Names of two different attributes.
    alpha : float
        Level, in (0, 0.5].

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.estimates.cross_table.cross_table`; for an alpha outside its
        interval, or an attribute of more than `MOST_CATEGORIES` categories.
    """
    return tested(Query(a=a, b=b, alpha=alpha), OfRecords(records))


def tested(query: Query, source: Source) -> IndependenceTest:
    """Test from joint counts; see :func:`independence`."""
    a, b, alpha = query.a, query.b, query.alpha
    first, second = pair(source.published, a, b)
    counts = source.pair(a, b)
    require_rows(counts.n)
    if not 0 < alpha <= 0.5:
        raise InvalidParameter(
            f"alpha is {alpha}, outside (0, 0.5]; give the level of the test, such as {ALPHA}",
            field="alpha",
        )
    for field, attribute in (("a", first), ("b", second)):
        if attribute.k > MOST_CATEGORIES:
            raise InvalidParameter(
                f"{attribute.name} has {attribute.k} categories, and a test of independence takes "
                f"at most {MOST_CATEGORIES}; choose another attribute",
                field=field,
            )
    cells, shares, others = joint_frequencies(counts, Side.of(first.oracle), Side.of(second.oracle))
    rest = cells - np.outer(shares, others)
    left, right = _Whitened.of(first.oracle, shares), _Whitened.of(second.oracle, others)
    degrees = left.rank * right.rank
    statistic = counts.n * float(np.square(left.root @ rest @ right.root.T).sum())
    possible = float(np.sqrt(min(first.k, second.k) - 1))
    detectable: tuple[float, float | None] | None = None
    if degrees:
        least = chi_square.detectable(degrees, alpha=alpha, wanted=POWER) / counts.n
        easy, hard = (
            float(np.sqrt(least / (ours * theirs)))
            for ours, theirs in zip(left.efficiency, right.efficiency, strict=True)
        )
        # beyond what is possible, phi would promise a power that the test does not have
        if easy <= possible:
            detectable = easy, hard if hard <= possible else None
    in_clear = first.oracle is None and second.oracle is None
    used = [f[f > 0] for f in (shares, others)]
    return IndependenceTest(
        a=a,
        b=b,
        n=counts.n,
        statistic=statistic,
        degrees=degrees,
        p_value=chi_square.upper_tail(statistic, degrees) if degrees else 1.0,
        alpha=alpha,
        detectable=detectable,
        largest_possible=possible,
        smallest_expected=counts.n * float(used[0].min() * used[1].min()) if in_clear else None,
    )


@dataclass(frozen=True, slots=True)
class _Whitened:
    """A square root of S^+, f64[rank, k], its rank, and the largest and smallest efficiency."""

    root: Array
    rank: int
    efficiency: tuple[float, float]

    @classmethod
    def of(cls, oracle: FrequencyOracle | None, estimated: Array) -> _Whitened:
        frequency = project_simplex(estimated)
        covariance = WeightCovariances.of(oracle).over_population(frequency)
        values, vectors = np.linalg.eigh(covariance)
        kept = values > _RANK * max(float(values[-1]), 1e-300)
        root = (vectors[:, kept] / np.sqrt(values[kept])).T
        people = np.diag(frequency) - np.outer(frequency, frequency)
        shares = np.linalg.eigvalsh(root @ people @ root.T) if kept.any() else np.ones(1)
        seen = shares[shares > _RANK]
        seen = seen if len(seen) else np.full(1, _RANK)
        return cls(root, int(kept.sum()), (float(seen.max()), float(seen.min())))
