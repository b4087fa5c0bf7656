"""Figures as people read them: the one place that decides digits, percent, points and signs.

A figure has the digits that its interval supports, a true minus sign, and a space that does not
break before its unit. Files, JSON and terminals have the exact numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from markupsafe import Markup

from hushpoll_server.translations.speech import counted as counted_words
from hushpoll_server.translations.speech import in_marks, percent_sign, said, say, say_html, whole
from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES, Possible, cut_ends
from hushpoll_shared.queries.parts import ERROR
from hushpoll_shared.spelling.number_texts import decimals_of, with_decimals
from hushpoll_shared.spelling.text import with_mark

MINUS: Final = "\u2212"
NO_BREAK: Final = "\u00a0"
MOST_PLACES: Final = 4
_HYPHEN: Final = re.compile(r"(?<![\w.\u2212-])-(?=\d)")
NO_DECIMAL: Final = "0.0000"
"""How a terminal writes a number below 0.00005."""
_DECIMAL: Final = re.compile(r"(?<![\w.])([+-]?)(\d+\.\d{4})(?![\w.])")


_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def with_minus(text: str) -> str:
    """Return a text whose negative numbers have a true minus sign."""
    return _HYPHEN.sub(MINUS, text)


def places_of(width: float, length: float) -> int:
    """Return how many decimals an interval supports: two of its last digit fit into its width.

    An interval of no width is that of a step of the scale, such as a quantile; it needs no more,
    and one on a scale whose length is 20 or more needs none.
    """
    places = 0 if length >= 20 else 1
    while places < MOST_PLACES and 0 < width < 2 * 10.0**-places:
        places += 1
    return places


def fixed(value: float, places: int, *, plus: bool = False) -> str:
    """Return a number with so many decimals, never as minus zero; with its sign if `plus`."""
    rounded = round(value, places) + 0.0
    if plus and rounded == 0:
        plus = False
    return in_marks(with_minus(f"{rounded:{'+' if plus else ''},.{places}f}"))


def percent(share: float, places: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{fixed(100 * share, places)}{percent_sign()}"


def percent_of_error(error: float) -> str:
    """Return the standard error of a share as a percentage, with two significant digits or more."""
    return percent(error, max(1, decimals_of(100 * error)) if error > 0 else 1)


def factor(value: float) -> str:
    """Return a factor of odds; a million and more as a power of ten, rounded up to two digits."""
    if value < 999_999:
        return in_marks(f"{value:,g}")
    power = math.floor(math.log10(value))
    tenths = math.ceil(value / 10.0 ** (power - 1) - 1e-9)
    if tenths == 100:
        tenths, power = 10, power + 1
    return f"{in_marks(f'{tenths / 10:.1f}')} × 10{str(power).translate(_RAISED)}"


def points(difference: float, places: int = 1) -> str:
    """Return a difference of shares in percentage points, with its sign and without the unit."""
    return fixed(100 * difference, places, plus=True)


def level(confidence: float | str) -> str:
    """Return a confidence as a percentage, such as 95 %."""
    return f"{in_marks(f'{round(100 * float(confidence), 6):g}')}{percent_sign()}"


def share_figure(value: float, lower: float | None, upper: float | None) -> str:
    """Return an estimated share with the digits that its interval supports.

    One that falls outside 0 to 100 % is said to be about 0 or about 100 %.
    """
    if value < 0:
        return say("about {share}", share=f"0{percent_sign()}")
    if value > 1:
        return say("about {share}", share=f"100{percent_sign()}")
    return percent(value, _share_places(lower, upper))


def share_limits(lower: float | None, upper: float | None) -> str:
    """Return the interval of a share in percent, cut to what is possible; empty without one."""
    if lower is None or upper is None:
        return ""
    places = _share_places(lower, upper)
    low, high = cut_ends(lower, upper, SHARES)
    return say("{low} to {high}", low=fixed(100 * low, places), high=percent(high, places))


def points_figure(value: float, lower: float, upper: float) -> str:
    """Return a difference of shares with the digits that its interval supports."""
    places = places_of(100 * (upper - lower), 100)
    figure = points(min(max(value, -1.0), 1.0), places)
    single = figure.lstrip("+" + MINUS) == "1"
    return say("{figure}\u00a0point" if single else "{figure}\u00a0points", figure=figure)


def points_limits(lower: float, upper: float) -> str:
    """Return the interval of a difference of shares, cut to what is possible."""
    places = places_of(100 * (upper - lower), 100)
    low, high = cut_ends(lower, upper, DIFFERENCES)
    return say("{low} to {high}", low=points(low, places), high=points(high, places))


def scale_figure(value: float, lower: float, upper: float, ends: Possible) -> str:
    """Return a mean with the digits that its interval supports.

    One that falls outside its scale is said to be about the end of that.
    """
    low, high = ends
    figure = fixed(min(max(value, low), high), places_of(upper - lower, high - low))
    return figure if low <= value <= high else say("about {share}", share=figure)


def scale_limits(lower: float, upper: float, ends: Possible) -> str:
    """Return the interval of a mean, cut to its scale."""
    places = places_of(upper - lower, ends[1] - ends[0])
    low, high = cut_ends(lower, upper, ends)
    return say("{low} to {high}", low=fixed(low, places), high=fixed(high, places))


def cell_of_shares(text: str, possible: Possible | None) -> str:
    """Return a cell of a result's table, as a terminal has it, as a page shows it.

    Numbers of shares and of their differences, by what is `possible`, become percentages and
    points.
    """
    if possible not in (SHARES, DIFFERENCES):
        return with_minus(text)

    def shown(found: re.Match[str]) -> str:
        number = float(found[1] + found[2])
        # Three digits at most, as everywhere; the files have all of them.
        places = 2 if 0 < abs(number) < 0.01 else 1
        return fixed(100 * number, places, plus=found[1] == "+")

    told, changed = _DECIMAL.subn(shown, text)
    if not changed or possible == DIFFERENCES:
        return with_minus(told)
    return f"{told}{percent_sign()}"


def cells_of_line(
    texts: Sequence[str], columns: Sequence[str], possible: Possible | None
) -> tuple[str, ...]:
    """Return the figures of a line, without its names, as a page shows them.

    What is no share has the digits with which its standard error has two.
    """
    if possible not in (SHARES, DIFFERENCES) and ERROR in columns:
        error = texts[columns.index(ERROR)]
        decimals = decimals_of(float(error) if _DECIMAL.fullmatch(error) else None)
        if decimals < 4:
            texts = [
                _DECIMAL.sub(lambda one: one[1] + with_decimals(float(one[2]), decimals), text)
                for text in texts
            ]
    cells = [cell_of_shares(text, possible) for text in texts]
    if possible in (SHARES, DIFFERENCES) and ERROR in columns:
        place = columns.index(ERROR)
        if texts[place] == NO_DECIMAL:  # it has no other digits, and is not none
            sign = percent_sign() if possible == SHARES else ""
            cells[place] = f"< {fixed(0.01, 2)}{sign}"
    return tuple(cells)


def _share_places(lower: float | None, upper: float | None) -> int:
    if lower is None or upper is None:
        return 1
    low, high = cut_ends(lower, upper, SHARES)
    return places_of(100 * (high - low), 100)


def levels(confidences: Sequence[str]) -> list[tuple[str, str]]:
    """Return confidences to choose from, each with its words."""
    return [(one, level(one)) for one in confidences]


def isolated(text: object) -> Markup:
    """Return a text of the data, whose direction is its own."""
    return Markup("<bdi>{}</bdi>").format(text)


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "bdi": isolated,
    "percentage": percent,
    "percentage_of_error": percent_of_error,
    "percentage_points": points,
    "level": level,
    "true_minus": with_minus,
    "thousands": whole,
    "factor": factor,
    "marks": in_marks,
    "said": said,
    "with_mark": with_mark,
}
"""What templates write figures with."""

GLOBALS: Final[dict[str, Callable[..., Any]]] = {"say": say_html, "counted": counted_words}
"""What templates of reports say their texts with."""
