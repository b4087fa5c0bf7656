"""The answer that was given most often: the first of three files of an added statistic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hushpoll_shared.qualifying.possible import SHARES
from hushpoll_shared.queries.parts import FREQUENCY, HOW_TO_READ, CategoryEstimate
from hushpoll_shared.querying.query import Query, confidence, parameter
from hushpoll_shared.querying.result import Result, Section, member


@dataclass(frozen=True, kw_only=True)
class LargestShare(Result):
    """The largest share of an attribute."""

    title: ClassVar[str] = "largest share"

    attribute: str
    n: int
    confidence: float
    intervals: str = member(HOW_TO_READ)
    largest: CategoryEstimate = member("Of the answer that was given most often.")

    def sections(self) -> Iterator[Section]:
        """Yield the one row."""
        yield Section(
            of=CategoryEstimate,
            rows=(self.largest,),
            title=self.attribute,
            words={"category": "category"},
            shown=FREQUENCY,
            possible=SHARES,
        )


@dataclass(frozen=True, kw_only=True)
class Largest(Query[LargestShare]):
    """Estimate the share of the answer that was given most often."""

    name: ClassVar[str] = "largest-share"
    command: ClassVar[str] = "relate largest"
    summary: ClassVar[str] = "Show the largest share."
    example: ClassVar[str] = "health"
    looked_at: ClassVar[str] = "the largest share"

    attribute: str = parameter(
        "Attribute whose answers are counted.", positional=True, attribute=True
    )
    confidence: float = confidence()
