"""The tables of `hushpoll demo`: truth beside estimates, and a model without and with LDP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from hushpoll_shared.group_metrics import METRICS

_UTILITY: Final = {
    "accuracy": "accuracy",
    "f1": "F1",
    "roc_auc": "ROC AUC",
    "balanced_acc": "balanced accuracy",
    "recall": "recall",
}
_FAIRNESS: Final = {
    name: f"{name}: {metric.title}, fair at {metric.fair:g}"
    for name, metric in METRICS.items()
    if metric.in_results
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One category's truth beside its estimate.

    Attributes
    ----------
    category : str
        The category.
    truth : float
        Its share of the population, exact, in [0, 1].
    estimate, lower, upper : float
        Unbiased estimate and 95 % interval.
    """

    category: str
    truth: float
    estimate: float
    lower: float
    upper: float

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.lower <= self.truth <= self.upper

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        return {
            "category": self.category,
            "truth": self.truth,
            "estimate": self.estimate,
            "lower": self.lower,
            "upper": self.upper,
            "covered": self.covered,
        }


def estimates_table(shown: str, comparisons: Mapping[str, Sequence[Comparison]]) -> str:
    """Lay out one attribute's categories, and count the intervals that cover, of it and of all."""
    rows = comparisons[shown]
    table = Table(title=f"{shown}: the truth, and what the randomised records say")
    table.add_column("category")
    for heading in ("truth", "estimate", "95 % interval", "covers"):
        table.add_column(heading, justify="right")
    for one in rows:
        table.add_row(
            one.category,
            f"{one.truth:.3f}",
            f"{one.estimate:.3f}",
            f"{one.lower:.3f} to {one.upper:.3f}",
            "yes" if one.covered else "no",
        )
    every = [one for several in comparisons.values() for one in several]
    return _rendered(
        table,
        f"{_covering(rows)} intervals cover the truth. Over all {len(comparisons)} randomised "
        f"attributes it is {_covering(every)}; 95 of 100 are expected.",
    )


def training_table(without: Mapping[str, Any], with_ldp: Mapping[str, Any], people: object) -> str:
    """Lay out utility and fairness of a model trained without and with LDP.

    Parameters
    ----------
    without, with_ldp : mapping
        Metrics by name; a value is a number, or says why there is none.
    people : object
        How many people in clear both were tested on.
    """
    table = Table(title=f"A model of income, tested on {people} people in clear")
    table.add_column("metric")
    table.add_column("without LDP", justify="right")
    table.add_column("with LDP", justify="right")
    for labels in (_UTILITY, _FAIRNESS):
        for name, label in labels.items():
            table.add_row(label, _number(without.get(name)), _number(with_ldp.get(name)))
        table.add_section()
    return _rendered(table)


def _covering(rows: Sequence[Comparison]) -> str:
    return f"{sum(one.covered for one in rows)} of {len(rows)}"


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "undefined"


def _rendered(*parts: Table | str) -> str:
    console = Console(width=96, color_system=None, highlight=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return capture.get().rstrip("\n")
