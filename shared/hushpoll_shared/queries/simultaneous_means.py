"""Means of several attributes or groups whose intervals all hold together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from hushpoll_shared.qualifying.verdict import Reach, half_width
from hushpoll_shared.queries.parts import (
    ANSWER_IT,
    ESTIMATE,
    HOW_TO_READ,
    SummaryEstimate,
    ends_of,
    has_intervals,
    length_of,
    spelled_scale,
)
from hushpoll_shared.queries.parts import (
    Score as ScoreRow,
)
from hushpoll_shared.queries.simultaneous_estimates import TOGETHER
from hushpoll_shared.querying.query import Query, Spelling, confidence, parameter
from hushpoll_shared.querying.result import Line, Result, Section, Tells, TextColumn, member
from hushpoll_shared.spelling.scores import Score, parse_scores_of, spelled_scores

NAMES: Final = Spelling(lambda text, _: tuple(text.split(",")), ",".join, "NAME", joiner=",")
SCORES_OF: Final = Spelling(
    parse_scores_of,
    lambda scores: ";".join(f"{of}={spelled_scores(each)}" for of, each in scores.items()),
    "NAME=SCORE,SCORE...",
    joiner=";",
)
MEANS: Final = (
    TextColumn("mean", ESTIMATE[0].cell),
    ESTIMATE[1],
    TextColumn(TOGETHER, ESTIMATE[2].cell),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaleOf:
    """The scores of one attribute."""

    attribute: str
    scale: tuple[ScoreRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """An attribute whose labels are numbers that cannot be read for certain."""

    attribute: str
    reason: str = member("What is doubtful, and what to do.")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanEstimate(SummaryEstimate):
    """The mean of an attribute, in a group or of everybody."""

    schema: ClassVar[str] = "MeanModel"

    attribute: str
    group: str | None = member("Category of `given`; null for everybody.")
    n: int | None = field(default=None, metadata=ANSWER_IT)


@dataclass(frozen=True, kw_only=True)
class MeansTogether(Result):
    """Means whose intervals hold together."""

    title: ClassVar[str] = "means together"

    given: str | None
    n: int
    method: Literal["bonferroni"]
    confidence: float = member("That all intervals hold.")
    intervals: str = member(HOW_TO_READ)
    scales: tuple[ScaleOf, ...] = member("The scores that were used.")
    left_out: tuple[LeftOut, ...] = member(
        "Attributes that would be among all that have a scale, were their labels not doubtful."
    )
    means: tuple[MeanEstimate, ...]

    def sections(self) -> Iterator[Section]:
        """Yield the means."""
        possible = {one.attribute: ends_of(one.scale) for one in self.scales}
        words = ("attribute",) if self.given is None else ("attribute", self.given)
        yield Section(
            of=MeanEstimate,
            rows=[
                Line(
                    one,
                    (one.attribute, str(one.group))[: len(words)],
                    possible=possible[one.attribute],
                )
                for one in self.means
            ],
            words=dict.fromkeys(words, ""),
            shown=MEANS,
            labels={"attribute": "attribute", "group": "group"},
            part=lambda row: str(row.attribute),
            tells=Tells(statistic="mean, intervals together", group=self.given or ""),
        )

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals of each attribute's means reach."""
        within = "" if self.given is None else f" within a group of {self.given}"
        for one in self.scales:
            rows = [mean for mean in self.means if mean.attribute == one.attribute]
            yield Reach(
                part=one.attribute,
                what=f"the mean of {one.attribute}{within}",
                half_width=half_width(rows),
                most=length_of(one.scale) / 4,
                unit="scale",
            )

    def notes(self) -> Iterator[str]:
        """Yield how to read the intervals."""
        yield from super().notes()
        if any(has_intervals(one.scale) for one in self.scales):
            yield "Answers that are intervals of numbers count with their middle."
        for one in self.left_out:
            yield f"{one.attribute} is left out: {one.reason}."

    def methods(self) -> Mapping[str, object]:
        """Return what was asked, and the scores."""
        scales = {f"scale of {one.attribute}": spelled_scale(one.scale) for one in self.scales}
        left = {f"left out: {one.attribute}": one.reason for one in self.left_out}
        return {"given": self.given, **scales, **left}


@dataclass(frozen=True, kw_only=True)
class SimultaneousMeans(Query[MeansTogether]):
    """Estimate the means of several attributes or groups, with intervals that hold together."""

    name: ClassVar[str] = "simultaneous-means"
    command: ClassVar[str] = "relate means"
    summary: ClassVar[str] = (
        "Show means of several attributes or groups whose intervals hold together."
    )
    example: ClassVar[str] = "age hours"
    looked_at: ClassVar[str] = "the means whose intervals hold together"
    family: ClassVar[str] = "ordered"

    attributes: Sequence[str] | None = parameter(
        "Names with commas between them; by default all that have a scale.",
        None,
        spelling=NAMES,
        positional=True,
    )
    given: str | None = parameter(
        "Another attribute; all is estimated within each of its categories.", None, attribute=True
    )
    scores: Mapping[str, Sequence[Score]] | None = parameter(
        "Scores of attributes whose labels are no numbers: NAME=SCORE,SCORE with semicolons "
        "between them. Such as pain=0,1,2;commute=0:10,10:30,30:60.",
        None,
        spelling=SCORES_OF,
    )
    confidence: float = confidence()
