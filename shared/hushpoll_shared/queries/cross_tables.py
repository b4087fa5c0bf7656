"""The joint shares of two attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from hushpoll_shared.qualifying.possible import SHARES
from hushpoll_shared.qualifying.verdict import Reach, half_width, share_tells
from hushpoll_shared.queries.parts import FREQUENCY, Poisoning
from hushpoll_shared.querying.query import Query, confidence, parameter
from hushpoll_shared.querying.result import Result, Section, Tells, member


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """The estimated share of the population in two categories."""

    a: str = member("Category of attribute a.")
    b: str = member("Category of attribute b.")
    frequency: float = member("Unbiased; may fall outside [0, 1].")
    standard_error: float
    lower: float
    upper: float


def cells_section(
    a: str, b: str, of: type, cells: Iterable[Any], *below: str, part: str = "cells"
) -> Section:
    """Return cells with the names of their attributes, unless another column has that name."""
    taken = ("frequency", "standard_error", "lower", "upper", "verdict")
    return Section(
        of=of,
        rows=cells,
        words={a: "a", b: "b"},
        shown=FREQUENCY,
        labels={
            f"{side}: {name}" if name in taken else name: side
            for side, name in (("a", a), ("b", b))
        },
        below=below,
        part=part,
        possible=SHARES,
        tells=Tells(statistic="joint share", question=f"{a} & {b}", category=("a", "b")),
    )


def reach_of_cells(a: str, b: str, half: float, cells: int) -> Reach:
    """Return how far the intervals of so many cells reach, and how far they may."""
    what = f"a share of both {a} and {b}"
    return Reach(part="cells", what=what, half_width=half, most=share_tells(cells))


@dataclass(frozen=True, kw_only=True)
class JointShares(Result):
    """The estimated joint distribution of two attributes."""

    title: ClassVar[str] = "cross-table"

    a: str
    b: str
    n: int
    confidence: float
    intervals: str = member(
        "How many of the intervals are expected to miss, and what looking at results again and "
        "again does to them."
    )
    cells: tuple[Cell, ...] = member(
        "One per pair of categories, row by row. The cells of a row and of a column sum to the "
        "estimate of its category, and all to 1."
    )
    poisoning: Poisoning = member("Of the worst cell.")

    def sections(self) -> Iterator[Section]:
        """Yield the cells."""
        yield cells_section(self.a, self.b, Cell, self.cells, self.poisoning.sentence())

    def reaches(self) -> Iterator[Reach]:
        """Yield how far the intervals of the cells reach."""
        yield reach_of_cells(self.a, self.b, half_width(self.cells), len(self.cells))

    def methods(self) -> Mapping[str, object]:
        """Return what was asked."""
        return {"a": self.a, "b": self.b}


@dataclass(frozen=True, kw_only=True)
class CrossTable(Query[JointShares]):
    """Estimate the shares of the population in each pair of categories of two attributes.

    They are about the last release. Refused before the first, and below the survey's minimum batch.
    """

    name: ClassVar[str] = "cross-tables"
    single_answers: ClassVar[str] = "joint shares"
    command: ClassVar[str] = "cross-table"
    summary: ClassVar[str] = "Show the joint shares of two attributes."
    example: ClassVar[str] = "gender health"
    looked_at: ClassVar[str] = "a cross-table"
    file_name: ClassVar[str] = "cross-table"
    family: ClassVar[str] = "analysis"

    a: str = parameter("Attribute of the rows.", positional=True, attribute=True)
    b: str = parameter("Attribute of the columns.", positional=True, attribute=True)
    confidence: float = confidence()
