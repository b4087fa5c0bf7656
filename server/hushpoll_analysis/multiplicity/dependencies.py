"""Tests of independence of many pairs of attributes, with few false discoveries among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from hushpoll_analysis.frames.tabular import Found
from hushpoll_analysis.multiplicity.discovery import adjusted
from hushpoll_analysis.records.counts import paired
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfCounts, OfRecords, Source
from hushpoll_analysis.relations.independence import IndependenceTest, tested
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.queries.dependencies import Dependencies as Query
from hushpoll_shared.queries.dependencies import OutcomesOfTests, PairTest
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.survey.published import Published

RATE = 0.05
"""Of the discoveries, the part that is expected to be false, at most."""

READING = (
    "Of the pairs that are called dependent at most the part `rate` is expected not to be, "
    "whatever the dependence of the tests (Benjamini and Yekutieli). It holds for one look at the "
    "results. The tests have no intervals."
)


@dataclass(frozen=True, slots=True)
class Dependencies(Found):
    """Which of many pairs of attributes depend on each other.

    Attributes
    ----------
    n : int
        Records behind it.
    rate : float
        Of false discoveries.
    tests : tuple of IndependenceTest
        One per pair, by rising p-value.
    adjusted : tuple of float
        Adjusted p-value of each.
    """

    n: int
    rate: float
    tests: tuple[IndependenceTest, ...]
    adjusted: tuple[float, ...]

    def result(self) -> OutcomesOfTests:
        """Return the tests with their adjusted p-values."""
        return OutcomesOfTests(
            n=self.n,
            rate=self.rate,
            reading=READING,
            pairs=tuple(
                PairTest(
                    a=test.a,
                    b=test.b,
                    statistic=test.statistic,
                    degrees=test.degrees,
                    p_value=test.p_value,
                    adjusted_p_value=value,
                    conclusion="dependent" if value <= self.rate else "no dependence found",
                )
                for test, value in zip(self.tests, self.adjusted, strict=True)
            ),
        )


def dependencies(records: Records | RecordStream, *, rate: float = RATE) -> Dependencies:
    """Test every pair of attributes whose joint counts are kept for independence.

    These are the attributes with the fewest categories, up to 1,024 together. Assumptions are those
    of :func:`hushpoll_analysis.relations.independence.independence`.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    rate : float
        Of the discoveries, the part that is expected to be false, at most; in (0, 0.5].

    Raises
    ------
    InvalidParameter
        For a rate outside its interval, no records, or a survey without a pair.
    """
    return tests_of_pairs(Query(rate=rate), OfRecords(records))


def tests_of_pairs(query: Query, source: Source) -> Dependencies:
    """Test from the kept counts of pairs; see :func:`dependencies`."""
    published, rate = source.published, query.rate
    pairs = check_pairs(published, rate)
    counts = source.pairs()
    kept = OfCounts(published, counts)
    tests = [tested(Independence(a=a, b=b), kept) for a, b in pairs]
    tests.sort(key=lambda test: test.p_value)
    values = adjusted([test.p_value for test in tests])
    return Dependencies(counts.counts.n, rate, tuple(tests), tuple(map(float, values)))


def check_pairs(published: Published, rate: float) -> Sequence[tuple[str, str]]:
    """Return the pairs that are tested.

    Raises
    ------
    InvalidParameter
        For a rate outside (0, 0.5], or a survey without a pair.
    """
    if not 0 < rate <= 0.5:
        raise InvalidParameter(
            f"rate is {rate}, outside (0, 0.5]; give the part of false discoveries, such as {RATE}",
            field="rate",
        )
    pairs = [(a.name, b.name) for a, b in combinations(paired(published), 2)]
    if not pairs:
        raise InvalidParameter(
            f"the survey {published.name} has no two attributes whose joint counts are kept; test "
            "a single pair by independence",
            field="name",
        )
    return pairs
