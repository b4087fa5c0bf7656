"""The page of what Mangold et al. prove, from the results of the studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from studies.private_models.table import NOTIONS, PAPER

Row = Mapping[str, Any]


def page(theorem: Sequence[Row], table: Sequence[Row], figures: Mapping[str, Row]) -> str:
    """Write the page of ``private-bounds.json``, ``private-table.json`` and the figures' points."""
    lines = [_prose("head"), "\n## Theorem 4.4: how often the bounds hold\n"]
    lines += [
        "| data | training | δ | draws | held, from the best model | held, from the private one | "
        "at least | distance, certified | farthest drawn | largest change seen | bound | refined | "
        "refined over seen, most of 5 notions |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in theorem:
        parity = row["notions"]["demographic_parity"]
        ratio = widest(row)
        lines.append(
            f"| {row['data']} | {row['setting']} | {row['delta']:g} | {row['draws']} | "
            f"{row['held_from_best']} | "
            f"{row['held_from_private']} | {row['needed']} | {row['distance']:.4g} | "
            f"{row['farthest']:.4g} | {parity['seen']:.4f} | {parity['bound']:.4f} | "
            f"{parity['refined']:.4f} | {'nothing moved' if ratio is None else f'{ratio:.2f}'} |"
        )
    lines += [
        "",
        _prose("explained"),
        "\n## Table 1: bounds with 99 % probability, ε = 1, δ = 1 / n²\n",
    ]
    lines.append(f"| | {' | '.join(name.replace('_', ' ') for name in NOTIONS)} |")
    lines.append("|---|---|---|---|---|---|")
    for name, values in PAPER.items():
        lines.append(f"| paper: {name} | {' | '.join(f'{value:.4f}' for value in values)} |")
    for row in table:
        for way, words in (("paper", "the paper's way"), ("here", "ours")):
            values = " | ".join(f"{row['bounds'][way][name]:.4f}" for name in NOTIONS)
            constant = ", predicts one class" if row["positive"] in (0.0, 1.0) else ""
            lines.append(
                f"| {row['data']}: {row['rows']:,} rows, {row['dimension']} weights, penalty "
                f"{row['penalty']:g}{constant}, {words} | {values} |"
            )
    lines += ["", _prose("differences")]
    if figures:
        lines.append("\n## Fig. 1: along the rows and along ε\n")
    for name, figure in figures.items():
        lines.append(f"![{name}: levels and bounds](private-{name.lower()}.svg)\n")
        lines.append(f"{name}, penalty {figure['penalty']:g}: {_meaningful(figure)}\n")
    return "\n".join(lines) + "\n"


def widest(row: Row) -> float | None:
    """Return the largest ratio of the refined bound to what was seen; None if nothing moved."""
    ratios = [
        notion["refined"] / notion["seen"] for notion in row["notions"].values() if notion["seen"]
    ]
    return max(ratios) if ratios else None


def _meaningful(figure: Row, below: float = 0.1) -> str:
    """Say where the certified bound on equality of opportunity is below .1, and where above .5."""
    parts = []
    for axis, words in (("rows", "rows with ε = 1"), ("epsilon", "as ε with all rows")):
        bounds = {
            point[axis]: point["equal_opportunity"]["bounds"]["certified"] for point in figure[axis]
        }
        enough = [at for at, bound in bounds.items() if bound <= below]
        useless = [at for at, bound in bounds.items() if bound > 0.5]
        form = ",.0f" if axis == "rows" else ".2g"
        start = f"below {below:g} from {min(enough):{form}} {words}" if enough else "never below .1"
        parts.append(start + (f" (above .5 up to {max(useless):{form}})" if useless else ""))
    return f"the certified bound on equality of opportunity is {', and '.join(parts)}."


def _prose(name: str) -> str:
    path = Path(__file__).with_name(f"certificates-{name}.md")
    return path.read_text(encoding="utf-8").rstrip()
