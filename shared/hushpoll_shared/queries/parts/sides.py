"""What queries about two versions, and their results, have in common: two sides and a reading."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.querying.query import asked
from hushpoll_shared.querying.result import told
from hushpoll_shared.spelling.intervals import how_to_read

ASSUMED: Final = "What the intervals assume, in words."
NAME: Final = "^[a-z0-9_-]{1,64}$"
DIGEST: Final = "^[0-9a-f]{64}$"
SIDES: Final = ("before", "after", "difference")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wave:
    """One side of a comparison."""

    schema: ClassVar[str] = "WaveModel"

    survey: str = told("The survey's name.", pattern=NAME)
    version: int
    digest: str = told("SHA-256 of the published form, in hex.", pattern=DIGEST)
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

    attribute: str = told("On the compared attribute.")
    surveys: str = told("On all questions of both versions.")


def both(before: Wave, after: Wave) -> str:
    """Return the line that says which reports are compared with which."""
    return f"{after.of_what()}, since {before.of_what()}"


def reading(
    rows: int, confidence: float, intervals: str | None, assumption: str, spent: EpsilonOfBoth
) -> Iterator[str]:
    """Yield how to read the intervals of so many differences, and what they assume.

    `intervals` says so where they hold together; a text shows those of the differences alone.
    """
    yield intervals or how_to_read(rows, confidence)
    yield assumption
    yield (
        f"A person who answered both has spent epsilon {spent.surveys}, of which "
        f"{spent.attribute} on this attribute."
    )


def lines_about(
    before: Wave, after: Wave, assumption: str, spent: EpsilonOfBoth, threshold: float | None = None
) -> dict[str, object]:
    """Return the lines of both sides for the sheet of methods."""
    lines: dict[str, object] = {"assumption": assumption, "threshold": threshold}
    for side, wave in (("before", before), ("after", after)):
        lines |= {f"{side}: {name}": value for name, value in wave.lines()}
    return lines | {
        f"epsilon of a person in both: {name}": getattr(spent, name)
        for name in ("attribute", "surveys")
    }


NO_TEXT: Final = tuple(f"{side}_says_nothing" for side in SIDES)
"""Columns that a table file of a comparison does not have."""


def since_version() -> Any:
    """Return the field that says which version this one is compared with."""
    means = "Version to compare with."
    return asked(means, least=1, most=2**31 - 1, flag="since", elsewhere=True)


def since_survey() -> Any:
    """Return the field that says of which survey that version is."""
    means = "Survey of that version; by default this one. The token must be for both."
    return asked(means, None, elsewhere=True)


def since_attribute() -> Any:
    """Return the field that says which attribute of that version is compared."""
    return asked("Its attribute; by default the one of the same name.", None)
