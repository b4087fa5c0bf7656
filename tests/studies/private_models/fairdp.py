"""FairDP beside its paper (Tran et al.): from its experiments to a page and figures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from hushpoll_lab.certificates.fairdp import EVENTS, monte_carlo_error
from hushpoll_lab.datasets.clear.registry import ClearSource

FAIRDP = "FairDP"
NOTIONS = ("demographic_parity", "equal_opportunity", "equalized_odds")
TITLES = {"adult": "Adult", "credit-card": "Credit Card", "abalone": "Abalone"}
DATASETS = {"adult": "adult-published", "credit-card": "credit-card", "abalone": "abalone"}
SEVERAL = "adult-several"
TEST_SHARE = 0.2
METHODS = "fairdp-methods.csv"

# Table 3: by data and epsilon, the difference on the test rows and tau_emp of each notion.
TABLE_3: Mapping[str, Mapping[float, tuple[tuple[float, float], ...]]] = {
    "adult": {
        0.5: ((0.0694, 0.0706), (0.057, 0.086), (0.0345, 0.045)),
        1.1: ((0.0696, 0.0703), (0.057, 0.078), (0.0344, 0.041)),
        2.0: ((0.0742, 0.075), (0.057, 0.085), (0.0346, 0.045)),
    },
    "credit-card": {
        1.0: ((0.0027, 0.0022), (0.002, 0.004), (0.0012, 0.0027)),
        2.5: ((0.004, 0.0037), (0.005, 0.0073), (0.0041, 0.0044)),
        5.0: ((0.0051, 0.0053), (0.007, 0.021), (0.012, 0.024)),
    },
    "abalone": {
        0.5: ((0.209, 0.215), (0.192, 0.186), (0.176, 0.182)),
        0.9: ((0.275, 0.341), (0.224, 0.238), (0.237, 0.283)),
        2.0: ((0.276, 0.296), (0.212, 0.183), (0.228, 0.239)),
    },
}
TABLE_4 = {
    "adult": (0.0092, 0.023, 0.016),
    "credit-card": (0.01, 0.022, 0.016),
    "abalone": (0.05, 0.063, 0.078),
}
# Table 2: AUC, differences of the three notions, and tau; without privacy, and by rising epsilon.
TABLE_2 = (
    ("without privacy", 0.91, 0.41, 0.034, 0.03, math.nan),
    ("lowest ε", 0.46, 0.08, 0.008, 0.01, 0.13),
    ("second", 0.62, 0.06, 0.008, 0.01, 0.34),
    ("third", 0.72, 0.14, 0.014, 0.019, 0.41),
    ("highest ε", 0.74, 0.18, 0.032, 0.025, 0.46),
)
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9"),
    *("#000000", "#999999"),
)
BASELINES = "-baselines"
"""A run's folder has this after its name if it holds other methods on the same data and seeds."""
NEAR = 0.02
"""How far tau_emp on the training rows may be from the difference on the test rows."""

Cell = Mapping[str, Any]


def read(folder: Path) -> list[dict[str, Any]]:
    """Return what the pages need of each finished cell of an experiment and of its baselines."""
    lines = (folder / "cells.jsonl").read_text(encoding="utf-8").splitlines()
    baselines = folder.with_name(folder.name + BASELINES) / "cells.jsonl"
    if baselines.is_file():
        lines += baselines.read_text(encoding="utf-8").splitlines()
    cells = []
    for line in lines:
        cell = json.loads(line)
        if "metrics" not in cell:
            continue
        known = {
            name: value for name, value in cell["metrics"].items() if not isinstance(value, Mapping)
        }
        row: dict[str, Any] = {
            "method": cell["method"],
            "epsilon": float(cell["epsilon"]),
            "seed": cell["seed"],
            **{
                name: round(known[name], 6)
                for name in ("accuracy", "balanced_acc", "roc_auc", "positive_rate", "parity_gap")
                if name in known
            },
        }
        if all(name in known for name in ("TPR1", "TPR0", "FPR1", "FPR0")):
            row["equal_opportunity"] = round(abs(known["TPR1"] - known["TPR0"]), 6)
            false = abs(known["FPR1"] - known["FPR0"])
            row["equalized_odds"] = round(max(row["equal_opportunity"], false), 6)
        for part, figures in cell.get("certificates", {}).items():
            row |= {f"{part}_{name}": round(value, 6) for name, value in figures.items()}
        cells.append(row)
    return sorted(cells, key=lambda row: (row["method"], row["epsilon"], row["seed"]))


