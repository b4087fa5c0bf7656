"""How mean, share at a threshold and NPS have changed since another version or survey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from hushpoll_shared.qualifying.verdict import Reach, half_width
from hushpoll_shared.queries.ordered_answers import (
    SCORES,
    StatisticName,
    name_of,
    possible_difference,
)
from hushpoll_shared.queries.parts import (
    ASSUMED,
    HOW_TO_READ,
    LEVEL,
    NO_TEXT,
    UNKNOWN,
    ComparingQuery,
    Comparison,
    EpsilonOfBoth,
    SummaryEstimate,
    Wave,
    estimate_cell,
    length_of,
    limits_cell,
    spelled_scale,
)
from hushpoll_shared.queries.parts import (
    Score as ScoreRow,
)
from hushpoll_shared.querying.query import confidence, parameter, simultaneous
from hushpoll_shared.querying.result import (
    Line,
    Section,
    Tells,
    TextColumn,
    member,
    says_nothing,
)
from hushpoll_shared.spelling.intervals import CANNOT_CONCLUDE
from hushpoll_shared.spelling.scores import Score


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaledWave(Wave):
    """One side of a comparison, and its scores."""

    schema: ClassVar[str] = "ScaledWave"

    scale: tuple[ScoreRow, ...] = member("The scores that were used.")

    def lines(self) -> Iterator[tuple[str, object]]:
        """Yield what the sheet of methods says of the side."""
        for name, value in super(ScaledWave, self).lines():
            yield name, spelled_scale(self.scale) if name == "scale" else value


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticChange:
    """A statistic before and after."""

    statistic: StatisticName
    before: SummaryEstimate
    after: SummaryEstimate
    difference: SummaryEstimate = member(
        "After minus before; of `least` the least mean after minus the greatest before, and of "
        "`greatest` the reverse."
    )


def _signed(row: StatisticChange) -> str:
    return "" if row.difference.value is None else f"{row.difference.value:+.4f}"


CHANGE: Final = (
    TextColumn("before", lambda row: estimate_cell(row.before) or UNKNOWN),
    TextColumn("after", lambda row: estimate_cell(row.after) or UNKNOWN),
    TextColumn("change", _signed),
    TextColumn(LEVEL, lambda row: limits_cell(row.difference)),
)


@dataclass(frozen=True, kw_only=True)
class ChangeOfStatistics(Comparison):
    """How mean, share at a threshold and NPS have changed between two versions."""

    title: ClassVar[str] = "change of ordered answers"

    before: ScaledWave
    after: ScaledWave
    threshold: float | None
    confidence: float
    simultaneous: bool
    intervals: str = member(HOW_TO_READ)
    assumption: str = member(ASSUMED)
    epsilon_of_both: EpsilonOfBoth
    changes: tuple[StatisticChange, ...]

    def sections(self) -> Iterator[Section]:
        """Yield a row for each statistic."""
        yield Section(
            of=StatisticChange,
            rows=[
                Line(
                    one,
                    (name_of(one.statistic, self.threshold, difference=True),),
                    possible=possible_difference(
                        one.statistic, self.after.scale, self.before.scale
                    ),
                )
                for one in self.changes
            ],
            words={"of those who answered": ""},
            shown=CHANGE,
            labels={"statistic": "statistic"},
            hidden=NO_TEXT,
            part="changes",
            interval_of="difference",
            tells=Tells(question=self.after.attribute),
        )

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals of the differences reach, beside half of their scale."""
        length = max(length_of(side.scale) for side in (self.before, self.after))
        for one in self.changes:
            whole = {"at_least": 1.0, "nps": 200.0}.get(one.statistic, length)
            name = name_of(one.statistic, self.threshold, difference=False)
            yield Reach(
                part="changes",
                what=f"a change of the {name} of {self.after.attribute}",
                half_width=half_width([one.difference]),
                most=whole / 2,
                unit="points" if one.statistic == "at_least" else "scale",
            )

    def notes(self) -> Iterator[str]:
        """Yield how to read the intervals of the differences."""
        sides = [side for one in self.changes for side in (one.before, one.after, one.difference)]
        if says_nothing(sides):
            yield CANNOT_CONCLUDE
        yield from super().notes()


@dataclass(frozen=True, kw_only=True)
class OrderedChange(ComparingQuery[ChangeOfStatistics]):
    """Estimate how mean, share at a threshold and NPS have changed since another version or survey.

    Both groups of respondents are taken for independent. The answer says what a person who answered
    both has spent.
    """

    name: ClassVar[str] = "ordered-changes"
    command: ClassVar[str] = "relate ordered-change"
    summary: ClassVar[str] = "Show how mean, share at a threshold and NPS have changed."
    example: ClassVar[str] = "age"
    looked_at: ClassVar[str] = "the changes of a mean between two versions or surveys"
    family: ClassVar[str] = "ordered"

    scores: Sequence[Score] | None = parameter(
        "Scores of the categories, as of `ordered-answers`.", None, spelling=SCORES
    )
    since_scores: Sequence[Score] | None = parameter(
        "The same for the version to compare with; by default `scores`.", None, spelling=SCORES
    )
    threshold: float | None = parameter(
        "Show the share at or above this score, which must fit both scales.", None
    )
    confidence: float = confidence()
    simultaneous: bool = simultaneous("differences", "")
