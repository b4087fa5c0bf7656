"""Whether a survey will tell how two questions go together, of the pairs that its draft marks.

The verdict is the one that the result itself will begin with: of the test of independence, or of
the cross-table where there is no such test of the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hushpoll_analysis.estimates.cross_table import joint_shares
from hushpoll_analysis.records.answering import of_respondents
from hushpoll_analysis.relations.independence import MOST_CATEGORIES, verdict_on_test
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, kw_only=True, slots=True)
class PairOutlook:
    """What a survey will be able to say of two questions."""

    a: str
    b: str
    statistic: Literal["independence", "cross-tables"]
    """Whose verdict it is."""
    verdict: Verdict | None
    """None where no statistic of the two is computed; `refusal` then says why."""
    refusal: str | None = None


def pair_outlooks(
    published: Published, pairs: Iterable[tuple[str, str]], n: int
) -> tuple[PairOutlook, ...]:
    """Return what a survey with n respondents will be able to say of pairs of its questions.

    Of questions in a draw it is what those will tell who answer both.
    """
    return tuple(_outlook(published, n, a, b) for a, b in pairs)


def _outlook(published: Published, n: int, a: str, b: str) -> PairOutlook:
    try:
        expected = Expected(*of_respondents(published, (a, b), n, field="pairs"))
    except InvalidParameter as error:  # nobody answers both
        return PairOutlook(a=a, b=b, statistic="cross-tables", verdict=None, refusal=str(error))
    asked = [expected.published.attribute(name) for name in (a, b)]
    if all(one.block is None and one.k <= MOST_CATEGORIES for one in asked):
        verdict = verdict_on_test(Independence(a=a, b=b), expected)
        return PairOutlook(a=a, b=b, statistic="independence", verdict=verdict)
    try:
        table = joint_shares(CrossTable(a=a, b=b), expected)
    except InvalidParameter as error:  # it has too many cells
        return PairOutlook(a=a, b=b, statistic="cross-tables", verdict=None, refusal=str(error))
    return PairOutlook(a=a, b=b, statistic="cross-tables", verdict=table.verdict)
