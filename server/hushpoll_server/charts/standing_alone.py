"""A chart as a file: bands drawn by Vega-Lite, and the words without which no picture stands alone.

The finding is its title and the question its subtitle; n, how intervals are read, and the source
stand at its foot. Nothing is rotated, and labels stand at what they name.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hushpoll_server.charts.bands import Bands
from hushpoll_server.charts.rows import Specification

WIDTH: Final = 620
PANEL_WIDTH: Final = 290
PANEL_COLUMNS: Final = 2
ROW: Final = 44
LABEL_SIZE: Final = 13
_TITLE: Final = (18, 58)
_SUBTITLE: Final = (14, 76)
_FOOT: Final = (11, 96)
_FOOT_LINE: Final = 15


@dataclass(frozen=True, slots=True)
class Words:
    """What is said around a picture."""

    title: str = ""
    """The finding."""
    question: str = ""
    """What was asked."""
    foot: tuple[str, ...] = ()
    """Sentences: n, how intervals are read, the source."""


def bands_layers(
    bands: Bands, values: Sequence[Mapping[str, object]], width: int
) -> dict[str, object]:
    """Return the part of a specification, `width` pixels wide, that draws bands by `values_of`."""
    y = {"field": "row", "type": "ordinal", "sort": None, "axis": None}
    ticks = [{"place": place, "words": words} for place, words in bands.ticks]
    x = {
        "type": "quantitative",
        "title": None,
        "axis": None,
        "scale": {"domain": [0, 100], "nice": False},
    }
    colour = {
        "condition": {"test": "datum.main", "value": "var(--accent)"},
        "value": "var(--soft)",
    }
    text = {"type": "text", "fontSize": LABEL_SIZE, "baseline": "middle", "yOffset": -11}
    rule = [] if bands.zero is None else [{"place": bands.zero}]
    known = [{"filter": "datum.known"}]
    ends = (("left", "datum.place <= 0"), ("right", "datum.place >= 100"),
            ("center", "datum.place > 0 && datum.place < 100"))  # fmt: skip
    return {
        "data": {"values": list(values)},
        "width": width,
        "height": ROW * len(values),
        "layer": [
            {
                "mark": {"type": "bar", "height": 2, "yOffset": 9, "color": "var(--empty)"},
                "encoding": {"y": y, "x": {"datum": 0, **x}, "x2": {"datum": 100}},
            },
            {
                "data": {"values": rule},
                "mark": {"type": "rule", "color": "var(--line)", "strokeWidth": 1},
                "encoding": {"x": {"field": "place", **x}},
            },
            {
                "transform": known,
                "mark": {
                    "type": "bar", "height": 10, "cornerRadius": 5, "yOffset": 9, "opacity": 0.32,
                },
                "encoding": {
                    "y": y, "x": {"field": "start", **x}, "x2": {"field": "end"}, "color": colour,
                },
            },
            {
                "transform": known,
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "yOffset": 9},
                "encoding": {"y": y, "x": {"field": "dot", **x}, "color": colour},
            },
            {
                "mark": {**text, "align": "left", "color": "var(--ink)", "limit": width - 160},
                "encoding": {"y": y, "x": {"value": 0}, "text": {"field": "label"}},
            },
            {
                "mark": {**text, "align": "right", "color": "var(--ink)", "fontWeight": 600},
                "encoding": {"y": y, "x": {"value": width}, "text": {"field": "words"}},
            },
            *(
                {
                    "data": {"values": ticks},
                    "transform": [{"filter": test}],
                    "mark": {
                        "type": "text", "fontSize": 11, "color": "var(--soft)", "align": align,
                        "baseline": "top",
                    },
                    "encoding": {
                        "x": {"field": "place", **x},
                        "y": {"value": ROW * len(values) + 2},
                        "text": {"field": "words"},
                    },
                }
                for align, test in ends
            ),
        ],
    }  # fmt: skip


def values_of(bands: Bands, labels: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the rows of bands as data, with short labels by label."""
    return [
        {
            "row": turn,
            "label": labels[row.label],
            "words": f"{row.figure} ({row.limits})" if row.limits else row.figure,
            "start": row.start,
            "end": row.start + row.width,
            "dot": row.dot,
            "main": row.main,
            "known": row.known,
        }
        for turn, row in enumerate(bands.rows)
    ]


def with_words(
    specification: Specification, words: Words, *, ink: str, soft: str
) -> dict[str, object]:
    """Return a specification whose picture has its title, its question and its foot.

    Its colours need no style sheet: no text of the data is taken for one.
    """
    whole = dict(specification)
    names: tuple[str, ...] = ("$schema", "config", "background")
    top: dict[str, object] = {key: whole.pop(key) for key in names if key in whole}
    padding = {"left": 16, "top": 16, "bottom": 12, "right": 24}
    whole.pop("padding", None)
    whole.pop("title", None)
    lines = [line for one in words.foot for line in textwrap.wrap(one, _FOOT[1])]
    data = whole.pop("data", None)
    foot = {
        "data": {"values": [{"line": turn, "words": line} for turn, line in enumerate(lines)]},
        "width": WIDTH,
        "height": _FOOT_LINE * len(lines),
        "mark": {
            "type": "text", "align": "left", "baseline": "top", "fontSize": _FOOT[0], "color": soft,
        },
        "encoding": {
            "x": {"value": 0},
            "y": {"field": "line", "type": "ordinal", "axis": None},
            "text": {"field": "words"},
        },
    }  # fmt: skip
    found: dict[str, object] = {
        **top,
        "padding": padding,
        "title": {
            "text": textwrap.wrap(words.title, _TITLE[1]) or [""],
            "subtitle": textwrap.wrap(words.question, _SUBTITLE[1]),
            "anchor": "start",
            "align": "left",
            "color": ink,
            "subtitleColor": soft,
            "fontSize": _TITLE[0],
            "subtitleFontSize": _SUBTITLE[0],
            "fontWeight": 600,
            "subtitlePadding": 4,
            "offset": 16,
        },
        "vconcat": [whole, foot] if lines else [whole],
        "spacing": 28,
        # What explains a part stands below that part.
        "resolve": {"legend": {"opacity": "independent"}},
    }
    if data is not None:
        found["data"] = data
    return found
