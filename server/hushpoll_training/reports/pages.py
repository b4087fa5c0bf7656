"""Reports as HTML pages: no script, nothing loaded, readable without colours.

The texts are in the templates. Estimates with their intervals are drawn on one scale, a row per
label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from markupsafe import Markup

from hushpoll_analysis.html import TEMPLATES, style_sheet
from hushpoll_shared.group_metrics import METRICS, RATES, UTILITY_LABELS
from hushpoll_training.evaluation.documents import ReportDocument
from hushpoll_training.evaluation.metrics import FAIRNESS, UTILITY

_MODELS: Final = {"ldp": "this model", "baseline": "NonDP"}
_LABELS: Final = {**UTILITY_LABELS, "roc_auc": "ROC AUC of the scores"}


def fairness_page(title: str, introduction: str, reports: Sequence[ReportDocument]) -> str:
    """Return reports, as :meth:`FairnessReport.to_dict` gives them, as one page."""
    return _page("fairness.html", title, introduction=introduction, reports=reports)


def card_page(card: Mapping[str, Any]) -> str:
    """Return a model card (:func:`~.card.model_card`) as a page."""
    return _page(
        "card.html",
        f"Model card: {card['title']}",
        card=card,
        models=_MODELS,
        labels={**_LABELS, **{name: f"{name} = {_meaning(name)}" for name in FAIRNESS}},
        groupings=_groupings(card["fairness"] or {}),
        utility_drawing=_utility_drawing,
    )


def _page(template: str, title: str, **values: Any) -> str:
    return render(
        template,
        title,
        meaning=_meaning,
        rates=RATES,
        spreads={metric.spread: metric.spread_meaning for metric in METRICS.values()},
        comparisons_drawing=_comparisons_drawing,
        **values,
    )


def _meaning(name: str) -> str:
    metric = METRICS[name]
    return f"{metric.formula}, {metric.meaning}; alike at {metric.fair:g}"


def _groupings(fairness: Mapping[str, Any]) -> list[list[ReportDocument]]:
    """Return the reports of each grouping, of both models where they have the same groups."""
    ours = fairness.get("ldp") or []
    theirs = fairness.get("baseline") or [None] * len(ours)
    groupings = []
    for report, other in zip(ours, theirs, strict=True):
        # a cross-validated baseline is measured on the same rows, in the same groups
        same = other is not None and _groups(other) == _groups(report)
        groupings.append([report, other] if same else [report])
    return groupings


def _groups(report: ReportDocument) -> list[str]:
    return [group["group"] for group in report["groups"]]


def _utility_drawing(metrics: Mapping[str, Any], level: str) -> Forest | None:
    marks = []
    for metric in UTILITY:
        for model in _MODELS:
            value, interval = metrics[model][metric]["value"], metrics[model][metric]["interval"]
            if interval is not None and not isinstance(value, Mapping):
                limits = (interval["lower"], interval["upper"])
                marks.append(Mark(_LABELS[metric], model, value, *limits))
    return forest(f"Utility with {level}intervals, on a common scale", marks)


def _comparisons_drawing(metric: str, reports: Sequence[ReportDocument]) -> Forest | None:
    """Draw a metric of each group; the first report as circles, the second as squares."""
    marks = []
    for comparisons in zip(*(report["comparisons"] for report in reports), strict=True):
        for model, comparison in zip(_MODELS, comparisons, strict=False):
            result = comparison["metrics"][metric]
            if "withheld" not in result and result["closed_form"]["upper"] is not None:
                limits = (result["closed_form"]["lower"], result["closed_form"]["upper"])
                marks.append(Mark(comparison["group"], model, result["value"], *limits))
    level = f"{100 * reports[0]['confidence']:g} %"
    return forest(f"{metric} with {level} intervals", marks, fair=METRICS[metric].fair)


def render(template: str, title: str, **values: Any) -> str:
    """Return a template that extends ``report.html`` as HTML; values are escaped."""
    return _templates().get_template(template).render(title=title, **values)


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(__package__), FileSystemLoader(TEMPLATES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals["style_sheet"] = Markup(style_sheet())  # noqa: S704  # our own file
    templates.filters["thousands"] = "{:,}".format
    return templates


_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 760, 250, 30, 26, 8


@dataclass(frozen=True, slots=True)
class Mark:
    """One estimate, finite."""

    label: str
    """What its row is called; marks that follow each other with one label share the row."""
    kind: str
    """``ldp``, a filled circle, or ``baseline``, a square."""
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
    """What the template ``parts.html`` draws, in pixels."""

    title: str
    """Read aloud in place of the drawing, and followed by a table of the numbers."""
    ticks: tuple[tuple[float, str], ...]
    """Place and number of each line of the scale."""
    fair: float | None
    """Place of the dashed line."""
    rows: tuple[Row, ...]
    """From the top."""
    height: float
    """Of the drawing."""
    bottom: float
    """Of its scale."""
    width: float = _WIDTH
    """Of every drawing, as `left` and `top`."""
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
