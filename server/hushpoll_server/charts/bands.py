"""Estimates as bands: a row for each, with its label, its figure, its interval and its dot.

A page shows them as they are here, at any width; a file that stands alone is made of the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hushpoll_server.charts.figures import (
    fixed,
    percent,
    points,
    points_figure,
    points_limits,
    scale_figure,
    scale_limits,
    share_figure,
    share_limits,
    with_minus,
)
from hushpoll_server.charts.rows import BoundedShare, Share, Unknown
from hushpoll_server.translations.speech import in_marks, say
from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES, Possible, cut_ends

_STEPS: Final = (0.01, 0.02, 0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Where an axis of shares may end, so that its middle is a whole number of points, or half one."""


@dataclass(frozen=True, slots=True)
class Band:
    """An estimate on an axis that goes from 0 to 100."""

    label: str
    figure: str
    limits: str
    """Its interval in words; empty without one."""
    start: float
    """Where the interval begins, in [0, 100]."""
    width: float
    dot: float | None
    """Where the estimate stands, in [0, 100]."""
    main: bool = False
    """Whether it is the one that the headline is about."""
    hollow: bool = False
    """Whether nothing can be concluded of it."""
    below: bool = False
    """Whether its interval goes on beyond the axis, where an arrow stands."""
    above: bool = False
    known: bool = True
    """Whether there is an estimate; without one there are no marks."""


@dataclass(frozen=True, slots=True)
class Bands:
    """Bands on one axis."""

    title: str
    """Of one of several beside each other; else empty."""
    rows: tuple[Band, ...]
    ticks: tuple[tuple[float, str], ...]
    """Places on the axis, in [0, 100], and their words."""
    zero: float | None = None
    """Where no difference, or the fair value, stands; None where the axis begins there."""


def bands_of(
    rows: Sequence[Share | Unknown],
    *,
    possible: Possible | None,
    main: str | None = None,
    axis: tuple[float, float] | None = None,
    title: str = "",
) -> Bands:
    """Return the bands of shares, of their differences, or of numbers near them; at least one.

    Intervals and dots are cut to what is `possible`; None: they are shares that are not cut.
    Several panels have the same `axis`, whose ends follow from the rows by default.
    """
    low, high = axis or axis_of([rows], possible)

    def place(value: float) -> float:
        return round(min(max(100 * (value - low) / (high - low), 0.0), 100.0), 2)

    shown = []
    for row in rows:
        value = row["frequency"]
        if value is None:
            label, words = row["category"], say("cannot tell")
            shown.append(Band(label, words, "", 0.0, 0.0, None, known=False))
            continue
        lower, upper = cut_ends(row["lower"], row["upper"], possible)
        start = place(value if lower is None else lower)
        end = place(value if upper is None else upper)
        figure, limits = _words(value, row["lower"], row["upper"], possible)
        band = Band(
            label=row["category"],
            figure=figure,
            limits=limits,
            start=start,
            width=round(end - start, 2),
            dot=place(value),
            main=row["category"] == main,
        )
        shown.append(band)
    zero = place(0.0) if low < 0 < high else None
    return Bands(title, tuple(shown), _ticks(low, high, place, possible), zero)


def bands_on_scale(
    rows: Sequence[BoundedShare], ends: tuple[float, float], main: str | None = None
) -> Bands:
    """Return the bands of numbers, at least one, on their whole scale, such as those of means.

    They are cut to it. The headline is by default about every row.
    """
    low, high = ends

    def place(number: float) -> float:
        return round(min(max(100 * (number - low) / (high - low), 0.0), 100.0), 2)

    shown = []
    for row in rows:
        lower, upper = row["lower"], row["upper"]
        start, end = place(lower), place(upper)
        band = Band(
            label=row["category"],
            figure=scale_figure(row["frequency"], lower, upper, ends),
            limits=scale_limits(lower, upper, ends),
            start=start,
            width=round(end - start, 2),
            dot=place(row["frequency"]),
            main=main is None or row["category"] == main,
        )
        shown.append(band)
    ticks = tuple((place(one), in_marks(with_minus(f"{one:,g}"))) for one in ends)
    return Bands("", tuple(shown), ticks)


def axis_of(
    panels: Iterable[Sequence[Share | Unknown]], possible: Possible | None
) -> tuple[float, float]:
    """Return the ends of an axis on which all rows of all panels have their places."""
    ends = [0.0]
    for rows in panels:
        for row in rows:
            both = cut_ends(row["lower"], row["upper"], possible)
            ends += [end for end in (*both, row["frequency"]) if end is not None]
    least, most = min(ends), max(ends)
    if possible is not None:
        least, most = max(least, possible[0]), min(most, possible[1])
    if possible == SHARES:
        return 0.0, _end(most)
    if possible == DIFFERENCES:
        reach = _end(max(-least, most))
        return -reach, reach
    return (-_end(-least) if least < 0 else 0.0), _end(most)


def _end(most: float) -> float:
    return next((end for end in _STEPS if most <= end + 1e-9), math.ceil(most))


def _ticks(
    low: float, high: float, place: Callable[[float], float], possible: Possible | None
) -> tuple[tuple[float, str], ...]:
    places = 0 if 100 * high >= 4 else 1

    def words(value: float) -> str:
        return points(value, places) if possible == DIFFERENCES else percent(value, places)

    if possible == DIFFERENCES:
        return tuple((place(end), words(end)) for end in (low, 0.0, high))
    return tuple((place(end), words(end)) for end in (low, (low + high) / 2, high))


def _words(
    value: float, lower: float | None, upper: float | None, possible: Possible | None
) -> tuple[str, str]:
    if possible == DIFFERENCES:
        if lower is None or upper is None:
            return points(value), ""
        return points_figure(value, lower, upper), points_limits(lower, upper)
    if possible == SHARES:
        return share_figure(value, lower, upper), share_limits(lower, upper)
    if lower is None or upper is None:
        return percent(value), ""
    return percent(value), say("{low} to {high}", low=fixed(100 * lower, 1), high=percent(upper))