def sizes(name: str, data: Path) -> dict[str, list[int]]:
    """Return the rows of each group under each notion, in a test part of a fifth."""
    rows = ClearSource(name=DATASETS[name], data=data).load()
    label, group = rows.codes[rows.target], rows.codes[rows.protected]
    counted = {}
    for notion, labels in EVENTS.items():
        smallest = [
            [
                round(TEST_SHARE * int(((group == number) & (label == wanted)).sum()))
                if wanted is not None
                else round(TEST_SHARE * int((group == number).sum()))
                for number in range(2)
            ]
            for wanted in labels
        ]
        counted[notion] = min(smallest, key=min)
    return counted


def page(results: Mapping[str, Any]) -> str:
    """Write the page of ``fairdp.json``."""
    lines = [
        _prose("head"),
        *_worst_case(results["two-groups"]),
        *_table_3(results),
        *_table_4(results),
    ]
    return "\n".join([*lines, *_several(results), *_trade_offs(results), "", _prose("notes")])


def draw(name: str, cells: Sequence[Cell]) -> bytes:
    """Draw the trade-off of accuracy and demographic parity as SVG, a line for each method."""
    with matplotlib.rc_context(
        {"font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "hushpoll"}
    ):
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        panel = figure.subplots()
        colours = cycle(COLOURS)
        for method in dict.fromkeys(cell["method"] for cell in cells):
            groups = [group for key, group in _grouped(cells) if key[0] == method]
            across = [_mean(group, "accuracy") for group in groups]
            up = [_mean(group, "parity_gap") for group in groups]
            panel.errorbar(
                [mean for mean, _ in across], [mean for mean, _ in up],
                xerr=[1.96 * error for _, error in across],
                yerr=[1.96 * error for _, error in up],
                marker="o", markersize=4, linewidth=1, label=method, color=next(colours),
            )  # fmt: skip
            for (x, _), (y, _), group in zip(across, up, groups, strict=True):
                if math.isfinite(group[0]["epsilon"]):
                    panel.annotate(f"ε {group[0]['epsilon']:g}", (x, y), (3, 3),
                                   textcoords="offset points", fontsize=6)  # fmt: skip
        panel.set_xlabel("accuracy on test rows, higher is better")
        panel.set_ylabel("demographic parity difference")
        panel.set_title(TITLES[name])
        panel.legend(frameon=False)
        buffer = BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()


def _worst_case(cells: Sequence[Cell]) -> Iterator[str]:
    yield "\n## Table 2: the worst-case certificate on drawn rows\n"
    yield "| | ε | runs | ROC AUC | balanced accuracy | ΔDP | ΔEqOpp | ΔEqOdd | τ of (8) |"
    yield "|---|---|---|---|---|---|---|---|---|"
    names = ("roc_auc", "balanced_acc", "parity_gap", "equal_opportunity", "equalized_odds")
    for (method, epsilon), group in _grouped(cells):
        tau = _text(group, "train_tau_worst_case") if method == FAIRDP else "none"
        shown = f"{epsilon:g}" if math.isfinite(epsilon) else "none"
        values = " | ".join(_text(group, name) for name in names)
        yield f"| ours, {method} | {shown} | {len(group)} | {values} | {tau} |"
    for name, auc, *gaps, tau in TABLE_2:
        shown = " | ".join(f"{gap:g}" for gap in gaps)
        bound = f"{tau:g}" if math.isfinite(tau) else "none"
        yield f"| paper, {name} | | | {auc:g} | | {shown} | {bound} |"


def _table_3(results: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Table 3: τ_emp on training rows, and differences on test rows\n"
    yield (
        "| data | ε | runs | notion | ours: Δ | τ_emp | paper: Δ | τ_emp | Δ of the published "
        "network within .02 of τ_emp | Δ on average over the noise, less τ_emp (runs beyond 2.58 "
        "errors) |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name in _present(results):
        for (method, epsilon), group in _grouped(results[name]):
            if method != FAIRDP:
                continue
            for place, notion in enumerate(NOTIONS):
                printed = TABLE_3[name].get(epsilon)
                paper = "| " if printed is None else "{:g} | {:g}".format(*printed[place])
                measured = "parity_gap" if notion == "demographic_parity" else notion
                near = [abs(row[measured] - row[f"train_tau_{notion}"]) <= NEAR for row in group]
                judged = _excess(group) if place == 0 else ""
                yield (
                    f"| {TITLES[name]} | {epsilon:g} | {len(group)} | {notion.replace('_', ' ')} | "
                    f"{_text(group, measured)} | {_text(group, f'train_tau_{notion}')} | {paper} | "
                    f"{sum(near)} of {len(near)} | {judged} |"
                )


def _excess(group: Sequence[Cell]) -> str:
    """Say by how much tau on the test rows exceeds that on the training rows."""
    excess = [
        {
            "excess": row["test_tau_demographic_parity"] - row["train_tau_demographic_parity"],
            "error": math.hypot(
                row["test_tau_demographic_parity_error"], row["train_tau_demographic_parity_error"]
            ),
        }
        for row in group
    ]
    beyond = sum(row["excess"] > 2.58 * row["error"] for row in excess)
    return f"{_text(excess, 'excess')} ({beyond} of {len(excess)})"


def _table_4(results: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Table 4: what (32) adds for finite rows, one model\n"
    named = " | ".join(f"{notion.replace('_', ' ')}: ours | paper" for notion in NOTIONS)
    yield f"| data | {named} |"
    yield "|---|---|---|---|---|---|---|"
    for name in _present(results):
        errors = [monte_carlo_error(results["sizes"][name][notion], 1) for notion in NOTIONS]
        pairs = zip(errors, TABLE_4[name], strict=True)
        yield f"| {TITLES[name]} | " + " | ".join(f"{our:.4f} | {p:g}" for our, p in pairs) + " |"


def _several(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the certificates of FairDP with several protected attributes on Adult."""
    if SEVERAL not in results:
        return
    yield "\n## Several protected attributes: sex and race on Adult\n"
    yield (
        "| groups | ε | runs | τ_emp for demographic parity, training rows | the same average on "
        "test rows | accuracy | balanced accuracy |"
    )
    yield "|---|---|---|---|---|---|---|"
    parts = {
        "all ten combinations": "tau_demographic_parity",
        "sex": "tau_demographic_parity_protected",
        "race": "tau_demographic_parity_race",
    }
    for (_, epsilon), group in _grouped(results[SEVERAL]):
        utility = " | ".join(_text(group, name) for name in ("accuracy", "balanced_acc"))
        for title, name in parts.items():
            taus = " | ".join(_text(group, f"{part}_{name}") for part in ("train", "test"))
            yield f"| {title} | {epsilon:g} | {len(group)} | {taus} | {utility} |"


def _trade_offs(results: Mapping[str, Any]) -> Iterator[str]:
    yield "\n## Figs. 3 and 6: accuracy and demographic parity\n"
    for name in _present(results):
        yield f"![{TITLES[name]}: accuracy and difference of every method](fairdp-{name}.svg)\n"
    yield (
        f"With each data set's middle ε: [{METHODS}](study/{METHODS}) has every method's figures; "
        "[fairdp.json](fairdp.json) has every run."
    )


def methods(results: Mapping[str, Any]) -> str:
    """Write the figures of every method, with each data set's middle epsilon, as CSV."""
    names = ("accuracy", "balanced_acc", "roc_auc", "positive_rate", "parity_gap")
    lines = [
        "data,method,epsilon,runs,accuracy,balanced accuracy,ROC AUC,share positive,"
        "difference of demographic parity"
    ]
    for name in _present(results):
        middle = sorted(TABLE_3[name])[1]
        for (method, epsilon), group in _grouped(results[name]):
            if epsilon == middle or math.isinf(epsilon):
                shown = f"{epsilon:g}" if math.isfinite(epsilon) else "none"
                values = ",".join(_text(group, metric) for metric in names)
                lines.append(f"{TITLES[name]},{method},{shown},{len(group)},{values}")
    return "\n".join(lines) + "\n"


def _present(results: Mapping[str, Any]) -> list[str]:
    return [name for name in TITLES if results.get(name)]


def _grouped(cells: Sequence[Cell]) -> list[tuple[tuple[str, float], list[Cell]]]:
    groups: dict[tuple[str, float], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell["method"], cell["epsilon"]), []).append(cell)
    return list(groups.items())


def _mean(group: Sequence[Cell], name: str) -> tuple[float, float]:
    """Return mean and standard error."""
    values = np.array([row[name] for row in group if name in row])
    error = float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else 0.0
    return float(values.mean()) if values.size else math.nan, error


def _text(group: Sequence[Cell], name: str) -> str:
    mean, error = _mean(group, name)
    return f"{mean:.4f} ± {error:.4f}"


def _prose(name: str) -> str:
    path = Path(__file__).with_name(f"fairdp-{name}.md")
    return path.read_text(encoding="utf-8").rstrip()
