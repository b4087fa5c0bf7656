"""Methods in the plane of accuracy and unfairness, each with the trust that it asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from typing import Any, Final

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from hushpoll_lab.experiments.methods.method import NONE
from hushpoll_lab.experiments.results.summaries import CONFIDENCE, Summary

METRICS: Final[Mapping[str, str]] = {"accuracy": "accuracy", "SPD": "SPD", "EOD": "EOD"}
LOCAL: Final = "any two answers of one person to the perturbed attributes"
_COLOURS: Final = (
    *("#000000", "#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#999999"),
    *("#6A3D9A", "#8C564B"),
)
_MARKERS: Final = "*osD^vPXd<>"
"""One more than the colours: a method has a mark of its own until both have run out together."""


@dataclass(frozen=True, slots=True)
class MethodTrust:
    """A method with its means, and whom its respondents have to trust."""

    method: str
    protocol: str
    means: Mapping[str, Summary]
    """By name of `METRICS`."""
    seeds: int
    spent: str
    """Epsilon, and of what."""
    trusted: str
    """Who sees which answers."""
    neighbours: str
    """Between what epsilon hides the difference."""


def placed_methods(results: pd.DataFrame, configuration: Mapping[str, Any]) -> list[MethodTrust]:
    """Return the methods of an experiment, in the order of its experiment.json's settings."""
    placed = []
    for method in configuration["methods"]:
        rows = results[_rows_of(results, method)]
        if rows.empty:
            continue
        means = {name: Summary.of(rows[name]).of_all for name in METRICS}
        trust = _trust(method, rows.iloc[0])
        placed.append(MethodTrust(method["name"], method["protocol"], means, len(rows), *trust))
    return placed


def page(placed: Sequence[MethodTrust], name: str) -> str:
    """Return the methods as a page in Markdown, with the figure ``NAME.svg`` and a table."""
    lines = [
        f"# {name}",
        "",
        f"Written by `hushpoll experiment run {name}` and `hushpoll experiment trust`. Means over "
        f"seeds, with {CONFIDENCE:.0%} intervals of the mean.",
        "",
        f"![Accuracy against SPD of each method]({name}.svg)",
        "",
        "| method | seeds | accuracy | SPD | EOD | spent | who sees answers | neighbouring data |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for item in placed:
        name = item.method if item.protocol == NONE else f"{item.method}, {item.protocol}"
        cells = [name, str(item.seeds), *(str(item.means[metric]) for metric in METRICS)]
        lines.append(f"| {' | '.join([*cells, item.spent, item.trusted, item.neighbours])} |")
    return "\n".join([*lines, ""])


def draw_plane(placed: Sequence[MethodTrust], title: str) -> bytes:
    """Draw accuracy against SPD as SVG; a cross of 95 % intervals for each method and protocol.

    The bytes are the same for the same means. A method's mark is the group
    ``method:NAME:PROTOCOL``.
    """
    names = list(dict.fromkeys(item.method for item in placed))
    style = dict(zip(names, zip(cycle(_COLOURS), cycle(_MARKERS), strict=False), strict=False))
    with matplotlib.rc_context(
        {"font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "hushpoll"}
    ):
        figure = Figure(figsize=(7, 4.6), layout="constrained")
        axes = figure.subplots()
        for item in placed:
            colour, marker = style[item.method]
            axes.errorbar(
                item.means["SPD"].mean,
                item.means["accuracy"].mean,
                xerr=item.means["SPD"].half,
                yerr=item.means["accuracy"].half,
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=0.8,
                label=item.method if item is _first(placed, item.method) else None,
                gid=f"method:{item.method}:{item.protocol}",
            )
        axes.axvline(0, color="black", linewidth=0.5, linestyle=":")
        axes.set_xlabel("SPD = P1 - P0, alike at 0")
        axes.set_ylabel("accuracy")
        axes.set_title(title)
        axes.grid(alpha=0.25, linewidth=0.5)
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        svg = BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return svg.getvalue()


def _rows_of(results: pd.DataFrame, method: Mapping[str, Any]) -> pd.Series[bool]:
    """Tell which rows are of a method, and not of its name with another protocol or epsilon."""
    chosen: pd.Series[bool] = (
        (results["method"] == method["name"])
        & (results["protocol"] == method["protocol"])
        & (results["local_epsilon"] == float(method["epsilon"]))
    )
    # Results claim no central epsilon without noise, nor for perturbed records; and six digits.
    claims = method["protocol"] == NONE and not method.get("noiseless", False)
    if claims and method["privacy"]["kind"] != "none":
        chosen &= results["epsilon"] == float(f"{method['privacy']['epsilon']:.6g}")
    return chosen


def _first(placed: Sequence[MethodTrust], method: str) -> MethodTrust:
    return next(item for item in placed if item.method == method)


def _trust(method: Mapping[str, Any], row: Any) -> tuple[str, str, str]:
    """Return what a method spends, who sees answers, and its neighbouring data."""
    claim, parity = method["privacy"], method["learner"].endswith("-parity")
    asks = parity or method["learner"].endswith("-thresholds")
    asked = "; the person who predicts sees each group" if asks else ""
    if method["protocol"] != NONE:
        spent, seen = f"ε {method['epsilon']} of each person, locally", "nobody the perturbed ones"
        if not parity:
            return spent, f"{seen}; the server the others{asked}", LOCAL
        share = method["params"]["held_out"]
        return (
            f"{spent}; ε {row['epsilon']:g} for the people of the rates",
            f"{seen}; the server the others; a curator all of those {share:.0%} of the people whom "
            f"the rates need{asked}",
            f"{LOCAL}; of the rates, one row that is replaced",
        )
    if math.isinf(row["epsilon"]):
        return "nothing", f"a curator, and the model tells its readers without a limit{asked}", "-"
    delta = f", δ {row['delta']:g}" if row["delta"] else ""
    return (
        f"ε {row['epsilon']:g}{delta} of the model, centrally",
        f"a curator all; readers of the model learn at most ε{asked}",
        claim["neighbours"] or "not stated",
    )
