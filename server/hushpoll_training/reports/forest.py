"""The layout of a drawing of estimates with their intervals, a row per label on one scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 760, 250, 30, 26, 8


@dataclass(frozen=True, slots=True)
class Mark:
    """One estimate.

    Attributes
    ----------
    label : str
        What its row is called; marks that follow each other with one label share the row.
    kind : str
        ``ldp``, a filled circle, or ``baseline``, a square.
    value, lower, upper : float
        Finite.
    """

    label: str
    kind: str
    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mark is drawn, in pixels."""

    kind: str
    x: float
    low: float
    high: float
    y: float


@dataclass(frozen=True, slots=True)
class Row:
    """The marks of one label."""

    label: str
    y: float
    marks: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """What the template ``parts.html`` draws, in pixels.

    Attributes
    ----------
    title : str
        What is drawn; read aloud in its place, and followed by a table of the numbers.
    ticks : tuple of (float, str)
        Place and number of each line of the scale.
    fair : float or None
        Place of the dashed line.
    rows : tuple of Row
        From the top.
    height, bottom : float
        Measures of the drawing, and of its scale.
    width, left, top : float
        The same of every drawing.
    """

    title: str
    ticks: tuple[tuple[float, str], ...]
    fair: float | None
    rows: tuple[Row, ...]
    height: float
    bottom: float
    width: float = _WIDTH
    left: float = _LEFT - 12
    top: float = _TOP


def forest(title: str, marks: Sequence[Mark], *, fair: float | None = None) -> Forest | None:
    """Lay out marks on one scale, with a dashed line at `fair`; None if there is no mark."""
    if not marks:
        return None
    ends = [value for mark in marks for value in (mark.lower, mark.upper)]
    ends += [] if fair is None else [fair]
    step = _step(max(ends) - min(ends))
    low = math.floor(min(ends) / step) * step
    high = max(math.ceil(max(ends) / step) * step, low + step)

    def x(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    rows = []
    for at, label in enumerate(dict.fromkeys(mark.label for mark in marks)):
        own = [mark for mark in marks if mark.label == label]
        middle = _TOP + _ROW * (at + 0.5)
        places = (
            Place(
                mark.kind,
                x(mark.value),
                x(mark.lower),
                x(mark.upper),
                middle + (number - (len(own) - 1) / 2) * 9,
            )
            for number, mark in enumerate(own)
        )
        rows.append(Row(label, middle, tuple(places)))
    bottom = _TOP + _ROW * len(rows)
    numbers = [low + number * step for number in range(round((high - low) / step) + 1)]
    return Forest(
        title,
        tuple((x(number), f"{round(number, 6):g}") for number in numbers),
        None if fair is None else x(fair),
        tuple(rows),
        bottom + 24,
        bottom,
    )


def _step(width: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten, that gives four to ten of them."""
    rough = max(width, 1e-3) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
