"""A test that two attributes are independent, which is right for perturbed records too.

Let R = J - f1 f2' be the estimated joint shares minus the product of the estimated margins. Under
independence the products of centred weights of one record have the covariance S1 x S2 (Kronecker),
S being the covariance matrix of an attribute's weights, noise included
(:mod:`hushpoll_analysis.estimates.weight_covariances`). So

    X^2 = n tr(S1^+ R S2^+ R')

is chi-square with rank(S1) rank(S2) degrees of freedom where every cell has many records. Where
`ENOUGH_TOGETHER` are not expected in some cell, the p-value comes from tables that are drawn under
independence (:mod:`hushpoll_analysis.relations.reference_distribution`): with rare answers the
chi-square law rejects up to a hundred times as often as its level says. In clear
S = diag(f) - f f' and X^2 is Pearson's. Pearson's own statistic of perturbed answers would take
noise for people: its level is wrong (Gaboardi and Rogers, Local Private Hypothesis Testing, ICML
2018, who correct it for randomised responses as is done here).

Where both questions are in one block, cells are estimated as they are and not by products, and the
covariance of R is another one: see :mod:`hushpoll_analysis.relations.block_independence`.

Noise makes dependence harder to see. A dependence of size phi, phi^2 being Pearson's statistic of
the population over n, has a noncentrality of n phi^2 times an efficiency, which depends on the kind
of dependence; its extremes are products of the extreme eigenvalues of S^+ (diag(f) - f f').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.joint import Margin, Side, common_block, joint_frequencies
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.records.answering import of_those_who_answer
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.relations import chi_square
from hushpoll_analysis.relations.block_independence import InBlock
from hushpoll_analysis.relations.chi_square import dependence
from hushpoll_analysis.relations.reference_distribution import TABLES, DrawnPValue, PairingTest
from hushpoll_analysis.relations.whitening import whitening
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import foreseen, verdict_of
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.marginals import AnyLaw, members_of
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_shared.qualifying.verdict import Reach, Verdict
from hushpoll_shared.queries.independence import Conclusion, OutcomeOfTest, Reference
from hushpoll_shared.queries.independence import Independence as Query
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

ALPHA = 0.05
MOST_CATEGORIES = 2048
"""Each attribute has at most so many: its covariance matrix is decomposed."""


@dataclass(frozen=True, slots=True)
class IndependenceTest(ArrayResult):
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
        Chance of so large a statistic if the attributes are independent; 1 for no degrees. By drawn
        tables it is at least one over their number.
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
    smallest_expected : float
        People expected in the emptiest cell if the attributes are independent, at the estimated
        shares; of categories whose estimate is above 0.
    reference : {"chi-square", "drawn tables"}
        Where the p-value comes from.
    tables : int or None
        How many were drawn.
    verdict : Verdict or None
        Whether it can tell anything.
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
    smallest_expected: float
    reference: Reference
    tables: int | None
    verdict: Verdict | None = None

    @property
    def conclusion(self) -> Conclusion:
        """What follows, in words."""
        return "dependent" if self.p_value <= self.alpha else "no dependence found"

    def result(self) -> OutcomeOfTest:
        """Return the test and its conclusion."""
        easy, hard = self.detectable or (None, None)
        return filled(
            OutcomeOfTest,
            self,
            power=POWER,
            smallest_detectable=easy,
            largest_detectable=hard,
        )


def independence(
    records: Records | RecordStream, a: str, b: str, *, alpha: float = ALPHA
) -> IndependenceTest:
    """Test whether two different attributes, each perturbed or in clear, are independent.

    Assumptions: respondents are drawn independently, and devices follow the protocol; a study
    measures the level. With rare answers the p-value is that of tables drawn with a seed that
    follows from survey and counts, so it is the same each time.

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
    return outcome_of_test(Query(a=a, b=b, alpha=alpha), OfRecords(records))


def _foresee(query: Query, sides: Sequence[Expected]) -> tuple[Reach, ...]:
    """Return which dependence the test will find; see `judged`."""
    (side,) = sides
    return (dependence(side.published, query.a, query.b, side.n, query.alpha, "test"),)


def verdict_on_test(query: Query, expected: Expected) -> Verdict:
    """Return the verdict on a test, before there are reports to test with."""
    return verdict_of(query, [expected], _foresee)


@of_those_who_answer
@foreseen(_foresee)
def outcome_of_test(query: Query, source: Source) -> IndependenceTest:
    """Test from joint counts; see :func:`independence`."""
    return run_test(query, source, most_tables=TABLES)


def run_test(query: Query, source: Source, *, most_tables: int) -> IndependenceTest:
    """Test from joint counts, without a verdict, by at most so many drawn tables."""
    a, b, alpha = query.a, query.b, query.alpha
    published = source.published
    first, second = pair(published, a, b)
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
    block = common_block(published, a, b)
    test: Evidence = (
        Apart.of(published, counts, (first, second), most_tables)
        if block is None
        else InBlock.of(published, counts, (first, second), block)
    )
    degrees = test.degrees
    possible = float(np.sqrt(min(first.k, second.k) - 1))
    detectable: tuple[float, float | None] | None = None
    if degrees:
        least = chi_square.detectable(degrees, alpha=alpha, wanted=POWER) / counts.n
        easy, hard = (float(np.sqrt(least / efficiency)) for efficiency in test.efficiency)
        # beyond what is possible, phi would promise a power that the test does not have
        if easy <= possible:
            detectable = easy, hard if hard <= possible else None
    used = [f[f > 0] for f in test.frequencies]
    p_value, tables = 1.0, None
    if degrees and test.has_rare:
        drawn = test.drawn()
        p_value, tables = drawn.p_value, drawn.tables
    elif degrees:
        p_value = chi_square.upper_tail(test.statistic, degrees)
    return IndependenceTest(
        a=a,
        b=b,
        n=counts.n,
        statistic=test.statistic,
        degrees=degrees,
        p_value=p_value,
        alpha=alpha,
        detectable=detectable,
        largest_possible=possible,
        smallest_expected=counts.n * float(used[0].min() * used[1].min()),
        reference="chi-square" if tables is None else "drawn tables",
        tables=tables,
    )


