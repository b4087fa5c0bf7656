"""What several results have: rows with estimates, and the two sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Literal

from hushpoll_shared.qualifying.possible import Possible
from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.querying.query import Query, R, parameter
from hushpoll_shared.querying.result import Result, TextColumn, member
from hushpoll_shared.spelling.intervals import how_to_read

Bound = Literal["bounded", "no lower bound", "no upper bound", "no bound"]

HOW_TO_READ: Final = (
    "How many of the intervals are expected to miss, and what looking at results again and again "
    "does to them; or that they hold together."
)
ANSWER_IT: Final = {
    "description": "Reports that answer it, where it is in a draw; None: all of them do."
}
"""Metadata of a row's number of reports, where it may be below that of the result."""

UNKNOWN: Final = "cannot conclude"


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundedEstimate:
    """An estimate with its confidence set."""

    value: float | None = member(
        "May fall outside [0, 1]; null where the set has no bound: cannot conclude."
    )
    standard_error: float | None
    lower: float | None
    upper: float | None
    bound: Bound


def with_reports(title: str, n: int | None) -> str:
    """Return the title of rows about fewer reports than the result with their number."""
    return title if n is None else f"{title} ({n:,} reports answer it)"


def estimate_cell(row: Any) -> str:
    """Return an estimate as text; empty where there is none."""
    return "" if row.value is None else f"{row.value:.4f}"


def error_cell(row: Any) -> str:
    """Return a standard error as text; empty where there is none."""
    return "" if row.value is None else f"{row.standard_error:.4f}"


def limits_cell(row: Any) -> str:
    """Return an interval as text, or that nothing can be concluded."""
    if row.value is None:
        return UNKNOWN
    nothing = f", {UNKNOWN}" if getattr(row, "says_nothing", False) else ""
    return f"{row.lower:.4f} to {row.upper:.4f}{nothing}"


LEVEL: Final = "{level} % interval"
ERROR: Final = "std. error"

