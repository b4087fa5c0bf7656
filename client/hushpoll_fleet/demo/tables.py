"""The tables of `hushpoll demo`: truth beside estimates, and a model without and with LDP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.group_metrics import METRICS, UTILITY_LABELS
from hushpoll_shared.spelling.json_values import JsonObject

_FAIRNESS: Final = {
    name: f"{name}: {metric.title}, fair at {metric.fair:g}"
    for name, metric in METRICS.items()
    if metric.in_results
}


def comparison(row: Mapping[str, Any], truth: float) -> dict[str, Any]:
    """Return a category's exact share of the population beside its estimate and 95 % interval."""
    return {
        "category": row["category"],
        "truth": truth,
        "estimate": row["frequency"],
        "lower": row["lower"],
        "upper": row["upper"],
        "covered": row["lower"] <= truth <= row["upper"],
    }


def estimates_table(shown: str, comparisons: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Lay out one attribute's comparisons, and count the intervals that cover, of it and of all."""
    table = _table(
        f"{shown}: the truth, and what the randomised records say",
        ("category", "truth", "estimate", "95 % interval", "covers"),
    )
    for row in comparisons[shown]:
        table.add_row(
            row["category"],
            f"{row['truth']:.3f}",
            f"{row['estimate']:.3f}",
            f"{row['lower']:.3f} to {row['upper']:.3f}",
            "yes" if row["covered"] else "no",
        )
    every = [row for rows in comparisons.values() for row in rows]
    return rendered(
        table,
        f"{_covering(comparisons[shown])} intervals cover the truth. Over all "
        f"{len(comparisons)} randomised attributes it is {_covering(every)}; 95 of 100 are "
        "expected.",
    )


def training_table(without: JsonObject, with_ldp: JsonObject, people: object) -> str:
    """Lay out utility and fairness of a model trained without and with LDP.

    Parameters
    ----------
    without, with_ldp : mapping
        Metrics by name; a value is a number, or says why there is none.
    people : object
        How many people in clear both were tested on.
    """
    table = _table(
        f"A model of income, tested on {people} people in clear",
        ("metric", "without LDP", "with LDP"),
    )
    for labels in (UTILITY_LABELS, _FAIRNESS):
        for name, label in labels.items():
            table.add_row(label, _number(without.get(name)), _number(with_ldp.get(name)))
        table.add_section()
    return rendered(table)


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title)
    for column, heading in enumerate(headings):
        table.add_column(heading, justify="right" if column else "left", no_wrap=column > 0)
    return table


def _covering(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(row['covered'] for row in rows)} of {len(rows)}"


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "undefined"
