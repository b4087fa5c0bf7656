"""Vega-Lite specifications of estimates and cross-tables, and a sentence for each.

Colours are the tokens of the style sheet, so that a chart inside a page follows its light or dark
theme; `with_light_colours` gives a specification that stands alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hushpoll_server.charts.bands import Bands, axis_of, bands_of, bands_on_scale
from hushpoll_server.charts.figures import level
from hushpoll_server.charts.labels import short_labels
from hushpoll_server.charts.rows import (
    BoundedCell,
    BoundedShare,
    Cell,
    RefusedDay,
    Share,
    Specification,
    Unknown,
)
from hushpoll_server.charts.sentences import TOO_NOISY_WORDS, of_cells, of_estimates
from hushpoll_server.charts.standing_alone import (
    PANEL_COLUMNS,
    PANEL_WIDTH,
    WIDTH,
    Words,
    bands_layers,
    values_of,
    with_words,
)
from hushpoll_server.translations.speech import in_marks, percent_sign, say
from hushpoll_shared.qualifying.possible import SHARES, Possible, cut_ends

MOST_ROWS: Final = 50
MOST_CELLS_A_SIDE: Final = 30
# A table of at most so many rows and columns is drawn as small multiples, a larger one as a map.
MOST_PANELS: Final = 12
MOST_BANDS: Final = 8
NO_WORDS: Final = Words()
LABEL_PIXELS: Final = 230
# As many fit beside a figure: where labels are measured, a character is 7.8 pixels wide.
LABEL_CHARACTERS: Final = 46
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


# A title is a text of the picture, which needs no name of its own in English.
_TITLES: Final = re.compile(r'(<g class="mark-text role-title-[a-z]+") aria-label="[^"<>]*"')
# They stand in elements alone: a text of the data has no < in SVG.
_ROLES: Final = re.compile(
    r'(<g class="[^"<>]*") role="graphics-[a-z]+" aria-roledescription="[^"<>]*"'
)


@dataclass(frozen=True)
class Chart:
    """A specification, what it shows in a sentence, and how much of the data is in the picture.

    ``shown`` of ``total`` rows are drawn; of a cross-table, categories of its longer side.
    ``full_names`` has the whole name of each label that is cut. ``panels`` are the bands that pages
    show in place of the picture, if it has any; ``words`` stand around it, on pages and in files.
    """

    specification: Specification
    sentence: str
    shown: int
    total: int
    full_names: Mapping[str, str] = field(default_factory=dict)
    panels: tuple[Bands, ...] = ()
    words: Words = NO_WORDS

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
    main: str | None = None,
) -> Chart:
    """Return the chart of the shares of one attribute, of `total` categories, in the order to show.

    Intervals, where there are any, are cut to what is `possible`. The headline is about the
    category `main`, by default the one with the largest estimate.
    """
    drawn = rows[:MOST_ROWS]
    if main is None:
        main = max(drawn, key=lambda row: row["frequency"])["category"]
    bands = bands_of(drawn, possible=possible, main=main)
    labels = short_labels([row["category"] for row in drawn], LABEL_CHARACTERS)
    values = [
        {
            **band,
            "category": row["category"],
            "frequency": row["frequency"],
            **({"lower": lower, "upper": upper} if lower is not None else {}),
        }
        for band, row in zip(values_of(bands, labels), drawn, strict=True)
        for lower, upper in [cut_ends(row["lower"], row["upper"], possible)]
    ]
    specification = base(values) | bands_layers(bands, values, WIDTH)
    sentence = of_estimates(attribute, rows, confidence)
    return Chart(specification, sentence, len(drawn), total, _full(labels), (bands,))


def mean_chart(
    value: float, lower: float, upper: float, ends: tuple[float, float], confidence: float
) -> Chart:
    """Return the chart of a mean on its whole scale, from the lower of its `ends`."""
    label = say("Mean")
    mean = BoundedShare(category=label, frequency=value, lower=lower, upper=upper)
    bands = bands_on_scale([mean], ends)
    values = values_of(bands, {label: label})
    (band,) = bands.rows
    sentence = say(
        "The mean is {figure}, with a {level} interval of {limits}, on a scale from {low} to "
        "{high}.",
        figure=band.figure,
        level=level(confidence),
        limits=band.limits,
        low=bands.ticks[0][1],
        high=bands.ticks[1][1],
    )
    return Chart(base(values) | bands_layers(bands, values, WIDTH), sentence, 1, 1, {}, (bands,))


def trend_chart(
    rows: Sequence[BoundedShare], sentence: str, ends: tuple[float, float] | None, *, main: str
) -> Chart:
    """Return the chart of one number over the versions of a survey, from the earliest.

    `ends` are those of the scale of a mean; None: these are shares. `main` is the version that is
    looked at.
    """
    if ends is None:
        bands = bands_of([Share(**row) for row in rows], possible=SHARES, main=main)
    else:
        bands = bands_on_scale(rows, ends, main)
    values = values_of(bands, short_labels([row["category"] for row in rows], LABEL_CHARACTERS))
    drawn = base(values) | bands_layers(bands, values, WIDTH)
    return Chart(drawn, sentence, len(rows), len(rows), {}, (bands,))


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
    """Return the heat map of the shares of pairs of categories; None where reports cannot tell.

    The shares sum to 1 in each category of the attribute `within`, or all of them do. The cells
    that are drawn are enough where `facts` has what the sentence says of the whole table.
    """
    rows = list(dict.fromkeys(cell["a"] for cell in cells))
    columns = list(dict.fromkeys(cell["b"] for cell in cells))
    sides = (len(rows), len(columns)) if facts is None else (facts.rows, facts.columns)
    if sides[0] <= MOST_PANELS and sides[1] <= MOST_BANDS:
        return _panels_chart((a, b), cells, confidence, within, facts)
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
    # A column's name is broken into lines: nothing is turned.
    step, letters = (34, 4) if len(drawn_columns) > 12 else (64, 8)
    lines = max(math.ceil(len(label) / letters) for label in of_columns.values())
    above = {"labelExpr": f"split(replace(datum.label, /(.{{{letters}}})/g, '$1\\n'), '\\n')"}
    specification = base(values) | {
        "width": {"step": step},
        "height": {"step": 28},
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 100},
        # Without rounded corners, each of which is a curve: the picture is half as large.
        "mark": {"type": "rect", "color": "var(--accent)"},
        "encoding": {
            "y": {
                "field": "row",
                "type": "nominal",
                "sort": None,
                # All categories, so that one of which nothing is known keeps its place.
                "scale": {"domain": list(of_rows.values()), "paddingInner": 0.06},
                "title": None,
                "axis": axis | {"labelLimit": LABEL_PIXELS},
            },
            "x": {
                "field": "column",
                "type": "nominal",
                "sort": None,
                "scale": {"domain": list(of_columns.values()), "paddingInner": 0.05},
                "title": [
                    say("Rows: {question}", question=a),
                    say("Columns: {question}", question=b),
                    "",
                ],
                "axis": axis
                | above
                | {"orient": "top", "labelAngle": 0, "labelLimit": step, "labelOverlap": False}
                | {"labelPadding": 6 + 15 * (lines - 1)},
            },
            "opacity": {
                "field": "share",
                "type": "quantitative",
                "scale": {"domain": [0, largest], "range": [0.04, 1]},
                "legend": {
                    "title": say("share"),
                    "labelExpr": _percent_expression(),
                    "tickCount": 4,
                    "orient": "bottom",
                },
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


def _panels_chart(
    names: tuple[str, str],
    cells: Sequence[Cell],
    confidence: float,
    within: str | None,
    facts: TableFacts | None,
) -> Chart:
    """Return small multiples: a panel for each row of a table, with a band for each column."""
    of_rows: dict[str, list[Share | Unknown]] = {}
    for cell in cells:
        row: Share | Unknown
        if cell["frequency"] is None:
            row = {"category": cell["b"], "frequency": None, "lower": None, "upper": None}
        else:
            row = {
                "category": cell["b"],
                "frequency": cell["frequency"],
                "lower": cell["lower"],
                "upper": cell["upper"],
            }
        of_rows.setdefault(cell["a"], []).append(row)
    axis = axis_of(of_rows.values(), SHARES)
    panels = tuple(
        bands_of(rows, possible=SHARES, axis=axis, title=title, main=_largest(rows))
        for title, rows in of_rows.items()
    )
    labels = short_labels(list(dict.fromkeys(cell["b"] for cell in cells)), LABEL_CHARACTERS // 2)
    titles = short_labels(list(of_rows), LABEL_CHARACTERS)
    values = [
        {**band, "panel": place, "column": row["category"], "share": row["frequency"]}
        for place, (bands, rows) in enumerate(zip(panels, of_rows.values(), strict=True))
        for band, row in zip(values_of(bands, labels), rows, strict=True)
    ]
    parts = []
    for place, bands in enumerate(panels):
        own = [value for value in values if value["panel"] == place]
        title = {"text": titles[bands.title], "anchor": "start", "fontSize": 14, "offset": 8}
        layers = bands_layers(bands, own, PANEL_WIDTH)
        parts.append({**layers, "title": {**title, "color": "var(--ink)"}})
    specification = base(values) | {"concat": parts, "columns": PANEL_COLUMNS, "spacing": 32}
    facts = facts or facts_of(cells)
    total = max(facts.rows, facts.columns)
    everything = set(of_rows), {cell["b"] for cell in cells}
    sentence = of_cells(names, facts, confidence, within=within, drawn=everything)
    full = _full(labels) | _full(titles)
    return Chart(specification, sentence, total, total, full, panels)


def _largest(rows: Sequence[Share | Unknown]) -> str | None:
    known = [row for row in rows if row["frequency"] is not None]
    return max(known, key=lambda row: row["frequency"] or 0.0)["category"] if known else None


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
                "axis": {"labelAngle": 0, "ticks": False, "labelOverlap": True},
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
    words = replace(chart.words, title=say("Too noisy to tell"))
    return replace(chart, words=words, sentence=say(TOO_NOISY_WORDS))


def told(chart: Chart, title: str, question: str, *foot: str) -> Chart:
    """Return a chart with what is said around it; one that is too noisy to tell says so first."""
    noisy = chart.words.title
    if noisy and noisy.lower() not in title.lower():
        title = noisy
    return replace(chart, words=Words(title=title, question=question, foot=foot))


def alone(chart: Chart, *, for_png: bool = False) -> dict[str, object]:
    """Return a specification that stands alone: in light colours, with its words around it."""
    coloured = with_light_colours(chart.specification)
    if for_png:  # the picture has the drawing process's fonts
        config = json.loads(json.dumps(coloured["config"]).replace(MEASURED, "sans-serif"))
        coloured["config"] = config
    ink, soft = LIGHT["var(--ink)"], LIGHT["var(--soft)"]
    words = chart.words if chart.words.title else replace(chart.words, title=chart.sentence)
    return with_words(coloured, words, ink=ink, soft=soft)


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
    plain = _TITLES.sub(r"\1", _ROLES.sub(r"\1", svg))
    return plain.replace(f'font-family="{MEASURED}"', f'font-family="{SHOWN}"')


def line_of_no_difference(at: float, x: Specification) -> Specification:
    """Return the dashed line where what is compared is alike; `x` is the axis."""
    return {
        "mark": {"type": "rule", "color": "var(--ink)", "strokeDash": [5, 4]},
        "encoding": {"x": {"datum": at, **x}, "y": None},
    }


def interval_layers(
    x: Specification,
    line: Specification,
    arrow: Specification,
    dot: Specification | None = None,
    *,
    hollow: str,
) -> list[Specification]:
    """Return the layers of rows ``from``, ``to`` and ``value``, on the axis `x`.

    The interval is a `line`; where it has no end (``below``, ``above``) it ends in an arrow. The
    dot is hollow where the expression `hollow` holds.
    """
    end = {"type": "text", "fontSize": 13, "color": "var(--accent)", "font": "monospace"}
    start, stop = {"x": {"field": "from", **x}}, {"x": {"field": "to", **x}}
    return [
        {
            "mark": {"color": "var(--accent)", **line},
            "encoding": {**start, "x2": {"field": "to"}},
        },
        {
            "transform": [{"filter": "datum.below"}],
            "mark": {**end, "text": "◀", **arrow},
            "encoding": start,
        },
        {
            "transform": [{"filter": "datum.above"}],
            "mark": {**end, "text": "▶", **arrow},
            "encoding": stop,
        },
        {
            "transform": [{"filter": "isValid(datum.value)"}],
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, **(dot or {})},
            "encoding": {
                "x": {"field": "value", **x},
                "color": {
                    "condition": {"test": hollow, "value": "var(--ground)"},
                    "value": "var(--accent)",
                },
                "stroke": {"value": "var(--accent)"},
                "strokeWidth": {"value": 2},
            },
        },
    ]


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
            "text": {"font": MEASURED},
            "title": {"font": MEASURED, "subtitleFont": MEASURED},
            "legend": {
                **font,
                **colours,
                "titleFontWeight": 400,
                "symbolFillColor": "var(--accent)",
            },
        },
    }


def _percent_expression() -> str:
    """Return what writes a number of percent on a legend."""
    number = f"replace(format(100 * datum.value, '~g'), '.', '{in_marks('0.5')[1]}')"
    return f"{number} + '{percent_sign()}'"


def _full(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the whole name by label, of those that are cut."""
    return {label: name for name, label in labels.items() if label != name}


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"
