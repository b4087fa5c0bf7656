"""Numbers as texts: with as many digits as an interval supports, and as languages spell them.

The browser spells the numbers of a language by `Intl`; vectors hold both to the same texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

_MOST: Final = 9
"""Decimals that are shown of a number, however narrow its interval."""
_LARGE: Final = 10_000.0
"""From here on a ratio is a power of ten."""


def decimals_of(error: float | None) -> int:
    """Return the decimals with which a standard error has two digits; 3 where there is none."""
    if error is None or not math.isfinite(error) or error <= 0:
        return 3
    return min(max(1 - math.floor(math.log10(error)), 0), _MOST)


def with_decimals(value: float, decimals: int) -> str:
    """Return a number with some decimals; one below them is 0, without a sign."""
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text


def p_value_text(value: float) -> str:
    """Return a p-value with two digits; below .0001 only that it is below."""
    return "<.0001" if value < 0.0001 else f"{value:.2g}"


def ratio_texts(
    estimate: float, lower: float | None, upper: float | None
) -> tuple[str, str | None, str | None]:
    """Return a ratio and the ends of its interval, each with two digits or more.

    They have more where the interval is narrow, and where an end beside 1 would be rounded to it.
    """
    whole = lower is not None and upper is not None and math.isfinite(upper - lower)
    # a quarter of an interval is about a standard error, and has one digit here
    decimals = 0
    if lower is not None and upper is not None and whole and upper > lower:
        decimals = max(decimals_of((upper - lower) / 4) - 1, 0)
    return (
        _ratio(estimate, decimals),
        None if lower is None else _ratio(lower, decimals),
        None if upper is None else _ratio(upper, decimals),
    )


def _ratio(value: float, decimals: int) -> str:
    if value <= 0 or not math.isfinite(value):
        return f"{value:g}"
    if value >= _LARGE or value < 1 / _LARGE:
        return f"{value:.2g}"
    places = min(max(decimals, 1 - math.floor(math.log10(value)), 0), _MOST)
    while places < _MOST and float(f"{value:.{places}f}") == 1 and abs(value - 1) > 10.0**-_MOST:
        places += 1
    return f"{value:.{places}f}"


class _Marks(NamedTuple):
    decimal: str
    group: str
    grouped_from: int
    """Digits of the shortest whole part that is grouped."""


_MARKS: Final[Mapping[str, _Marks]] = {
    "en": _Marks(".", ",", 4),
    "de": _Marks(",", ".", 4),
    "fr": _Marks(",", "\u202f", 4),
    "es": _Marks(",", ".", 5),
}
SPELLED_LANGUAGES: Final = tuple(_MARKS)


def spelled(value: Decimal, language: str = "en") -> str:
    """Spell a number that is not negative, with no more digits than it has: 3,000 or 2.72."""
    marks = _MARKS[language]
    whole, _, places = f"{value:f}".partition(".")
    if len(whole) >= marks.grouped_from:
        whole = f"{int(whole):,}".replace(",", marks.group)
    places = places.rstrip("0")
    return f"{whole}{marks.decimal}{places}" if places else whole
