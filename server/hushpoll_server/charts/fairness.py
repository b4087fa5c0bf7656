"""Vega-Lite specifications of fairness metrics: intervals around the fair value.

A set without a bound reaches to the edge of the picture and ends there in an arrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from hushpoll_server.charts.bands import Band, Bands
from hushpoll_server.charts.figures import fixed, with_minus
from hushpoll_server.charts.rows import Metric, Specification
from hushpoll_server.charts.specifications import (
    LABEL_PIXELS,
    MOST_ROWS,
    Chart,
    base,
    interval_layers,
    line_of_no_difference,
)
from hushpoll_server.translations.speech import in_marks, say

WIDTH: Final = 400
STEP: Final = 32
# A ratio has no largest value: beyond this the picture is cut, and the table goes on.
LARGEST_RATIO: Final = 3.0


def fairness_chart(panels: Sequence[tuple[float, Sequence[Metric]]], sentence: str) -> Chart:
    """Return the chart of metrics, in a panel for each fair value; those withheld are left out."""
    left, parts, total, shown = MOST_ROWS, [], 0, 0
    cut = []
    for fair, rows in panels:
        total += len(rows)
        drawn = rows[:left]
        left -= len(drawn)
        shown += len(drawn)
        cut.append((fair, drawn))
        if drawn:
            parts.append(_panel(fair, drawn))
    specification = base([]) | {
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 24},
        "vconcat": parts,
        "spacing": 28,
    }
    bands = tuple(_bands(fair, rows) for fair, rows in cut if rows)
    return Chart(specification, sentence, shown, total, panels=bands)


def _bands(fair: float, rows: Sequence[Metric]) -> Bands:
    """Return the bands of metrics that share a fair value."""
    low, high = _domain(fair, rows)

    def place(value: float) -> float:
        return round(min(max(100 * (value - low) / (high - low), 0.0), 100.0), 2)

    shown = []
    for row in rows:
        value, lower, upper = row["value"], row["lower"], row["upper"]
        start = 0.0 if lower is None else place(lower)
        end = 100.0 if upper is None else place(upper)
        bounds = [say("no bound") if one is None else fixed(one, 3) for one in (lower, upper)]
        ends = say("{low} to {high}", low=bounds[0], high=bounds[1])
        shown.append(
            Band(
                label=row["label"],
                figure=say("cannot tell") if value is None else fixed(value, 3),
                limits=say("no bound") if lower is None and upper is None else ends,
                start=start,
                width=round(end - start, 2),
                dot=place(value) if value is not None and low <= value <= high else None,
                main=row["conclusion"] == "disparity",
                hollow=row["conclusion"] == "cannot conclude",
                below=lower is None or lower < low,
                above=upper is None or upper > high,
            )
        )
    ticks = tuple((place(one), in_marks(with_minus(f"{one:.3g}"))) for one in (low, fair, high))
    return Bands("", tuple(shown), ticks, place(fair))


def _panel(fair: float, rows: Sequence[Metric]) -> Specification:
    low, high = _domain(fair, rows)
    values = []
    for row in rows:
        lower, upper = row["lower"], row["upper"]
        ends = {
            "from": low if lower is None else min(max(lower, low), high),
            "to": high if upper is None else max(min(upper, high), low),
        }
        value = row["value"]
        values.append(
            {
                "label": row["label"],
                "conclusion": row["conclusion"],
                **ends,
                **({"value": value} if value is not None and low <= value <= high else {}),
                "below": lower is None or lower < low,
                "above": upper is None or upper > high,
            }
        )
    y = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {
            "ticks": False,
            "domain": False,
            "labelLimit": LABEL_PIXELS,
            "labelPadding": 8,
            "minExtent": 120,
            "labelOverlap": False,
        },
    }
    x = {
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [low, high], "nice": False},
        "axis": {"tickCount": 6, "labelExpr": _number_expression(), "labelFlush": False},
    }
    bar = {"type": "bar", "height": 10, "cornerRadius": 5, "opacity": 0.32}
    return {
        "data": {"values": values},
        "width": WIDTH,
        "height": {"step": STEP},
        "encoding": {"y": y},
        "layer": [
            line_of_no_difference(fair, x),
            *interval_layers(
                x, bar, {"align": "center"}, hollow="datum.conclusion === 'cannot conclude'"
            ),
        ],
    }


def _number_expression() -> str:
    mark = in_marks("0.5")[1]
    return f"replace(format(datum.value, '.2~f'), '.', '{mark}')"


def _domain(fair: float, rows: Sequence[Metric]) -> tuple[float, float]:
    """Return the values between which most of all lies, the fair one within, in tenths."""
    ends = [fair]
    for row in rows:
        ends += [one for one in (row["value"], row["lower"], row["upper"]) if one is not None]
    least, most = (0.0, LARGEST_RATIO) if fair else (-1.0, 1.0)
    low = max(least, math.floor(10 * min(ends) - 0.5) / 10)
    high = min(most, math.ceil(10 * max(ends) + 0.5) / 10)
    # Ends beyond what a metric can be are drawn as far as it can.
    return min(low, fair - 0.1), max(high, fair + 0.1)
