"""The HTML report of an experiment: one file with figures, tables and how to read them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from hushpoll_lab.experiments.results.figures import FAIR, PANELS, Drawing
from hushpoll_lab.experiments.results.summaries import Curves, Summary
from hushpoll_shared.group_metrics import UTILITY_LABELS
from hushpoll_training.reports.pages import render
from hushpoll_training.runs.cell import BASELINE

_TITLES: Final = {"fairness": "Fairness", "utility": "Utility"}


def html_report(
    curves: Curves,
    drawings: Mapping[str, Drawing],
    description: Mapping[str, Any] | None,
    *,
    beside: Curves | None = None,
    beside_name: str = "beside",
) -> str:
    """Return the report with drawings by family; another run `beside` has a table of its own."""
    settings = {} if description is None else description.get("configuration", {})
    runs = {"": curves} if beside is None else {"": curves, f", {beside_name}": beside}
    fair = ", ".join(f"{name} is {value:g}" for name, value in FAIR.items())
    families = [
        {
            "title": title,
            "image": base64.b64encode(drawings[family].svg).decode(),
            "fair": fair if family == "fairness" else None,
            "labels": [UTILITY_LABELS.get(metric, metric) for metric in PANELS[family]],
            "tables": [
                {"title": f"{title}{name}", "rows": _rows(run, PANELS[family])}
                for name, run in runs.items()
            ],
        }
        for family, title in _TITLES.items()
    ]
    return render(
        "experiment.html",
        f"Experiment {settings.get('name', 'experiment')}",
        summary=_summary(curves),
        families=families,
        beside_name=None if beside is None else beside_name,
        description=None
        if description is None
        else json.dumps(description, indent=2, ensure_ascii=False),
    )


def _summary(curves: Curves) -> str:
    seeds = {one.seeds or 0 for cell in curves.summaries.values() for one in cell.values()}
    runs = f"{min(seeds)}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
    return (
        f"{len(curves.protocols)} protocols, {len(curves.splits)} ways to split the budget, "
        f"{len(curves.epsilons)} epsilons, {runs} seeds each. Models are fitted to randomised "
        "answers and tested on other people's in clear; the dashed line is NonDP, fitted to the "
        "same people's answers in clear. Bands and ± are 95 % intervals of the mean over seeds "
        "(Student's t): of this data, split and randomised anew, not of other populations."
    )


def _rows(curves: Curves, metrics: Sequence[str]) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield protocol, split, epsilon and the means; the baseline comes first."""
    keys = [
        (BASELINE, "none", math.inf),
        *(
            (protocol, split, epsilon)
            for split, protocol, epsilon in product(
                curves.splits, curves.protocols, curves.epsilons
            )
        ),
    ]
    for protocol, split, epsilon in keys:
        points = [curves.get(protocol, split, epsilon, metric) for metric in metrics]
        if any(point is not None for point in points):
            yield protocol, split, f"{epsilon:g}", [_cell(point) for point in points]


def _cell(point: Summary | None) -> str:
    if point is None:
        return "not run"
    if not point.runs:
        return "undefined"
    text = f"{point.mean:.4f}"
    if point.half is not None:
        text += f" ± {point.half:.4f}"
    undefined = (point.seeds or point.runs) - point.runs
    if undefined:
        text += f" (of {point.runs} seeds; undefined in {undefined})"
    return text
