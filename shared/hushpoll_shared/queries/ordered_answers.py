"""Mean, quantiles, share at a threshold and NPS of ordered answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES, Possible
from hushpoll_shared.qualifying.verdict import Reach, half_width
from hushpoll_shared.queries.parts import (
    ESTIMATE,
    HOW_TO_READ,
    UNKNOWN,
    Bound,
    SummaryEstimate,
    ends_of,
    has_intervals,
    length_of,
    spelled_scale,
)
from hushpoll_shared.queries.parts import (
    Score as ScoreRow,
)
from hushpoll_shared.querying.query import Query, Spelling, confidence, parameter, simultaneous
from hushpoll_shared.querying.result import Line, Result, Section, Tells, TextColumn, member
from hushpoll_shared.spelling.scores import Score, parse_quantiles, parse_scores, spelled_scores

SCORES: Final = Spelling(parse_scores, spelled_scores, "SCORE,SCORE...")
QUANTILES: Final = Spelling(parse_quantiles, spelled_scores, "Q,Q...", longest=200)
StatisticName = Literal["mean", "least", "greatest", "at_least", "nps"]
STATISTICS: Final[tuple[StatisticName, ...]] = ("mean", "least", "greatest", "at_least", "nps")
"""Members of a summary that are estimates, in the order in which they are shown."""
WORDS: Final = {
    "mean": ("mean", "mean"),
    "least": (
        "mean, if all lie at the lower ends",
        "mean, least (its lower ends, the other's upper ends)",
    ),
    "greatest": (
        "mean, if all lie at the upper ends",
        "mean, greatest (its upper ends, the other's lower ends)",
    ),
    "nps": ("net promoter score", "net promoter score"),
}
"""What a statistic is called, and what its difference is."""

ANYWHERE: Final = "cannot be told"
"""Stands for a quantile whose interval is the whole scale."""


def _quantile_or(cell: TextColumn, text: Callable[[QuantileEstimate], str]) -> TextColumn:
    """Return a column of estimates that has quantiles too, which have no standard error."""
    return TextColumn(
        cell.heading,
        lambda row: text(row) if isinstance(row, QuantileEstimate) else cell.cell(row),
    )


def name_of(
    statistic: str, threshold: float | None, *, difference: bool, by_middle: bool = False
) -> str:
    """Return what a statistic is called in a text."""
    if statistic == "at_least":
        return f"share at or above {threshold:g}"
    middle = ", intervals by their middle" if statistic == "mean" and by_middle else ""
    return WORDS[statistic][difference] + middle


def possible_of(statistic: str, scale: Iterable[ScoreRow]) -> Possible:
    """Return what a statistic can be on a scale."""
    if statistic == "at_least":
        return SHARES
    return (-100.0, 100.0) if statistic == "nps" else ends_of(scale)


def possible_difference(
    statistic: str, scale: Iterable[ScoreRow], subtracted: Iterable[ScoreRow]
) -> Possible:
    """Return what a statistic on a scale can be, minus the same one on another scale."""
    if statistic == "at_least":
        return DIFFERENCES
    low, high = possible_of(statistic, scale)
    other_low, other_high = possible_of(statistic, subtracted)
    return low - other_high, high - other_low


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantileEstimate:
    """A quantile with the set of the compatible scores."""

    schema: ClassVar[str] = "QuantileModel"

    q: float
    category: str | None = member("That the estimate is in.")
    lowest: str | None = member("First compatible category.")
    highest: str | None = member("Last compatible category.")
    value: float | None = member("Of an interval the middle, unless `interpolation` is `linear`.")
    lower: float | None
    upper: float | None
    bound: Bound


def _limits(row: QuantileEstimate) -> str:
    return UNKNOWN if row.value is None else f"{row.lower:g} to {row.upper:g}"


def could_be_any(lower: float | None, upper: float | None, scale: Iterable[ScoreRow]) -> bool:
    """Return whether a quantile may be anywhere on its scale, so that its middle tells nothing."""
    low, high = ends_of(scale)
    return lower is not None and upper is not None and lower <= low and upper >= high


def _columns(scale: Sequence[ScoreRow]) -> tuple[TextColumn, ...]:
    """Return the columns of estimates and quantiles on a scale."""

    def value(row: QuantileEstimate) -> str:
        if row.value is None:
            return ""
        return ANYWHERE if could_be_any(row.lower, row.upper, scale) else f"{row.value:g}"

    return (
        _quantile_or(ESTIMATE[0], value),
        _quantile_or(ESTIMATE[1], lambda _: ""),
        _quantile_or(ESTIMATE[2], _limits),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsOfGroup:
    """Mean, share at a threshold and NPS."""

    mean: SummaryEstimate = member("Intervals count with their middle.")
    least: SummaryEstimate | None = member(
        "The mean if every answer lay at the lower end of its interval; null where each category "
        "is a number."
    )
    greatest: SummaryEstimate | None = member("The same at the upper end.")
    at_least: SummaryEstimate | None = member("Share at or above the threshold; null without one.")
    nps: SummaryEstimate | None = member(
        "Net promoter score in [-100, 100]; null unless the scale is 0 to 10."
    )

    def there(self) -> Iterator[tuple[str, SummaryEstimate]]:
        """Yield the statistics that the scale has, by name."""
        for name in STATISTICS:
            estimate = getattr(self, name)
            if estimate is not None:
                yield name, estimate


def reaches_of(
    part: str,
    of: str,
    groups: Iterable[StatisticsOfGroup],
    threshold: float | None,
    length: float,
) -> Iterator[Reach]:
    """Yield how far the intervals of statistics reach, beside a quarter of their scale.

    A part that is not ``groups`` has differences, beside which half of their scale stands; a
    `length` is the scale's, and the share at or above `threshold` is one of the statistics.
    """
    by_name: dict[str, list[SummaryEstimate]] = {}
    for group in groups:
        for name, estimate in group.there():
            by_name.setdefault(name, []).append(estimate)
    apart = part != "groups"
    start = "a difference of the" if apart else "the"
    for name, rows in by_name.items():
        whole = {"at_least": 1.0, "nps": 200.0}.get(name, length)
        yield Reach(
            part=part,
            what=f"{start} {name_of(name, threshold, difference=False)} {of}",
            half_width=half_width(rows),
            most=whole / (2 if apart else 4),
            unit="points" if name == "at_least" else "scale",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSummary(StatisticsOfGroup):
    """What the answers of a group, or of everybody, come to."""

    schema: ClassVar[str] = "GroupSummaryModel"

    group: str | None = member("Category of `given`; null for everybody.")
    quantiles: tuple[QuantileEstimate, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupDifference(StatisticsOfGroup):
    """What the answers of a group come to, minus those of the reference.

    `least` is the least mean of the group minus the greatest of the reference, `greatest` the
    reverse. Quantiles have no difference with an interval.
    """

    schema: ClassVar[str] = "GroupDifferenceModel"

    group: str


@dataclass(frozen=True, kw_only=True)
class OrderedSummary(Result):
    """Mean, quantiles, share at a threshold and NPS of those who answered."""

    title: ClassVar[str] = "ordered answers"

    attribute: str
    given: str | None
    n: int
    confidence: float
    simultaneous: bool
    intervals: str = member(HOW_TO_READ)
    threshold: float | None
    interpolation: Literal["none", "linear"]
    scale: tuple[ScoreRow, ...] = member("The scores that were used.")
    rounded: bool = member(
        "Whether the answers are numbers of which records have one of the two anchors beside them; "
        "the scale has the anchors, and a quantile is told as between two of them."
    )
    groups: tuple[GroupSummary, ...] = member("One per category of `given`, or one of everybody.")
    reference: str | None
    differences: tuple[GroupDifference, ...] | None = member(
        "One per other group; null without a reference."
    )

    def sections(self) -> Iterator[Section]:
        """Yield a section for each group, and for each difference."""
        for group in self.groups:
            title = self.attribute
            if self.given is not None:
                title += f", given {self.given} {group.group}"
            yield self._section(title, "of those who answered", group, group.quantiles, None)
        for one in self.differences or ():
            title = f"{self.attribute}: {one.group} minus {self.reference}"
            yield self._section(title, "difference", one, (), self.reference)

    def _section(
        self,
        title: str,
        heading: str,
        group: GroupSummary | GroupDifference,
        quantiles: Sequence[QuantileEstimate],
        compared_with: str | None,
    ) -> Section:
        apart, by_middle = compared_with is not None, has_intervals(self.scale)
        lines = [
            Line(
                estimate,
                (name_of(name, self.threshold, difference=apart, by_middle=by_middle),),
                {"statistic": name},
                possible_difference(name, self.scale, self.scale)
                if apart
                else possible_of(name, self.scale),
            )
            for name, estimate in group.there()
        ]
        for one in quantiles:
            word = "median" if one.q == 0.5 else f"quantile {one.q:g}"
            possible = ends_of(self.scale)
            lines.append(Line(one, (word,), {"statistic": "quantile"}, possible))
        return Section(
            of=SummaryEstimate,
            also=QuantileEstimate,
            rows=lines,
            title=title,
            words={heading: ""},
            shown=_columns(self.scale),
            labels={"compared_with": "", "group": "", "statistic": "", "q": "q"},
            fixed={"compared_with": compared_with, "group": group.group},
            part="differences" if apart else "groups",
            tells=Tells(question=self.attribute, group=self.given or "", reference=compared_with),
        )

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals of each statistic reach, in the groups and of differences."""
        length = length_of(self.scale)
        within = "" if self.given is None else f" within a group of {self.given}"
        yield from reaches_of(
            "groups", f"of {self.attribute}{within}", self.groups, self.threshold, length
        )
        if self.differences is not None:
            of = f"of {self.attribute} between two groups of {self.given}"
            yield from reaches_of("differences", of, self.differences, self.threshold, length)

    def notes(self) -> Iterator[str]:
        """Yield how to read the intervals, and what is not known."""
        yield from super().notes()
        if self.differences is not None and any(one.quantiles for one in self.groups):
            yield "Quantiles have no difference with an interval."
        if self.rounded:
            yield (
                "Of each answer the records have one of the two anchors beside it, which is the "
                "answer on average: the mean is that of the answers. Which answers lie between two "
                "anchors is not known: a quantile lies between its two ends, and no nearer is told."
            )
        if has_intervals(self.scale):
            yield (
                "The interval of the mean is about who was asked, and about noise. Where answers "
                "lie within their intervals is not known: the true mean lies between the two other "
                "means."
            )

    def methods(self) -> Mapping[str, object]:
        """Return what was asked, and the scores."""
        names = ("attribute", "given", "threshold", "interpolation")
        return {**self._named(*names), "scale": spelled_scale(self.scale)}