class Evidence(Protocol):
    """What the records say of the dependence of two questions."""

    @property
    def statistic(self) -> float:
        """X^2, at least 0."""

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""

    @property
    def efficiency(self) -> tuple[float, float]:
        """Which part of a dependence is seen, at most and at least."""

    @property
    def frequencies(self) -> tuple[Array, Array]:
        """Estimates of either question, at least 0 and summing to 1."""

    @property
    def has_rare(self) -> bool:
        """Whether some cell expects too few records for the chi-square law."""

    def drawn(self) -> DrawnPValue:
        """Return the p-value by drawn tables."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The evidence on two questions that are randomised apart."""

    published: Published
    counts: JointCounts
    attributes: tuple[PublishedAttribute, PublishedAttribute]
    sides: tuple[Whitened, Whitened]
    statistic: float
    """X^2."""
    most_tables: int
    """Drawn at most."""

    @classmethod
    def of(
        cls,
        published: Published,
        counts: JointCounts,
        attributes: tuple[PublishedAttribute, PublishedAttribute],
        most_tables: int,
    ) -> Apart:
        """Return that of joint counts."""
        first, second = (law_of(attribute) for attribute in attributes)
        cells, shares, others = joint_frequencies(counts, Side.of(first), Side.of(second))
        rest = cells - np.outer(shares, others)
        left, right = Whitened.of(first, shares), Whitened.of(second, others)
        statistic = counts.n * float(np.square(left.root @ rest @ right.root.T).sum())
        return cls(published, counts, attributes, (left, right), statistic, most_tables)

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return self.sides[0].rank * self.sides[1].rank

    @property
    def efficiency(self) -> tuple[float, float]:
        """Which part of a dependence is seen, at most and at least."""
        (most, least), (others_most, others_least) = (side.efficiency for side in self.sides)
        return most * others_most, least * others_least

    @property
    def frequencies(self) -> tuple[Array, Array]:
        """Estimates of either question, at least 0 and summing to 1."""
        return self.sides[0].frequency, self.sides[1].frequency

    @property
    def has_rare(self) -> bool:
        """Whether some cell expects too few records for the chi-square law."""
        return has_rare_answers(self.counts, self._laws)

    @property
    def _laws(self) -> tuple[AnyLaw | None, AnyLaw | None]:
        return self.sides[0].law, self.sides[1].law

    def drawn(self) -> DrawnPValue:
        """Return the p-value by drawn tables."""
        counts, sides, laws = self.counts, self.sides, self._laws
        names = [attribute.name for attribute in self.attributes]
        order = [attribute.name for attribute in self.published.attributes]
        if order.index(names[0]) > order.index(names[1]):
            # the same tables, whichever is named first
            turned = JointCounts(counts.n, counts.second, counts.first, counts.both.T)
            counts, names, sides, laws = turned, names[::-1], sides[::-1], laws[::-1]
        test = PairingTest(
            counts,
            laws,
            (sides[0].frequency, sides[1].frequency),
            sides[0].of_supports(counts.first, counts.n),
            sides[1].of_supports(counts.second, counts.n),
        )
        return test.p_value(f"{self.published.digest} {' '.join(names)}", most=self.most_tables)


def has_rare_answers(counts: JointCounts, laws: tuple[AnyLaw | None, AnyLaw | None]) -> bool:
    """Return whether some cell expects too few records for the chi-square law."""
    first, second = (
        _rarest(law, support, counts.n)
        for law, support in zip(laws, (counts.first, counts.second), strict=True)
    )
    return first * second < chi_square.ENOUGH_TOGETHER * counts.n


def _rarest(law: AnyLaw | None, support: npt.NDArray[np.int64], n: int) -> int:
    """Return the records in which the indicator that varies least has its rarer value."""
    members = np.array(members_of(law, len(support)))
    # of several combinations with one answer, each has its part of the records
    rarer = np.minimum(support, n * members - support) // members
    # an answer in clear that nobody gave takes no degree of freedom
    return int(rarer[support > 0].min() if law is None else rarer.min())


@dataclass(frozen=True, slots=True)
class Whitened:
    """A root of S^+, f64[rank, k], at frequencies f64[k], and its largest and least efficiency."""

    law: AnyLaw | None
    frequency: Array
    root: Array
    rank: int
    efficiency: tuple[float, float]

    @classmethod
    def of(cls, law: AnyLaw | None, estimated: Array) -> Whitened:
        """Return that of a protocol or of sets, None in clear, at estimated shares f64[k]."""
        frequency = project_simplex(estimated)
        covariance = WeightCovariances.of(law).over_population(frequency)
        people = np.diag(frequency) - np.outer(frequency, frequency)
        root, efficiency = whitening(covariance, people)
        return cls(law, frequency, root, len(root), efficiency)

    def of_supports(self, support: npt.NDArray[np.int64], n: int) -> Array:
        """Return the root for centred indicators instead of weights, f64[rank, k].

        With W = D - c T, D = (I - q)/(p - q) and T the sum of D less 1, the centred weights are
        (1 - c 1')/(p - q) times the centred indicators.
        """
        side = Side.of(self.law)
        root = self.root
        if side.law.varies:
            root = root - (root @ Margin.of(support, n, side).shares)[:, None]
        return np.asarray(root / side.channel.gap)
