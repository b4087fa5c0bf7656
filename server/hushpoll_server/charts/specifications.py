"""Vega-Lite specifications of estimates and cross-tables, and a sentence for each.

Colours are the tokens of the style sheet, so that a chart inside a page follows its light or dark
theme; `with_light_colours` gives a specification that stands alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hushpoll_server.charts.labels import short_labels
from hushpoll_server.charts.rows import BoundedCell, Cell, RefusedDay, Share, Specification
from hushpoll_server.charts.sentences import TOO_NOISY_WORDS, of_cells, of_estimates
from hushpoll_shared.querying.possible import SHARES, Possible, cut_ends

MOST_ROWS: Final = 50
MOST_CELLS_A_SIDE: Final = 30
LABEL_PIXELS: Final = 230
# As many fit: in the font by which labels are measured, a character is 7.8 pixels wide.
LABEL_CHARACTERS: Final = 29
COLUMN_PIXELS: Final = 140
COLUMN_CHARACTERS: Final = 17
# Texts are laid out in this font and shown in the reader's own, of which none is wider in the mean:
# the drawing process does not know the reader's fonts.
MEASURED: Final = "monospace"
SHOWN: Final = "system-ui, sans-serif"
SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"

# The light theme of hushpoll_analysis.html's style sheet.
LIGHT: Final = {
    "var(--ground)": "#ffffff",
    "var(--ink)": "#1a2027",
    "var(--soft)": "#55606b",
    "var(--line)": "#767f89",
    "var(--empty)": "#d5dbe1",
    "var(--accent)": "#1b5a86",
}


# Of elements alone: a text of the data has no < in SVG.
_ROLES: Final = re.compile(
    r'(<g class="[^"<>]*") role="graphics-[a-z]+" aria-roledescription="[^"<>]*"'
)


@dataclass(frozen=True)
class Chart:
    """A specification, what it shows in a sentence, and how much of the data is in the picture.

    ``shown`` of ``total`` rows are drawn; of a cross-table, categories of its longer side.
    ``full_names`` has the whole name of each label that is cut.
    """

    specification: Specification
    sentence: str
    shown: int
    total: int
    full_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def cut(self) -> bool:
        """Whether something is not in the picture."""
        return self.shown < self.total


def estimates_chart(
    attribute: str,
    rows: Sequence[Share],
    *,
    confidence: float,
    total: int,
    possible: Possible | None = SHARES,
) -> Chart:
    """Return the chart of the shares of one attribute; intervals are cut to what is possible.

    Parameters
    ----------
    attribute : str
        Its name.
    rows : sequence of mapping
        ``category``, ``frequency``, ``lower`` and ``upper`` of each category, in the order to show;
        the limits are None for an estimator without an interval.
    confidence : float
        Of the intervals, in (0, 1).
    total : int
        The number of categories that there are.
    possible : (float, float) or None
        What the values can be; None: intervals are not cut.
    """
    drawn = rows[:MOST_ROWS]
    limits = drawn[0]["lower"] is not None
    ends = [cut_ends(row["lower"], row["upper"], possible) for row in drawn]
    labels = short_labels([row["category"] for row in drawn], LABEL_CHARACTERS)
    values: list[Specification] = [
        {
            "label": labels[row["category"]],
            "category": row["category"],
            "frequency": row["frequency"],
            **({"lower": lower, "upper": upper} if limits else {}),
        }
        for row, (lower, upper) in zip(drawn, ends, strict=True)
    ]
    reached = [row["frequency"] for row in drawn]
    reached += [end for both in ends for end in both if end is not None]
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
        },
    }
    # Flush with the ends of the axis, labels would touch those beside them.
    axis = {"format": "~%", "tickCount": 6, "labelFlush": False}
    x = {"type": "quantitative", "title": None, "axis": axis}
    x |= {"scale": {"domain": _domain(reached), "nice": False}}
    interval = {
        "mark": {
            "type": "bar",
            "height": 10,
            "cornerRadius": 5,
            "color": "var(--accent)",
            "opacity": 0.32,
        },
        "encoding": {"x": {"field": "lower", **x}, "x2": {"field": "upper"}},
    }
    specification = base(values) | {
        "width": 400,
        "height": {"step": 28},
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 24},
        "encoding": {"y": y},
        "layer": [
            {
                "mark": {"type": "rule", "color": "var(--line)", "strokeWidth": 1},
                "encoding": {"x": {"datum": 0, **x}, "y": None},
            },
            *([interval] if limits else []),
            {
                "mark": {
                    "type": "point",
                    "filled": True,
                    "size": 90,
                    "color": "var(--accent)",
                    "opacity": 1,
                },
                "encoding": {"x": {"field": "frequency", **x}},
            },
        ],
    }
    sentence = of_estimates(attribute, rows, confidence)
    return Chart(specification, sentence, len(drawn), total, _full(labels))


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """What is said of a whole cross-table, which may be larger than its picture.

    ``top`` is the cell with the largest share, None if nothing is known of any; of the cells
    ``known`` can be told, and the intervals of ``above`` lie above zero.
    """

    rows: int
    columns: int
    known: int
    above: int
    top: BoundedCell | None


def facts_of(cells: Sequence[Cell]) -> TableFacts:
    """Return the facts of a table by its cells."""
    known = [
        BoundedCell(
            a=cell["a"],
            b=cell["b"],
            frequency=cell["frequency"],
            lower=cell["lower"],
            upper=cell["upper"],
        )
        for cell in cells
        if cell["frequency"] is not None and cell["lower"] is not None and cell["upper"] is not None
    ]
    return TableFacts(
        rows=len({cell["a"] for cell in cells}),
        columns=len({cell["b"] for cell in cells}),
        known=len(known),
        above=sum(cell["lower"] > 0 for cell in known),
        top=max(known, key=lambda cell: cell["frequency"], default=None),
    )


def cross_table_chart(
    a: str,
    b: str,
    cells: Sequence[Cell],
    *,
    confidence: float,
    within: str | None = None,
    facts: TableFacts | None = None,
) -> Chart:
    """Return the heat map of the shares of pairs of categories.

    Parameters
    ----------
    a, b : str
        Attribute of the rows, and of the columns.
    cells : sequence of mapping
        ``a``, ``b``, ``frequency``, ``lower`` and ``upper`` of each pair of categories; None where
        the reports cannot tell. Those that are drawn are enough, if `facts` is given.
    confidence : float
        Of the intervals, in (0, 1).
    within : str or None
        The attribute in each of whose categories the shares sum to 1; None: all of them do.
    facts : TableFacts, optional
        What the sentence says of the whole table; by default what `cells` have.
    """
    rows = list(dict.fromkeys(cell["a"] for cell in cells))
    columns = list(dict.fromkeys(cell["b"] for cell in cells))
    drawn_rows, drawn_columns = rows[:MOST_CELLS_A_SIDE], columns[:MOST_CELLS_A_SIDE]
    of_rows = short_labels(drawn_rows, LABEL_CHARACTERS)
    of_columns = short_labels(drawn_columns, COLUMN_CHARACTERS)
    drawn = [
        (of_rows[cell["a"]], of_columns[cell["b"]], max(0.0, cell["frequency"]))
        for cell in cells
        if cell["a"] in of_rows and cell["b"] in of_columns and cell["frequency"] is not None
    ]
    values = [{"row": row, "column": column, "share": share} for row, column, share in drawn]
    largest = max((share for *_, share in drawn), default=0.0) or 1.0
    axis = {"ticks": False, "domain": False, "labelPadding": 6, "titleAnchor": "start"}
    specification = base(values) | {
        "width": {"step": 34 if len(drawn_columns) > 12 else 46},
        "height": {"step": 28},
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 100},
        # Without rounded corners, each of which is a curve: the picture is half as large.
        "mark": {"type": "rect", "color": "var(--accent)"},
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                # Of all categories, so that one of which nothing is known keeps its place.
                "scale": {"domain": list(of_rows.values()), "paddingInner": 0.06},
                "title": a,
                "axis": axis | {"labelLimit": LABEL_PIXELS},
            },
            "x": {
                "field": "column",
                "type": "nominal",
                "sort": None,
                "scale": {"domain": list(of_columns.values()), "paddingInner": 0.05},
                "title": b,
                "axis": axis | {"orient": "top", "labelAngle": -40, "labelLimit": COLUMN_PIXELS},
            },
            "opacity": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, largest], "range": [0.04, 1]},
                "legend": {"title": "share", "format": "~%", "tickCount": 4, "orient": "bottom"},
            },
        },
    }
    facts = facts or facts_of(cells)
    total = max(facts.rows, facts.columns)
    return Chart(
        specification,
        of_cells((a, b), facts, confidence, within=within, drawn=(of_rows, of_columns)),
        min(total, MOST_CELLS_A_SIDE),
        total,
        _full(of_rows) | _full(of_columns),
    )


def refusals_chart(days: Sequence[RefusedDay]) -> Chart:
    """Return the chart of refused reports; each day has ``day`` (YYYY-MM-DD) and ``reports``."""
    drawn = days[-MOST_ROWS:]
    specification = base([{"day": day["day"], "reports": day["reports"]} for day in drawn]) | {
        "width": 520,
        "height": 140,
        "mark": {"type": "bar", "color": "var(--accent)", "cornerRadiusEnd": 3},
        "encoding": {
            "x": {
                "field": "day",
                "type": "ordinal",
                "title": None,
                "axis": {"labelAngle": -40, "ticks": False, "labelOverlap": True},
            },
            "y": {
                "field": "reports",
                "type": "quantitative",
                "title": None,
                "axis": {"tickMinStep": 1, "format": ",d", "tickCount": 4, "domain": False},
            },
        },
    }
    busiest = max(days, key=lambda day: day["reports"])
    sentence = (
        f"{sum(day['reports'] for day in days):,} reports on {_days(len(days))}; the most came on "
        f"{busiest['day']}: {busiest['reports']:,}."
    )
    return Chart(specification, sentence, len(drawn), len(days))


def as_too_noisy(chart: Chart) -> Chart:
    """Return the chart of numbers that are too noisy to tell, which says so wherever it is shown.

    Its sentence names no estimate and counts no interval.
    """
    title: dict[str, object] = {"text": "Too noisy to tell", "anchor": "start"}
    title |= {"color": "var(--ink)", "font": MEASURED, "fontSize": 13}
    specification = {**chart.specification, "title": title}
    return replace(chart, specification=specification, sentence=TOO_NOISY_WORDS)


def with_light_colours(specification: Specification) -> dict[str, object]:
    """Return a specification that stands alone, in the colours of the light theme."""
    text = json.dumps(specification["config"]) + "\n"
    rest = {key: value for key, value in specification.items() if key not in ("config", "data")}
    text += json.dumps(rest)
    for token, colour in LIGHT.items():
        text = text.replace(token, colour)
    config, _, others = text.partition("\n")
    return {
        **json.loads(others),
        "data": specification["data"],
        "config": json.loads(config) | {"background": LIGHT["var(--ground)"]},
    }


def as_one_image(svg: str) -> str:
    """Return an SVG whose texts are shown in the reader's font and whose parts have no roles.

    A page names the picture as a whole, and has the figures in a table.
    """
    plain = _ROLES.sub(r"\1", svg)
    return plain.replace(f'font-family="{MEASURED}"', f'font-family="{SHOWN}"')


def base(values: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return what every chart has: its data, fonts and the colours of the style sheet."""
    font = {"labelFontSize": 13, "titleFontSize": 13, "labelFont": MEASURED, "titleFont": MEASURED}
    colours = {"labelColor": "var(--ink)", "titleColor": "var(--soft)"}
    return {
        "$schema": SCHEMA,
        "data": {"values": values},
        "config": {
            "aria": False,
            "background": "transparent",
            "view": {"stroke": None},
            "axis": {
                **font,
                **colours,
                "titleFontWeight": 400,
                "gridColor": "var(--empty)",
                "domainColor": "var(--line)",
                "tickColor": "var(--line)",
            },
            "legend": {
                **font,
                **colours,
                "titleFontWeight": 400,
                "symbolFillColor": "var(--accent)",
            },
        },
    }


def _domain(values: Iterable[float]) -> list[float]:
    """Return the shares between which all values lie, zero among them, in steps of 5 points."""
    ends = [0.0, *values]
    low, high = math.floor(20 * min(ends)) / 20, math.ceil(20 * max(ends)) / 20
    return [low, max(high, low + 0.05)]


def _full(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the whole name by label, of those that are cut."""
    return {label: name for name, label in labels.items() if label != name}


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"
