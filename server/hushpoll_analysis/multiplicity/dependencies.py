"""Tests of independence of many pairs of attributes, with few false discoveries among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

from hushpoll_analysis.estimates.joint import common_block
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.multiplicity.discovery import adjusted
from hushpoll_analysis.records.answering import answering
from hushpoll_analysis.records.counts import PairCounts, paired
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfCounts, OfRecords, Source
from hushpoll_analysis.relations.block_independence import has_rare_cells, law_of_table
from hushpoll_analysis.relations.chi_square import dependence
from hushpoll_analysis.relations.independence import (
    IndependenceTest,
    has_rare_answers,
    run_test,
)
from hushpoll_analysis.relations.reference_distribution import TABLES
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import foreseen
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.verdict import Reach, Verdict
from hushpoll_shared.queries.dependencies import Dependencies as Query
from hushpoll_shared.queries.dependencies import OutcomesOfTests, PairTest
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.survey.published import Published

RATE = 0.05
"""The part of the discoveries that is expected to be false, at most."""

MOST_TABLES = 99_999
"""Drawn for one pair, where so many pairs are tested that a discovery needs a smaller p-value."""

OnPair = Callable[[int, int], object]
"""Called with the pairs that are tested and with all."""

READING = (
    "Of the pairs that are called dependent at most the part `rate` is expected not to be, "
    "whatever the dependence of the tests (Benjamini and Yekutieli). It holds for one look at the "
    "results. The tests have no intervals."
)


@dataclass(frozen=True, slots=True)
class Dependencies(ArrayResult):
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
    left_out : tuple of str
        A sentence that names the pairs which have no test, where there are some.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    n: int
    rate: float
    tests: tuple[IndependenceTest, ...]
    adjusted: tuple[float, ...]
    left_out: tuple[str, ...] = ()
    verdict: Verdict | None = None

    def result(self) -> OutcomesOfTests:
        """Return the tests with their adjusted p-values."""
        return filled(
            OutcomesOfTests,
            self,
            reading=" ".join([READING, *self.left_out]),
            pairs=tuple(
                filled(
                    PairTest,
                    test,
                    adjusted_p_value=value,
                    conclusion="dependent" if value <= self.rate else "no dependence found",
                    n=None if test.n == self.n else test.n,
                )
                for test, value in zip(self.tests, self.adjusted, strict=True)
            ),
        )


def dependencies(
    records: Records | RecordStream, *, rate: float = RATE, on_pair: OnPair | None = None
) -> Dependencies:
    """Test every pair of attributes whose joint counts are kept for independence.

    These are the attributes with the fewest categories, up to 1,024 together. Assumptions are those
    of :func:`hushpoll_analysis.relations.independence.independence`.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    rate : float
        Of the discoveries, the part that is expected to be false, at most; in (0, 0.5].
    on_pair : callable, optional
        Called after each pair with the pairs that are tested and with all. With rare answers, and
        up to 10,000 records, a pair takes up to a second.

    Raises
    ------
    InvalidParameter
        For a rate outside its interval, no records, or a survey without a pair.
    """
    return outcomes_of_pairs(Query(rate=rate), OfRecords(records), on_pair)


def _foresee(query: Query, sides: Sequence[Expected]) -> list[Reach]:
    """Return which dependences are found if one pair depends: p <= rate/(m (1 + ... + 1/m))."""
    (side,) = sides
    pairs = check_pairs(side.published, query.rate)
    level = query.rate / (len(pairs) * _harmonic(len(pairs)))
    parts = [(side.answering([a, b]), a, b) for a, b in pairs]
    return [dependence(part.published, a, b, part.n, level, f"{a}/{b}") for part, a, b in parts]


@foreseen(_foresee)
def outcomes_of_pairs(query: Query, source: Source, on_pair: OnPair | None = None) -> Dependencies:
    """Test from the kept counts of pairs; see :func:`dependencies`."""
    published, rate = source.published, query.rate
    pairs = check_pairs(published, rate, but=query.where or ())
    counts = source.pairs()
    most = tables_for(len(pairs), rate)
    tests: list[IndependenceTest] = []
    for number, (a, b) in enumerate(pairs, start=1):
        # where one is in a draw, those are meant who answer both
        kept = counts.answering(published, [a, b])
        of_both = published.answering([a, b])
        both = answering(source, [a, b]) if kept is None else OfCounts(of_both, kept)
        tests.append(run_test(Independence(a=a, b=b), both, most_tables=most))
        if on_pair is not None:
            on_pair(number, len(pairs))
    tests.sort(key=lambda test: test.p_value)
    values = adjusted([test.p_value for test in tests])
    left_out = _left_out(published, query.where or ())
    return Dependencies(counts.counts.n, rate, tuple(tests), tuple(map(float, values)), left_out)


def _left_out(published: Published, but: Collection[str]) -> tuple[str, ...]:
    names = [one.name for one in paired(published) if one.name not in but]
    pairs = list(combinations(names, 2))
    never = [pair for pair in pairs if not published.share_answering(pair)]
    gone = [pair for pair in pairs if pair not in never and not is_tested(published, *pair)]
    reasons = (
        (
            gone,
            "questions always depend on each other if some of their answers cannot be given "
            "together, as those of a follow-up and its router",
        ),
        (never, "they are in a draw of which no respondent answers both"),
    )
    return tuple(
        f"{', '.join(f'{a} and {b}' for a, b in left)} are not tested: {why}."
        for left, why in reasons
        if left
    )


def is_tested(published: Published, a: str, b: str) -> bool:
    """Return whether a test of independence knows two attributes.

    Two of a draw are answered by nobody together where each respondent answers one. Two of one
    block are never independent if some of their answers cannot be given together.
    """
    if not published.share_answering([a, b]):
        return False
    block = common_block(published, a, b)
    return block is None or block.tree is None or law_of_table(block, a, b) is not None


def tables_for(pairs: int, rate: float) -> int:
    """Return how many tables are drawn for a pair at most, so that one alone can be a discovery.

    Its p-value must be at most rate/(m (1 + 1/2 + ... + 1/m)); the smallest is half of that, unless
    `MOST_TABLES` are too few.
    """
    return min(max(TABLES, math.ceil(2 * pairs * _harmonic(pairs) / rate)), MOST_TABLES)


def _harmonic(pairs: int) -> float:
    return math.fsum(1 / number for number in range(1, pairs + 1))


def rare_pairs(
    published: Published, counts: PairCounts, rate: float, but: Collection[str] = ()
) -> int:
    """Return how many pairs have answers so rare that tables are drawn; it takes no time."""
    found = 0
    whole, every = published, counts
    for a, b in check_pairs(whole, rate, but):
        published = whole.answering([a, b])
        answered = every.answering(whole, [a, b])
        joint = None if answered is None else answered.of_questions(published, a, b)
        block = common_block(published, a, b)
        if joint is None:
            continue
        if block is not None:
            law = law_of_table(block, a, b)
            found += law is not None and has_rare_cells(law, joint)
            continue
        laws = law_of(published.attribute(a)), law_of(published.attribute(b))
        found += has_rare_answers(joint, laws)
    return found


def check_pairs(
    published: Published, rate: float, but: Collection[str] = ()
) -> Sequence[tuple[str, str]]:
    """Return the pairs that are tested; refuses a rate outside (0, 0.5], and none."""
    if not 0 < rate <= 0.5:
        raise InvalidParameter(
            f"rate is {rate}, outside (0, 0.5]; give the part of false discoveries, such as {RATE}",
            field="rate",
        )
    tested = [one.name for one in paired(published) if one.name not in but]
    pairs = [pair for pair in combinations(tested, 2) if is_tested(published, *pair)]
    if not pairs:
        raise InvalidParameter(
            f"the survey {published.name} has no two attributes whose joint counts are kept, and "
            "whose answers can all be given together; test a single pair by independence",
            field="name",
        )
    return pairs
