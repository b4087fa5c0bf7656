"""Estimates whose intervals all hold together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from hushpoll_shared.qualifying.possible import SHARES
from hushpoll_shared.queries.parts import (
    ANSWER_IT,
    FREQUENCY,
    HOW_TO_READ,
    CategoryEstimate,
    with_reports,
)
from hushpoll_shared.querying.query import Query, confidence, parameter
from hushpoll_shared.querying.result import Result, Section, Tells, TextColumn, member

Method = Literal["max-t", "bonferroni", "anytime"]
TOGETHER: Final = "{level} % together"
FREQUENCY_TOGETHER: Final = (*FREQUENCY[:2], TextColumn(TOGETHER, FREQUENCY[2].cell))


@dataclass(frozen=True, kw_only=True, slots=True)
class TogetherAttribute:
    """The estimates of one attribute."""

    name: str
    categories: tuple[CategoryEstimate, ...]
    n: int | None = field(default=None, metadata=ANSWER_IT)


@dataclass(frozen=True, kw_only=True)
class SharesTogether(Result):
    """Estimates whose intervals hold together."""

    title: ClassVar[str] = "estimates together"

    method: Method
    n: int
    confidence: float = member("That all intervals hold.")
    intervals: str = member(HOW_TO_READ)
    attributes: tuple[TogetherAttribute, ...]

    def categories_of(self) -> tuple[str, ...]:
        """Return all of them."""
        return tuple(one.name for one in self.attributes)

    def sections(self) -> Iterator[Section]:
        """Yield a section for each attribute."""
        for attribute in self.attributes:
            yield Section(
                of=CategoryEstimate,
                rows=attribute.categories,
                title=with_reports(attribute.name, attribute.n),
                words={"category": "category"},
                shown=FREQUENCY_TOGETHER,
                labels={"attribute": "", "category": "category"},
                fixed={"attribute": attribute.name},
                part=attribute.name,
                possible=SHARES,
                tells=Tells(statistic="share, intervals together", n=attribute.n),
            )


@dataclass(frozen=True, kw_only=True)
class Simultaneous(Query[SharesTogether]):
    """Estimate the frequencies of one attribute, or of all, with intervals that hold together."""

    name: ClassVar[str] = "simultaneous-estimates"
    command: ClassVar[str] = "relate together"
    summary: ClassVar[str] = "Show estimates whose intervals hold together, or at every look."
    example: ClassVar[str] = ""
    looked_at: ClassVar[str] = "the estimates whose intervals hold together"
    family: ClassVar[str] = "relations"

    attribute: str | None = parameter(
        "One attribute; by default all of them, with wider intervals.", None, attribute=True
    )
    method: Method = parameter(
        "`max-t` uses the known covariance of the estimates; `anytime` holds at all looks at the "
        "results together, with unweighted estimates.",
        "max-t",
    )
    confidence: float = confidence()
