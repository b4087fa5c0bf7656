"""The Vega-Lite specification of the reports that were released on each day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hushpoll_server.charts.rows import ReleasedDay, Specification
from hushpoll_server.charts.specifications import Chart, base

MOST_DAYS: Final = 90
CHART_PIXELS: Final = 640
# A day has at most so many: few days make no wide bars.
DAY_PIXELS: Final = 90


def releases_chart(days: Sequence[ReleasedDay]) -> Chart:
    """Return the chart of the newest of these days, of which the oldest is first; at least one."""
    drawn = days[-MOST_DAYS:]
    values: list[Specification] = [
        {"day": entry["day"], "added": entry["added"]} for entry in drawn
    ]
    x = {
        "field": "day",
        "type": "ordinal",
        "title": None,
        "axis": {"labelOverlap": True, "labelAngle": 0, "labelSeparation": 12, "ticks": False},
    }
    y = {
        "field": "added",
        "type": "quantitative",
        "title": None,
        "axis": {"format": ",d", "tickCount": 4, "tickMinStep": 1},
    }
    specification = base(values) | {
        "width": {"step": min(DAY_PIXELS, CHART_PIXELS / len(drawn))},
        "height": 180,
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 24},
        "mark": {"type": "bar", "color": "var(--accent)", "width": {"band": 0.8}},
        "encoding": {"x": x, "y": y},
    }
    last = days[-1]
    sentence = (
        f"{last['reports']:,} reports were in the results by {last['day']}, "
        f"{last['added']:,} of them new on that day."
    )
    return Chart(specification, sentence, len(drawn), len(days))
