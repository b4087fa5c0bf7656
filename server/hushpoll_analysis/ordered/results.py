"""The result of a summary of ordered answers: statistics of each group, and their differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushpoll_analysis.frames.tabular import Found
from hushpoll_analysis.ordered.quantiles import Interpolation, Quantile
from hushpoll_analysis.ordered.scales import Scale
from hushpoll_analysis.ordered.statistics import NAMES, Bounded
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.ordered_answers import GroupDifference as DifferenceRow
from hushpoll_shared.queries.ordered_answers import GroupSummary as SummaryRow
from hushpoll_shared.queries.ordered_answers import OrderedSummary as Summary
from hushpoll_shared.spelling.intervals import HOLD_TOGETHER, how_to_read


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """What the ordered answers of one group, or of everybody, come to.

    Attributes
    ----------
    group : str or None
        None for everybody.
    mean : Bounded
        Of the scores of those who answered, in their unit; intervals count with their middle.
    least, greatest : Bounded or None
        The mean if all answers lay at the lower, or at the upper, end of their interval. None
        where every category is a number.
    at_least : Bounded or None
        Share of those who answered at or above the threshold.
    nps : Bounded or None
        Promoters (9 and 10) minus detractors (0 to 6), in [-100, 100]; of the scale 0 to 10 alone.
    quantiles : tuple of Quantile
        In the order asked for.
    """

    group: str | None
    mean: Bounded
    least: Bounded | None
    greatest: Bounded | None
    at_least: Bounded | None
    nps: Bounded | None
    quantiles: tuple[Quantile, ...]

    def row(self) -> SummaryRow:
        """Return the summary as a part of a result."""
        quantiles = tuple(quantile.row() for quantile in self.quantiles)
        return SummaryRow(group=self.group, quantiles=quantiles, **_rows(self))


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """What the ordered answers of one group come to, minus those of the reference.

    Quantiles have no difference: their sets are of categories, and no rule here bounds how far two
    of them are apart.

    Attributes
    ----------
    group : str
        That is compared.
    mean, least, greatest, at_least, nps
        As of :class:`GroupSummary`; the sets allow for the noise that both groups share.
    """

    group: str
    mean: Bounded
    least: Bounded | None
    greatest: Bounded | None
    at_least: Bounded | None
    nps: Bounded | None

    def row(self) -> DifferenceRow:
        """Return the differences as a part of a result."""
        return DifferenceRow(group=self.group, **_rows(self))


def _rows(parts: GroupSummary | GroupDifference) -> dict[str, Any]:
    statistics = {name: getattr(parts, name) for name in NAMES}
    return {name: None if one is None else one.summary() for name, one in statistics.items()}


N_COUNTS_ALL = (
    "Nobody knows which reports are of the respondents with this answer, since it is perturbed: n "
    "counts all reports, and the noise of both questions is in the intervals."
)


@dataclass(frozen=True, slots=True)
class OrderedSummary(Found):
    """What the ordered answers to one question come to, with intervals.

    Attributes
    ----------
    attribute : str
        The question's.
    given : str or None
        The attribute whose categories are the groups.
    scale : Scale
        The scores that were used.
    n : int
        Records behind it.
    confidence : float
        Of each interval, or of all together if `simultaneous`.
    simultaneous : bool
        Whether all intervals hold at once (Bonferroni).
    threshold : float or None
        Of the share at or above it.
    interpolation : str
        Of quantiles: ``none`` or ``linear``.
    groups : tuple of GroupSummary
        One per category of `given`, or one of everybody.
    reference : str or None
        The group that the others are compared with.
    differences : tuple of GroupDifference or None
        One per other group.
    verdict : Verdict or None
        Whether it can tell anything.
    among : bool
        Whether it is about the respondents with one answer to a perturbed question, of whom nobody
        knows the records: `n` counts all.
    """

    attribute: str
    given: str | None
    scale: Scale
    n: int
    confidence: float
    simultaneous: bool
    threshold: float | None
    interpolation: Interpolation
    groups: tuple[GroupSummary, ...]
    reference: str | None
    differences: tuple[GroupDifference, ...] | None
    verdict: Verdict | None = None
    among: bool = False

    @property
    def intervals(self) -> int:
        """How many intervals it shows."""
        first = self.groups[0]
        statistics = sum(getattr(first, name) is not None for name in NAMES)
        return (statistics + len(first.quantiles)) * len(self.groups) + statistics * len(
            self.differences or ()
        )

    def result(self) -> Summary:
        """Return the summary group by group."""
        return Summary(
            verdict=self.verdict,
            attribute=self.attribute,
            given=self.given,
            n=self.n,
            confidence=self.confidence,
            simultaneous=self.simultaneous,
            intervals=(
                HOLD_TOGETHER if self.simultaneous else how_to_read(self.intervals, self.confidence)
            )
            + (f" {N_COUNTS_ALL}" if self.among else ""),
            threshold=self.threshold,
            interpolation=self.interpolation,
            scale=self.scale.rows(),
            rounded=self.scale.rounded,
            groups=tuple(group.row() for group in self.groups),
            reference=self.reference,
            differences=None
            if self.differences is None
            else tuple(one.row() for one in self.differences),
        )
