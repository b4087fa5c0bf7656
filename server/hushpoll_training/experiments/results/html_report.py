"""One HTML file of an experiment: figures, tables, and how to read them; it loads nothing."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final

from hushpoll_training.experiments.results.curves import Curves, Point
from hushpoll_training.experiments.results.figures import FAIR, LABELS, PANELS, Drawing
from hushpoll_training.runs.cell import BASELINE

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0.5rem 0; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
pre { background: #f5f5f5; padding: 0.75rem; overflow-x: auto; }
"""
_TITLES: Final = {"fairness": "Fairness", "utility": "Utility"}


def html_report(
    curves: Curves,
    drawings: Mapping[str, Drawing],
    description: Mapping[str, Any] | None,
    *,
    beside: Curves | None = None,
    beside_name: str = "beside",
) -> str:
    """Return the report.

    Parameters
    ----------
    curves : Curves
        Means and intervals.
    drawings : mapping of str to Drawing
        By family.
    description : mapping or None
        What the experiment's folder says about it, if it was given.
    beside : Curves, optional
        Another run's, whose numbers get a table of their own.
    beside_name : str
        What it is called.
    """
    settings = {} if description is None else description.get("configuration", {})
    name = escape(str(settings.get("name", "experiment")))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # Whatever a results file holds, the page asks nobody for anything and runs nothing.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data:; style-src 'unsafe-inline'\">",
        f"<title>Experiment {name}</title><style>{_STYLE}</style></head><body>",
        f"<h1>Experiment {name}</h1>",
        f"<p>{_summary(curves)}</p>",
    ]
    for family, metrics in PANELS.items():
        parts.append(f"<h2>{_TITLES[family]}</h2>")
        image = base64.b64encode(drawings[family].svg).decode()
        parts.append(
            f'<p><img alt="{_TITLES[family]} by epsilon, one line a protocol; the table below has '
            f'its numbers" src="data:image/svg+xml;base64,{image}"></p>'
        )
        if family == "fairness":
            fair = ", ".join(f"{name} at {value:g}" for name, value in FAIR.items())
            parts.append(f"<p>Both groups are treated alike where {fair}.</p>")
        parts.append(_table(curves, metrics, _TITLES[family]))
        if beside is not None:
            parts.append(_table(beside, metrics, f"{_TITLES[family]}, {escape(beside_name)}"))
    if beside is not None:
        parts.append(
            f"<p>Dotted lines, and the second table of each kind, are {escape(beside_name)}: "
            "results of another run, beside these.</p>"
        )
    if description is not None:
        text = escape(json.dumps(description, indent=2, ensure_ascii=False))
        parts.append(f"<h2>Configuration</h2><pre>{text}</pre>")
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _summary(curves: Curves) -> str:
    seeds = {point.seeds for point in curves.points.values()}
    runs = f"{min(seeds)}" if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"
    return (
        f"{len(curves.protocols)} protocols, {len(curves.splits)} ways to split the budget, "
        f"{len(curves.epsilons)} epsilons, {runs} seeds each. Models are fitted to randomised "
        "answers and tested on other people's in clear; the dashed line is NonDP, fitted to the "
        "same people's answers in clear. Bands and ± are 95 % intervals of the mean over seeds "
        "(Student's t): of this data, split and randomised anew, not of other populations."
    )


def _table(curves: Curves, metrics: Iterable[str], title: str) -> str:
    metrics = tuple(metrics)
    heads = "".join(f'<th scope="col">{escape(LABELS.get(one, one))}</th>' for one in metrics)
    keys = [
        (BASELINE, "none", math.inf),
        *(
            (protocol, split, epsilon)
            for split in curves.splits
            for protocol in curves.protocols
            for epsilon in curves.epsilons
        ),
    ]
    rows = []
    for key in keys:
        points = [curves.points.get((*key, metric)) for metric in metrics]
        if all(point is None for point in points):
            continue
        cells = "".join(f"<td>{_cell(point)}</td>" for point in points)
        rows.append(
            f"<tr><td>{escape(key[0])}</td><td>{escape(key[1])}</td><td>{key[2]:g}</td>{cells}</tr>"
        )
    return (
        f'<div class="wide"><table><caption>{title}: mean over seeds ± half its 95 % interval'
        f'</caption><thead><tr><th scope="col">protocol</th><th scope="col">split</th>'
        f'<th scope="col">ε</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _cell(point: Point | None) -> str:
    if point is None:
        return "not run"
    if point.mean is None:
        return "undefined"
    text = f"{point.mean:.4f}"
    if point.half is not None:
        text += f" ± {point.half:.4f}"
    if point.n < point.seeds:
        text += f" (of {point.n} seeds; undefined in {point.seeds - point.n})"
    return text