ESTIMATE: Final = (
    TextColumn("estimate", estimate_cell),
    TextColumn(ERROR, error_cell),
    TextColumn(LEVEL, limits_cell),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryEstimate(BoundedEstimate):
    """An estimate with its confidence set, in the unit of the scores."""

    value: float | None = member(
        "May fall outside the scale; null where the set has no bound: cannot conclude."
    )
    says_nothing: bool = member(
        "Whether the set holds every value that there can be: cannot conclude."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryEstimate:
    """The estimated share of one category."""

    category: str
    frequency: float = member("May fall outside [0, 1] if unbiased.")
    standard_error: float | None = member("None: the estimator has no interval.")
    lower: float | None
    upper: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Poisoning:
    """What fake reports can do to estimates of categories or cells; no interval knows of fakes."""

    schema: ClassVar[str] = "PoisoningModel"

    one_fake_adds: float = member(
        "People of a category (or cell) that one fake report can stand for, at most."
    )
    one_fake_removes: float = member(
        "People of a category (or cell) that one fake report can hide, at most."
    )
    fake_share: float = member("Share of fake reports that the shifts are about.")
    raised_by: float = member(
        "Largest rise of a category (or cell) of nobody, if so many reports are fake."
    )
    lowered_by: float = member(
        "Largest fall of a category (or cell) of all, if so many reports are fake."
    )

    def sentence(self) -> str:
        """Say what fake reports could do, which no interval takes into account."""
        return (
            f"If {100 * self.fake_share:.0f} % of the reports were fake, an estimate could be up "
            f"to {100 * self.raised_by:.1f} percentage points too high or "
            f"{100 * abs(self.lowered_by):.1f} too low.\n"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What a category stands for."""

    schema: ClassVar[str] = "ScoreModel"

    category: str
    low: float
    high: float = member("The same as `low` where it is a number.")


def spelled_scale(scale: Iterable[Score]) -> str:
    """Return a scale in one line, for the sheet of methods."""
    return "; ".join(
        f"{one.category}: {one.low:g}" + (f" to {one.high:g}" if one.high != one.low else "")
        for one in scale
    )


def ends_of(scale: Iterable[Score]) -> Possible:
    """Return the lowest and the highest score, between which every mean and quantile lies."""
    rows = tuple(scale)
    return min(one.low for one in rows), max(one.high for one in rows)


def length_of(scale: Iterable[Score]) -> float:
    """Return the distance from the lowest score to the highest."""
    low, high = ends_of(scale)
    return high - low


def has_intervals(scale: Iterable[Score]) -> bool:
    """Return whether a category of a scale stands for more than one number."""
    return any(one.low != one.high for one in scale)


FREQUENCY: Final = (
    TextColumn("estimate", lambda row: f"{row.frequency:.4f}"),
    TextColumn(ERROR, lambda row: f"{row.standard_error:.4f}"),
    TextColumn(LEVEL, lambda row: f"{row.lower:.4f} to {row.upper:.4f}"),
)


ASSUMED: Final = "What the intervals assume, in words."
NAME: Final = "^[a-z0-9_-]{1,64}$"
DIGEST: Final = "^[0-9a-f]{64}$"
SIDES: Final = ("before", "after", "difference")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wave:
    """One side of a comparison."""

    schema: ClassVar[str] = "WaveModel"

    survey: str = member("The survey's name.", pattern=NAME)
    version: int
    digest: str = member("SHA-256 of the published form, in hex.", pattern=DIGEST)
    attribute: str
    n: int

    def of_what(self) -> str:
        """Return the line that says which reports it is about."""
        return heading({"survey": self.survey, "version": self.version, "n": self.n})

    def lines(self) -> Iterator[tuple[str, object]]:
        """Yield what the sheet of methods says of the side."""
        yield from ((one.name, getattr(self, one.name)) for one in fields(self))


@dataclass(frozen=True, kw_only=True, slots=True)
class EpsilonOfBoth:
    """What a person who answered both versions has spent."""

    attribute: str = member("On the compared attribute.")
    surveys: str = member("On all questions of both versions.")


class Comparison(Result):
    """A result about two versions: its two sides, and how to read the differences of its rows."""

    before: Wave
    after: Wave
    confidence: float
    simultaneous: bool
    intervals: str
    assumption: str
    epsilon_of_both: EpsilonOfBoth
    changes: tuple[Any, ...]

    def of_what(self) -> str:
        """Return which reports are compared with which."""
        return f"{self.after.of_what()}, since {self.before.of_what()}"

    def notes(self) -> Iterator[str]:
        """Yield how to read the intervals of the differences, which alone a text shows."""
        together = self.intervals if self.simultaneous else None
        yield together or how_to_read(len(self.changes), self.confidence)
        yield self.assumption
        yield (
            f"A person who answered both has spent epsilon {self.epsilon_of_both.surveys}, of "
            f"which {self.epsilon_of_both.attribute} on this attribute."
        )

    def methods(self) -> Mapping[str, object]:
        """Return both sides, and what a person in both has spent."""
        lines: dict[str, object] = {
            "assumption": self.assumption,
            "threshold": getattr(self, "threshold", None),
        }
        for side, wave in (("before", self.before), ("after", self.after)):
            lines |= {f"{side}: {name}": value for name, value in wave.lines()}
        return lines | {
            f"epsilon of a person in both: {name}": getattr(self.epsilon_of_both, name)
            for name in ("attribute", "surveys")
        }


NO_TEXT: Final = tuple(f"{side}_says_nothing" for side in SIDES)
"""Columns that a table file of a comparison does not have."""


@dataclass(frozen=True, kw_only=True)
class ComparingQuery(Query[R]):
    """A query about an attribute of two versions."""

    compares: ClassVar[bool] = True

    attribute: str = parameter("Attribute of this version.", positional=True, attribute=True)
    since_version: int = parameter(
        "Version to compare with.", least=1, most=2**31 - 1, flag="since", elsewhere=True
    )
    since_survey: str | None = parameter(
        "Survey of that version; by default this one. The token must be for both.",
        None,
        elsewhere=True,
    )
    since_attribute: str | None = parameter(
        "Its attribute; by default the one of the same name.", None
    )
