"""Scores of ordered categories, and lists of numbers, as an address or a command line has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from hushpoll_protocols.errors import InvalidParameter, refusal_of
from hushpoll_shared.spelling.text import show

Score: TypeAlias = float | tuple[float, float]
"""A number, or the two ends of an interval."""

_NUMBER: Final = r"[+-]?[0-9]+(?:\.[0-9]+)?"
_POINT: Final = re.compile(_NUMBER)
_INTERVAL: Final = re.compile(rf"({_NUMBER})(?: ?[-\N{{EN DASH}}] ?| to )({_NUMBER})")
_GROUPED: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""One thousand and more where a point separates thousands, and a fraction elsewhere."""
_THREE_PLACES: Final = re.compile(r"[+-]?[0-9]+\.[0-9]{3}")
_LEADING_ZERO: Final = re.compile(r"[+-]?0[0-9]")
_PLACES: Final = 9


def parse_scores(text: str, field: str = "scores") -> list[Score]:
    """Read scores such as ``1,2,3.5`` or ``18:25,25:35``; a refusal names the field."""
    scores: list[Score] = []
    for place, part in enumerate(text.split(",")):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) > 2 or not all(_POINT.fullmatch(end) for end in ends):
            raise InvalidParameter(
                f"{field}[{place}] is {show(part)}; give a number such as 2.5, or an interval such "
                "as 18:25, for each category, with commas between them",
                field=field,
            )
        scores.append(float(ends[0]) if len(ends) == 1 else (float(ends[0]), float(ends[1])))
    return scores


def parse_scores_of(text: str, field: str = "scores") -> dict[str, list[Score]]:
    """Read scores of several attributes, such as ``pain=0,1,2;commute=0:10,10:30``."""
    named: dict[str, list[Score]] = {}
    for part in text.split(";"):
        name, equals, scores = part.partition("=")
        if not equals or not name or name in named:
            raise refusal_of(field)(
                f"has the part {show(part)}; give NAME=SCORE,SCORE... once for each attribute, "
                "with semicolons between them"
            )
        named[name] = parse_scores(scores, field)
    return named


def spelled_scores(scores: Sequence[Score]) -> str:
    """Return scores as :func:`parse_scores` reads them, to nine places."""
    return ",".join(
        ":".join(map(_plain, score)) if isinstance(score, tuple) else _plain(score)
        for score in scores
    )


def scores_of_labels(labels: Sequence[str]) -> list[Score]:
    """Return the numbers or the intervals that categories' labels spell, such as ``18-24``.

    Labels are read only where the whole scale has one spelling that everybody reads alike.
    ``1.000`` is one in some countries and one thousand in others, ``2024-10`` is a month, and
    ``01067`` is a code: for these the analyst gives scores.
    """
    ends: list[tuple[str, ...]] = []
    for label in labels:
        interval = _INTERVAL.fullmatch(label)
        if interval is None and not _POINT.fullmatch(label):
            raise _unreadable(f"the category {show(label)}, which is no number")
        ends.append((label,) if interval is None else (interval[1], interval[2]))
    numbers = [number for label_ends in ends for number in label_ends]
    # Where all have three places and one is such as 0.125, no point separates thousands.
    decimal = all(_THREE_PLACES.fullmatch(number) for number in numbers) and any(
        number.lstrip("+-").startswith("0.") for number in numbers
    )
    scores: list[Score] = []
    for label, label_ends in zip(labels, ends, strict=True):
        if any(_LEADING_ZERO.match(number) for number in label_ends):
            raise _unreadable(
                f"the category {show(label)}, whose leading zero may belong to a code or a date"
            )
        if not decimal and any(_GROUPED.fullmatch(number) for number in label_ends):
            raise _unreadable(
                f"the category {show(label)}, whose point may mark decimals or thousands"
            )
        low, high = float(label_ends[0]), float(label_ends[-1])
        if len(label_ends) == 2 and low >= high:
            raise _unreadable(
                f"the category {show(label)}, which does not go from a lower to a higher number"
            )
        scores.append((low, high) if len(label_ends) == 2 else low)
    labels_of: dict[Score, str] = {}
    for label, score in zip(labels, scores, strict=True):
        if score in labels_of:
            raise _unreadable(
                f"the categories {show(labels_of[score])} and {show(label)}, which spell the same "
                "number"
            )
        labels_of[score] = label
    return scores


def are_numbers(labels: Sequence[str]) -> bool:
    """Return whether each label is a number or an interval, however doubtful they are together."""
    return all(_INTERVAL.fullmatch(label) or _POINT.fullmatch(label) for label in labels)


def _unreadable(what: str) -> InvalidParameter:
    return InvalidParameter(what, field="scores")


def parse_quantiles(text: str, field: str = "quantiles") -> tuple[float, ...]:
    """Read numbers such as ``0.25,0.5``; none is compared with (0, 1)."""
    numbers = []
    for place, part in enumerate(text.split(",")):
        if not _POINT.fullmatch(part.strip()):
            raise InvalidParameter(
                f"{field}[{place}] is {show(part)}; give numbers such as 0.25,0.5,0.75",
                field=field,
            )
        numbers.append(float(part))
    return tuple(numbers)


def _plain(number: float) -> str:
    """Return a number without an exponent."""
    return f"{number:.{_PLACES}f}".rstrip("0").rstrip(".")
