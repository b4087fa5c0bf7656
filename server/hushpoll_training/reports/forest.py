"""A drawing of estimates with their intervals, as SVG that stands inside a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 760, 250, 30, 26, 8


@dataclass(frozen=True, slots=True)
class Mark:
    """One estimate.

    Attributes
    ----------
    label : str
        Of its row; marks that follow each other with one label share the row.
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


def forest(title: str, marks: Sequence[Mark], *, fair: float | None = None) -> str:
    """Draw marks on one scale, a row per label, with a dashed line where all is fair.

    Parameters
    ----------
    title : str
        What is drawn; read aloud in its place, and to be followed by a table of the numbers.
    marks : sequence of Mark
        At least one.
    fair : float, optional
        Place of the dashed line.
    """
    labels = list(dict.fromkeys(mark.label for mark in marks))
    ends = [value for mark in marks for value in (mark.lower, mark.upper)]
    ends += [] if fair is None else [fair]
    step = _step(max(ends) - min(ends))
    low = math.floor(min(ends) / step) * step
    high = max(math.ceil(max(ends) / step) * step, low + step)

    def x(value: float) -> float:
        return _LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    bottom = _TOP + _ROW * len(labels)
    parts = []
    for number in range(round((high - low) / step) + 1):
        at = low + number * step
        parts.append(
            f'<line class="axis" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{_TOP}" y2="{bottom}"/>'
            f'<text class="tick" x="{x(at):.1f}" y="{bottom + 17}" text-anchor="middle">'
            f"{round(at, 6):g}</text>"
        )
    if fair is not None:
        parts.append(
            f'<line class="fair" x1="{x(fair):.1f}" x2="{x(fair):.1f}" y1="{_TOP}" y2="{bottom}"/>'
        )
    for place, label in enumerate(labels):
        own = [mark for mark in marks if mark.label == label]
        middle = _TOP + _ROW * (place + 0.5)
        parts.append(
            f'<text x="{_LEFT - 12}" y="{middle + 4.5:.1f}" text-anchor="end">'
            f"{escape(_short(label))}</text>"
        )
        for at, mark in enumerate(own):
            y = middle + (at - (len(own) - 1) / 2) * 9
            parts.append(_drawn(mark, x(mark.value), x(mark.lower), x(mark.upper), y))
    return (
        f'<figure><svg role="img" aria-label="{escape(title)}" viewBox="0 0 {_WIDTH} '
        f'{bottom + 24}" width="{_WIDTH}" height="{bottom + 24}">{"".join(parts)}</svg></figure>'
    )


def _drawn(mark: Mark, x: float, low: float, high: float, y: float) -> str:
    line = (
        f'<line class="{mark.kind}" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        'stroke-width="2"/>'
    )
    # told apart by form as well as by colour
    if mark.kind == "baseline":
        return (
            f'{line}<rect class="baseline" x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"/>'
        )
    return f'{line}<circle class="{mark.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'


def _step(width: float) -> float:
    """Return a step of 1, 2 or 5 times a power of ten, that gives four to ten of them."""
    rough = max(width, 1e-3) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def _short(label: str) -> str:
    return label if len(label) <= 36 else label[:35] + "…"
