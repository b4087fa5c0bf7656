"""The verdict of a result: whether reports like these can tell what is asked of them.

It is decided from what is known beforehand: how many reports there are, the protocols and their
epsilons, and answers that are equally frequent. It never depends on an estimate, for a rule that
looks at estimates selects lucky ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

Says = Literal["informative", "too noisy to tell"]
INFORMATIVE: Final = "informative"
TOO_NOISY: Final = "too noisy to tell"

DIFFERENCE: Final = 0.5
"""Half-width up to which the interval of a difference of two shares tells something."""


_SAYS: Final = {
    "description": "Decided before any answer is known, from the number of reports, their epsilon "
    "and answers that are equally frequent; too noisy to tell if none of the result's parts can be "
    "told."
}
_SENTENCE: Final = {"description": "The verdict in words, with the half-widths that are expected."}
_RESPONDENTS: Final = {
    "description": "With about how many reports, of each version that is compared, all parts could "
    "be told at this epsilon; null where they can, or no number up to 1,000,000,000 is enough."
}
_EPSILON: Final = {
    "description": "With which epsilon of the whole survey so many reports could tell all parts; "
    "null where they can, or none up to 64 is enough."
}
_PARTS: Final = {
    "description": "The parts that cannot be told: names of questions, or members of the result."
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Whether so many reports, at such an epsilon, can tell what is asked."""

    schema: ClassVar[str] = "ResultVerdict"

    says: Says = field(metadata=_SAYS)
    sentence: str = field(metadata=_SENTENCE)
    respondents: int | None = field(metadata=_RESPONDENTS)
    epsilon: str | None = field(metadata=_EPSILON)
    too_noisy: tuple[str, ...] = field(metadata=_PARTS)

    @property
    def noisy(self) -> bool:
        """Whether no part can be told."""
        return self.says == TOO_NOISY


def part_is_noisy(verdict: Mapping[str, Any] | None, part: str) -> bool:
    """Return whether a part cannot be told, by the verdict as JSON; None: there is none."""
    return verdict is not None and (verdict["says"] == TOO_NOISY or part in verdict["too_noisy"])


def rows_too_noisy(rows: int) -> str:
    """Return the subject and the verb of a sentence about rows that cannot be told."""
    if rows == 1:
        return "1 row that is too noisy to tell is"
    return f"{rows} rows that are too noisy to tell are"


def not_shown(rows: int) -> tuple[str, ...]:
    """Return a command's sentence about so many rows that cannot be told, or none."""
    if not rows:
        return ()
    return (f"{rows_too_noisy(rows)} not shown; --json and --out have all numbers.",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How far intervals are expected to reach, and how far they may to tell something."""

    part: str
    """The part of the result; where it has several reaches, all of them must tell."""
    what: str
    """What is estimated, or tested, in words."""
    half_width: float
    """Expected half of the interval's width; of a test the smallest effect that it finds with a
    power of .8. Infinite where there is no bound."""
    most: float
    """Largest half-width that tells something; of a test the largest effect that there can be."""
    unit: Literal["points", "scale", "phi"] = "points"
    """Of both: shares, which are said in percentage points; a scale's unit; phi of a test."""

    @property
    def ratio(self) -> float:
        """Half-width over what it may be; above 1 it tells nothing."""
        return self.half_width / self.most


def share_tells(categories: int) -> float:
    """Return the largest half-width of one of k shares that tells something: a quarter, or 1/k."""
    return min(0.25, 1 / categories)


def reach_of_share(attribute: str, half: float, categories: int) -> Reach:
    """Return how far the intervals of a question's shares reach, and how far they may."""
    what = f"a share of {attribute}"
    return Reach(part=attribute, what=what, half_width=half, most=share_tells(categories))


def half_width(rows: Iterable[Any]) -> float:
    """Return half of the width of the widest interval of rows; infinite where one has no bound."""
    widest = 0.0
    for row in rows:
        if row.lower is None or row.upper is None:
            return math.inf
        widest = max(widest, (row.upper - row.lower) / 2)
    return widest


def reaches_of_shares(sections: Iterable[Any]) -> Iterator[Reach]:
    """Yield how far the intervals of sections reach whose rows are shares of one question."""
    for section in sections:
        rows = [line.row for line in section.lines()]
        part = section.part if isinstance(section.part, str) else ""
        what = f"a share of {section.title}" if section.title else "a share"
        yield Reach(part=part, what=what, half_width=half_width(rows), most=share_tells(len(rows)))