@dataclass(frozen=True, kw_only=True)
class Ordered(Query[OrderedSummary]):
    """Estimate mean, quantiles, share at a threshold and NPS of ordered answers.

    All are about those who answered, alone or within each category of another attribute, and with
    differences to one of these groups.
    """

    name: ClassVar[str] = "ordered-answers"
    command: ClassVar[str] = "ordered"
    summary: ClassVar[str] = "Show mean, quantiles and net promoter score of ordered answers."
    example: ClassVar[str] = "age --given gender --threshold 65"
    looked_at: ClassVar[str] = "the means and quantiles"
    family: ClassVar[str] = "ordered"

    attribute: str = parameter(
        "Attribute whose answers are summarised.", positional=True, attribute=True
    )
    scores: Sequence[Score] | None = parameter(
        "One per category but the missing one, in the order of the manifest, with commas between "
        "them: a number, or an interval as LOW:HIGH. By default the categories' labels are read as "
        "numbers, or as intervals such as 18-24. Such as 18:25,25:35,35:50.",
        None,
        spelling=SCORES,
    )
    quantiles: Sequence[float] = parameter(
        "Numbers in the open interval (0, 1), with commas between them.",
        (0.25, 0.5, 0.75),
        spelling=QUANTILES,
    )
    threshold: float | None = parameter(
        "Show the share at or above this score, in (lowest score, highest score].", None
    )
    given: str | None = parameter(
        "Another attribute; all is estimated within each of its categories.", None, attribute=True
    )
    interpolation: Literal["none", "linear"] = parameter(
        "`linear` spreads the answers of an interval evenly over it, for quantiles.", "none"
    )
    reference: str | None = parameter(
        "A category of `given`; every other group is compared with it.", None, category_of="given"
    )
    confidence: float = confidence()
    simultaneous: bool = simultaneous()
