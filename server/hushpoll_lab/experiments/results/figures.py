"""The paper's panels (Figs. 2-7): a row per metric, a column per split, a line per protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hushpoll_lab.experiments.results.summaries import Curves
from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.group_metrics import METRICS, UTILITY_LABELS
from hushpoll_training.evaluation.metrics import FAIRNESS, UTILITY

PANELS: Final[Mapping[str, tuple[str, ...]]] = {"fairness": FAIRNESS, "utility": UTILITY}
FAIR: Final[Mapping[str, float]] = {name: METRICS[name].fair for name in FAIRNESS}
"""Value of each fairness metric at which the groups are treated alike."""

# Okabe and Ito's palette, which colour-blind readers tell apart; markers do it in black and white.
# Protocols that are added take the same colours once more, with other markers.
_COLOURS: Final = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#56B4E9", "#CC79A7", "#999999")
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
_STYLES: Final[Mapping[str, tuple[str, str]]] = dict(
    zip(PROTOCOLS, zip(cycle(_COLOURS), cycle(_MARKERS), strict=False), strict=False)
)
_DOTS: Final = 150


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure, as SVG and as PNG."""

    svg: bytes
    png: bytes


def draw(
    curves: Curves, family: str, *, beside: Curves | None = None, name: str = "beside"
) -> Drawing:
    """Draw the panels of a family of metrics: the same bytes for the same curves.

    Another run `beside`, which the legend calls `name`, is dotted, in the same colours, without
    bands. In the SVG the line of a protocol is the group ``line:metric:split:protocol``, and that
    of the other run ``beside:metric:split:protocol``.
    """
    metrics = PANELS[family]
    # Text stays text, and the same curves give the same bytes.
    with matplotlib.rc_context(
        {"font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "hushpoll"}
    ):
        figure = Figure(
            figsize=(1.2 + 3.2 * len(curves.splits), 0.9 + 1.7 * len(metrics)), layout="constrained"
        )
        grid = figure.subplots(
            len(metrics), len(curves.splits), sharex=True, sharey="row", squeeze=False
        )
        for row, metric in enumerate(metrics):
            for column, split in enumerate(curves.splits):
                _panel(grid[row, column], curves, metric, split)
                if beside is not None:
                    for protocol in beside.protocols:
                        group = ("beside", metric, split, protocol)
                        _line(grid[row, column], beside, group, linestyle=":")
            grid[row, 0].set_ylabel(UTILITY_LABELS.get(metric, metric))
        for column, split in enumerate(curves.splits):
            grid[0, column].set_title(f"{split} split")
            grid[-1, column].set_xlabel("ε of one person")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        if beside is not None:
            handles = [*handles, Line2D([], [], color="black", linestyle=":", linewidth=1)]
            labels = [*labels, name]
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        svg, png = BytesIO(), BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None})
        figure.savefig(png, format="png", dpi=_DOTS)
    return Drawing(svg.getvalue(), png.getvalue())


def _panel(axes: Axes, curves: Curves, metric: str, split: str) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(curves.epsilons)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(alpha=0.25, linewidth=0.5)
    baseline = curves.baseline(metric)
    if baseline is not None:
        axes.axhline(
            baseline.mean,
            color="black",
            linestyle="--",
            linewidth=1,
            label="NonDP",
            gid=f"line:{metric}:{split}:NonDP",
        )
        if baseline.half is not None:
            low, high = baseline.mean - baseline.half, baseline.mean + baseline.half
            axes.axhspan(low, high, color="black", alpha=0.08, linewidth=0)
    for protocol in curves.protocols:
        colour, marker = _STYLES[protocol]
        points = _line(
            axes, curves, ("line", metric, split, protocol), label=protocol, marker=marker
        )
        banded = [
            (epsilon, mean - half, mean + half)
            for epsilon, mean, half in points
            if half is not None
        ]
        if banded:
            at, low_edge, high_edge = zip(*banded, strict=True)
            axes.fill_between(at, low_edge, high_edge, color=colour, alpha=0.15, linewidth=0)


def _line(
    axes: Axes, curves: Curves, name: tuple[str, str, str, str], **style: Any
) -> list[tuple[float, float, float | None]]:
    """Draw one line, named by kind, metric, split and protocol, and return its points."""
    _, metric, split, protocol = name
    points = curves.line(protocol, split, metric)
    axes.plot(
        [epsilon for epsilon, _, _ in points],
        [mean for _, mean, _ in points],
        color=_STYLES[protocol][0],
        markersize=3,
        linewidth=1,
        gid=":".join(name),
        **style,
    )
    return points
