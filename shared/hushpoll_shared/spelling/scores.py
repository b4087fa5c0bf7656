"""Scores of ordered categories, and lists of numbers, as an address or a command line has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

Score: TypeAlias = float | tuple[float, float]
"""A number, or the two ends of an interval."""

_NUMBER: Final = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_POINT: Final = re.compile(_NUMBER)
_INTERVAL: Final = re.compile(rf"({_NUMBER})(?: ?[-\N{{EN DASH}}] ?| to )({_NUMBER})")
_PLACES: Final = 9


def parse_scores(text: str) -> list[Score]:
    """Read scores such as ``1,2,3.5`` or ``18:25,25:35``.

    Raises
    ------
    InvalidParameter
        If an entry is neither a number nor LOW:HIGH.
    """
    scores: list[Score] = []
    for place, part in enumerate(text.split(",")):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) > 2 or not all(_POINT.fullmatch(end) for end in ends):
            raise InvalidParameter(
                f"scores[{place}] is {show(part)}; give a number such as 2.5, or an interval such "
                "as 18:25, for each category, with commas between them",
                field="scores",
            )
        scores.append(float(ends[0]) if len(ends) == 1 else (float(ends[0]), float(ends[1])))
    return scores


def parse_scores_of(text: str) -> dict[str, list[Score]]:
    """Read scores of several attributes, such as ``pain=0,1,2;commute=0:10,10:30``.

    Raises
    ------
    InvalidParameter
        If a part is not NAME=SCORES, or names an attribute again.
    """
    named: dict[str, list[Score]] = {}
    for part in text.split(";"):
        name, equals, scores = part.partition("=")
        if not equals or not name or name in named:
            raise InvalidParameter(
                f"scores have the part {show(part)}; give NAME=SCORE,SCORE... once for each "
                "attribute, with semicolons between them",
                field="scores",
            )
        named[name] = parse_scores(scores)
    return named


def spelled_scores(scores: Sequence[Score]) -> str:
    """Return scores as :func:`parse_scores` reads them, to nine places."""
    return ",".join(
        ":".join(map(_plain, score)) if isinstance(score, tuple) else _plain(score)
        for score in scores
    )


def score_of_label(label: str) -> Score | None:
    """Return the number or the interval that a category's label spells, such as ``18-24``."""
    interval = _INTERVAL.fullmatch(label)
    if interval is not None:
        return float(interval[1]), float(interval[2])
    return float(label) if _POINT.fullmatch(label) else None


def parse_quantiles(text: str) -> tuple[float, ...]:
    """Read numbers such as ``0.25,0.5``; none is compared with (0, 1).

    Raises
    ------
    InvalidParameter
        If an entry is no number.
    """
    numbers = []
    for place, part in enumerate(text.split(",")):
        if not _POINT.fullmatch(part.strip()):
            raise InvalidParameter(
                f"quantiles[{place}] is {show(part)}; give numbers such as 0.25,0.5,0.75",
                field="quantiles",
            )
        numbers.append(float(part))
    return tuple(numbers)


def _plain(number: float) -> str:
    """Return a number without an exponent."""
    return f"{number:.{_PLACES}f}".rstrip("0").rstrip(".")
