"""The Vega-Lite specification of a regression's slopes: odds ratios on a log scale, or slopes.

The picture is narrow enough for a phone, so each slope's name stands above its interval. An
interval without an end reaches to the edge of the picture and ends there in an arrow; a slope that
is too noisy to tell has a hollow dot.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from hushpoll_server.charts.figures import level
from hushpoll_server.charts.labels import short_labels
from hushpoll_server.charts.rows import Specification
from hushpoll_server.charts.specifications import (
    MEASURED,
    MOST_ROWS,
    Chart,
    as_too_noisy,
    base,
    interval_layers,
    line_of_no_difference,
)
from hushpoll_server.translations.speech import in_quotes, say, whole
from hushpoll_shared.qualifying.verdict import TOO_NOISY
from hushpoll_shared.spelling.text import isolated
from hushpoll_shared.wire.documents.regressions import (
    CoefficientDocument,
    RegressionDocument,
    Slope,
)

WIDTH: Final = 296
STEP: Final = 44
TITLE_CHARACTERS: Final = 37
LABEL_CHARACTERS: Final = 40
QUESTION_CHARACTERS: Final = 24
NO_QUESTIONS: Final[Mapping[str, str]] = {}
# An odds ratio has no largest value: beyond these the picture is cut, and the table goes on.
FARTHEST: Final = 4.0
_TICKS: Final = tuple(one * ten for ten in (0.01, 0.1, 1, 10) for one in (1, 2, 5))
_FINE: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5, 3)
_MOST_TICKS: Final = 8
READ_RATIOS: Final = (
    "{finding}. Each dot is an odds ratio with its {level} interval, of {number} reports; the "
    "dashed line is where it makes no difference. What is said to depend has an interval that "
    "leaves the line out where the intervals of all slopes hold together."
)
READ_SLOPES: Final = (
    "{finding}. Each dot is a slope with its {level} interval, of {number} reports; the dashed "
    "line is where it makes no difference. What is said to depend has an interval that leaves the "
    "line out where the intervals of all slopes hold together."
)


def slopes_of(
    document: RegressionDocument, questions: Mapping[str, str] = NO_QUESTIONS
) -> list[Slope]:
    """Return the slopes of a regression, each with its ``label``, in the words of `questions`."""
    names = [one for one in document["coefficients"] if one.get("compares")]
    return [{**one, "label": label_of(one, questions)} for one in names]


def label_of(coefficient: CoefficientDocument, questions: Mapping[str, str] = NO_QUESTIONS) -> str:
    """Return what a slope compares, such as ``gender: Female / Male``."""
    parts = []
    for part in coefficient.get("compares", ()):
        asked = questions.get(part["predictor"], part["predictor"])
        if part["category"] is None:
            parts.append(say("{question}, one more", question=asked))
        elif part["reference"] is None:
            parts.append(f"{asked}: {part['category']}")
        else:
            parts.append(f"{asked}: {part['category']} / {part['reference']}")
    label = " × ".join(parts)
    of = coefficient["category"]
    return label if of is None else f"{of}: {label}"


def finding_of(document: RegressionDocument, questions: Mapping[str, str] = NO_QUESTIONS) -> str:
    """Return the finding: on which predictors the outcome depends, all intervals together."""
    outcome = _called(document["outcome"]["name"], questions)
    if document["verdict"]["says"] == TOO_NOISY:
        return say("Too noisy to tell on what {outcome} depends", outcome=outcome)
    noisy = set(document["verdict"]["too_noisy"])
    told = [one for one in slopes_of(document) if one["name"] not in noisy]
    found: dict[str, None] = {}
    for one in told:
        low, high = one["simultaneous_lower"], one["simultaneous_upper"]
        if (low is not None and low > 0) or (high is not None and high < 0):
            found.update(dict.fromkeys(part["predictor"] for part in one.get("compares", ())))
    if not found:
        return say(
            "These answers do not tell that {outcome} depends on any of them", outcome=outcome
        )
    named = [_called(name, questions) for name in found]
    words = say(" and ").join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return say(
        "{outcome} depends on {predictors}, other things equal", outcome=outcome, predictors=words
    )


def _called(name: str, questions: Mapping[str, str]) -> str:
    """Return what a sentence calls a variable: its question in quotes, or its name."""
    text = questions.get(name, name)
    return name if text == name else in_quotes(text)


def regression_chart(
    document: RegressionDocument, questions: Mapping[str, str] = NO_QUESTIONS
) -> Chart:
    """Return the chart of a regression's slopes, at least one, with their intervals.

    Long questions are cut in it, so that the answers can be read.
    """
    called = short_labels(list(dict.fromkeys(questions.values())), QUESTION_CHARACTERS)
    slopes = slopes_of(document, {name: called[text] for name, text in questions.items()})
    ratios = bool(document["outcome"]["categories"])
    drawn = slopes[:MOST_ROWS]
    unique = list(dict.fromkeys(one["label"] for one in drawn))
    labels = short_labels(unique, LABEL_CHARACTERS)
    low, high = _domain(drawn, ratios=ratios)
    noisy = set(document["verdict"]["too_noisy"])
    values = []
    for place, one in enumerate(drawn):
        ends = one["lower"], one["upper"]
        values.append(
            {
                "place": place,
                "label": labels[one["label"]],
                "from": _shown(low if ends[0] is None else _within(ends[0], low, high), ratios),
                "to": _shown(high if ends[1] is None else _within(ends[1], low, high), ratios),
                **_value(one["estimate"], low, high, ratios),
                "below": ends[0] is None or ends[0] < low,
                "above": ends[1] is None or ends[1] > high,
                "noisy": one["name"] in noisy,
            }
        )
    finding = finding_of(document, questions)
    told = {
        "level": level(document["confidence"]),
        "number": whole(document["n"]),
    }
    scale = say("odds ratios, log scale") if ratios else say("slopes")
    about = say("n = {number}; {level} intervals; {scale}", scale=scale, **told)
    sentence = say(READ_RATIOS if ratios else READ_SLOPES, finding=isolated(finding), **told)
    specification = base(values) | {
        "title": {
            "text": textwrap.wrap(finding, TITLE_CHARACTERS),
            "subtitle": textwrap.wrap(about, TITLE_CHARACTERS),
            "anchor": "start",
            "color": "var(--ink)",
            "subtitleColor": "var(--soft)",
            "font": MEASURED,
            "subtitleFont": MEASURED,
            "fontSize": 13,
            "subtitleFontSize": 13,
            "offset": 14,
        },
        "width": WIDTH,
        "height": {"step": STEP},
        "padding": {"left": 8, "top": 5, "bottom": 5, "right": 14},
        "encoding": {
            "y": {"field": "place", "type": "ordinal", "sort": None, "axis": None},
        },
        "layer": _layers(low, high, ratios=ratios),
    }
    full = {label: name for name, label in labels.items() if label != name}
    chart = Chart(specification, sentence, len(drawn), len(slopes), full)
    return as_too_noisy(chart) if document["verdict"]["says"] == TOO_NOISY else chart


def _layers(low: float, high: float, *, ratios: bool) -> list[Specification]:
    ends = [_shown(low, ratios), _shown(high, ratios)]
    scale: dict[str, object] = {"domain": ends, "nice": False}
    axis: dict[str, object] = {
        "tickCount": 5,
        "format": "~g" if ratios else ",~r",
        "labelFlush": True,
    }
    if ratios:
        scale["type"] = "log"
        fine, coarse = (
            [one for one in ticks if ends[0] <= one <= ends[1]] for ticks in (_FINE, _TICKS)
        )
        axis["values"] = fine if len(coarse) < 4 and len(fine) <= _MOST_TICKS else coarse
    x = {"type": "quantitative", "title": None, "scale": scale, "axis": axis}
    name: dict[str, object] = {"type": "text", "align": "left", "dy": -13, "fontSize": 12}
    name |= {"font": MEASURED, "color": "var(--ink)"}
    named = {"x": {"value": 0}, "text": {"field": "label"}}
    halo = {**name, "color": "var(--ground)", "stroke": "var(--ground)", "strokeWidth": 5}
    return [
        line_of_no_difference(1 if ratios else 0, x),
        # the line of no difference stands behind the names
        {"mark": halo, "encoding": named},
        {"mark": name, "encoding": named},
        *interval_layers(
            x,
            {"type": "rule", "strokeWidth": 3, "yOffset": 6},
            {"dy": 6},
            {"yOffset": 6},
            hollow="datum.noisy",
        ),
    ]


def _domain(rows: Sequence[Slope], *, ratios: bool) -> tuple[float, float]:
    """Return the slopes between which most of all lies, 0 within."""
    ends = [0.0]
    for row in rows:
        found = (row["estimate"], row["lower"], row["upper"])
        ends += [one for one in found if one is not None]
    low, high = min(ends), max(ends)
    if ratios:
        low, high = max(low, -FARTHEST), min(high, FARTHEST)
    edge = 0.05 * (high - low) or 0.5
    return low - edge, high + edge


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _shown(value: float, ratios: bool) -> float:
    return math.exp(value) if ratios else value


def _value(estimate: float | None, low: float, high: float, ratios: bool) -> dict[str, float]:
    if estimate is None or not low <= estimate <= high:
        return {}
    return {"value": _shown(estimate, ratios)}
