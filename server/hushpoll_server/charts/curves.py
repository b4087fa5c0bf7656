"""Vega-Lite specifications of a metric over epsilon: a small chart for each line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hushpoll_server.charts.rows import CurveMean, CurvePoint, Specification
from hushpoll_server.charts.specifications import MEASURED, Chart, base

COLUMNS: Final = 4
PANEL_PIXELS: Final = 165


def curves_chart(metric: str, points: Sequence[CurvePoint], without: CurvePoint | None) -> Chart:
    """Return the chart of one metric, in words, over epsilon; NonDP, `without`, is a rule."""
    values = [
        CurveMean(
            line=one["line"],
            epsilon=one["epsilon"],
            mean=one["mean"],
            lower=one["lower"],
            upper=one["upper"],
        )
        for one in points
        if one["mean"] is not None
    ]
    epsilons = sorted({value["epsilon"] for value in values})
    x = {
        "field": "epsilon",
        "type": "quantitative",
        "scale": {"type": "log", "nice": False, "padding": 12},
        "title": "epsilon",
        "axis": {"values": epsilons, "grid": False, "format": "~g", "labelOverlap": True},
    }
    y = {
        "type": "quantitative",
        "title": None,
        "scale": {"zero": False},
        "axis": {"format": ".2~f", "tickCount": 5},
    }
    rule: list[Specification] = []
    if without is not None and without["mean"] is not None:
        rule = [
            {
                "mark": {"type": "rule", "color": "var(--other)", "strokeDash": [5, 4]},
                "encoding": {"y": {"datum": without["mean"], **y}},
            }
        ]
    layer = [
        *rule,
        {
            "mark": {"type": "rule", "color": "var(--accent)", "opacity": 0.45, "strokeWidth": 6},
            "encoding": {"x": x, "y": {"field": "lower", **y}, "y2": {"field": "upper"}},
        },
        {
            "mark": {"type": "line", "color": "var(--accent)", "point": {"color": "var(--accent)"}},
            "encoding": {"x": x, "y": {"field": "mean", **y}},
        },
    ]
    header = {"title": None, "labelColor": "var(--ink)", "labelFont": MEASURED, "labelFontSize": 13}
    specification = base(values) | {
        "columns": COLUMNS,
        "facet": {"field": "line", "type": "nominal", "sort": None, "header": header},
        "spec": {"width": PANEL_PIXELS, "height": 130, "layer": layer},
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 24},
    }
    return Chart(specification, _sentence(metric, values, without), len(values), len(values))


def _sentence(metric: str, values: Sequence[CurveMean], without: CurvePoint | None) -> str:
    last = max(value["epsilon"] for value in values)
    there = [value for value in values if value["epsilon"] == last]
    low, high = (choose(there, key=lambda value: value["mean"]) for choose in (min, max))
    said = (
        f"At epsilon {last:g} the mean {metric} lies between {low['mean']:.3f} ({low['line']}) and "
        f"{high['mean']:.3f} ({high['line']})."
    )
    if without is None or without["mean"] is None:
        return said
    return f"{said} Without privacy (NonDP, the dashed line) it is {without['mean']:.3f}."
