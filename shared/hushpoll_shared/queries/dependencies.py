"""Which pairs of attributes depend on each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from hushpoll_shared.qualifying.verdict import Reach
from hushpoll_shared.queries.independence import (
    NUMBERS,
    REFERENCE,
    SMALLEST_EXPECTED,
    TABLES,
    Conclusion,
    Reference,
    p_in_words,
)
from hushpoll_shared.querying.query import Query, parameter
from hushpoll_shared.querying.result import Result, Section, Tells, TextColumn, member

TESTS: Final = (
    TextColumn("p", lambda row: p_in_words(row.p_value, row.tables).removeprefix("= ")),
    TextColumn("adjusted p", lambda row: f"{row.adjusted_p_value:.2g}"),
    TextColumn("conclusion", lambda row: str(row.conclusion)),
)


ANSWER_BOTH: Final = {
    "description": "Reports that answer both, where one is in a draw; None: all of them do."
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PairTest:
    """A test that two attributes are independent, among many."""

    a: str
    b: str
    statistic: float
    degrees: int
    p_value: float
    adjusted_p_value: float = member("By Benjamini and Yekutieli.")
    conclusion: Conclusion
    smallest_expected: float = member(SMALLEST_EXPECTED)
    reference: Reference = member(REFERENCE)
    tables: int | None = member(TABLES)
    n: int | None = field(default=None, metadata=ANSWER_BOTH)


def name_of(pair: PairTest) -> str:
    """Return a pair as a part of the result."""
    return f"{pair.a}/{pair.b}"


@dataclass(frozen=True, kw_only=True)
class OutcomesOfTests(Result):
    """Which pairs of attributes depend on each other; tests have no interval."""

    title: ClassVar[str] = "dependencies"

    n: int
    rate: float
    reading: str = member("What the rate means, in words.")
    pairs: tuple[PairTest, ...] = member("By rising p-value.")

    def sections(self) -> Iterator[Section]:
        """Yield the tests."""
        names = {"a": "a", "b": "b"}
        yield Section(
            of=PairTest,
            rows=self.pairs,
            words=names,
            shown=TESTS,
            labels=names,
            part=name_of,
            tells=Tells(category=(), numbers={**NUMBERS, "adjusted_p_value": "adjusted p-value"}),
        )

    def reaches(self) -> Iterator[Reach]:
        """Yield nothing: what tests find is foreseen without them."""
        yield from ()

    def categories_of(self) -> tuple[str, ...]:
        """Return all that are tested."""
        return tuple(dict.fromkeys(name for one in self.pairs for name in (one.a, one.b)))

    def notes(self) -> Iterator[str]:
        """Yield what the rate means."""
        yield self.reading.replace("`rate`", f"{self.rate:g}")
        rare = sum(row.tables is not None for row in self.pairs)
        if rare:
            yield (
                f"Of {rare} of the {len(self.pairs)} pairs some answers are rare; their p-values "
                "come from tables drawn under independence, not from the chi-square distribution."
            )

    def methods(self) -> Mapping[str, object]:
        """Return what the rate means."""
        return {"reading": self.reading}


@dataclass(frozen=True, kw_only=True)
class Dependencies(Query[OutcomesOfTests]):
    """Test pairs of attributes for independence, with few false discoveries among them.

    The tests have no interval.
    """

    name: ClassVar[str] = "dependencies"
    command: ClassVar[str] = "relate all"
    summary: ClassVar[str] = (
        "Test all pairs of attributes for independence, with few false discoveries."
    )
    example: ClassVar[str] = "--out tests.xlsx"
    looked_at: ClassVar[str] = "tests of independence of all pairs of questions"
    family: ClassVar[str] = "relations"
    own_command: ClassVar[tuple[Literal["server", "file"], ...]] = ("server",)

    rate: float = parameter(
        "Part of the discoveries that is expected to be false.", 0.05, above=0, most=0.5
    )
