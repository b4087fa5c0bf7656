"""Results of methods as a page and as CSV, beside the figures of a paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from hushpoll_lab.experiments.methods.run import METRICS
from hushpoll_lab.experiments.results.paper import (
    Beside,
    MethodPlace,
    MethodSummaries,
    by_method,
)
from hushpoll_lab.experiments.results.results import csv_text
from hushpoll_lab.experiments.results.summaries import Summary
from hushpoll_lab.experiments.results.tables import markdown_table, origin
from hushpoll_shared.spelling.json_values import JsonObject

SHOWN: Final = ("accuracy", "over_constant", "balanced_acc", "positive_rate", "parity_gap")
"""The metrics of the page; the CSV has those of the paper."""

NOT_RUN: Final = "not run"
_DIGITS: Final = 4


def beside_csv(tables: Mapping[str, Sequence[Beside]]) -> str:
    """Return a row per printed figure: the paper's, ours with its standard error, and limits."""
    header = (
        "table data method epsilon delta accountant metric paper ours standard_error trials "
        "difference within note"
    )
    rows = [
        [
            *(row.printed.table, row.printed.data, row.printed.method),
            *(f"{row.printed.epsilon:g}", f"{row.printed.delta:g}", row.printed.accountant),
            *(row.printed.metric, f"{row.printed.value:.{_DIGITS}f}"),
            *(("", "", 0, "") if row.ours is None else (
                f"{row.ours.mean:.5f}", _number(_error(row.ours), 5), row.ours.runs,
                f"{row.difference:+.5f}",
            )),
            {None: "", True: "yes", False: "no"}[row.within],
            row.printed.note,
        ]
        for rows in tables.values()
        for row in rows
    ]  # fmt: skip
    return csv_text(header.split(), rows)


def methods_csv(ours: MethodSummaries) -> str:
    """Return a row per method: trials, and mean and deviation of every metric."""
    columns = [f"{metric}_{what}" for metric in METRICS for what in ("mean", "sd")]
    rows = [
        [
            *(f"{part:g}" if isinstance(part, float) else part for part in place),
            _trials(metrics),
            *(_number(value, 5) for name in METRICS
              for value in (metrics[name].mean, metrics[name].sd)),
        ]
        for place, metrics in ours.items()
    ]  # fmt: skip
    return csv_text([*MethodPlace._fields, "trials", *columns], rows)


def methods_page(
    title: str,
    ours: MethodSummaries,
    *,
    tables: Mapping[str, Sequence[Beside]],
    description: JsonObject,
    made_by: Sequence[str],
    notes: str,
) -> str:
    """Return the page, in Markdown.

    Parameters
    ----------
    title : str
        Its heading.
    ours : mapping
        The results, by cell and metric.
    tables : mapping of str to sequence of Beside
        By number of the paper's table; empty without a paper.
    description : mapping
        What the experiment's folder says about it.
    made_by : sequence of str
        The commands that gave the results, one a line.
    notes : str
        Markdown to add.
    """
    parts = [f"# {title}", ""]
    if made_by:
        parts += ["Made by", "", "```sh", *made_by, "```", ""]
    parts += [*origin(description), ""]
    if tables:
        parts += [_agreement(tables), ""]
    if notes.strip():
        parts += [notes.strip(), ""]
    for number, rows in tables.items():
        parts += [f"## Table {number}", "", *_paper_table(rows), ""]
    parts += ["## All methods", "", "Means over the trials ± their standard errors.", ""]
    header = ["method", "trained on", "ε", "δ", "accountant", "trials", *SHOWN]
    parts += markdown_table(header, (_method_row(place, ours[place]) for place in ours))
    return "\n".join([*parts, ""])


def _agreement(tables: Mapping[str, Sequence[Beside]]) -> str:
    judged = [row for rows in tables.values() for row in rows if row.within is not None]
    kept = sum(row.within is True for row in judged)
    missing = len(
        {
            (row.printed.method, row.printed.epsilon)
            for rows in tables.values()
            for row in rows
            if row.ours is None
        }
    )
    text = f"{kept} of {len(judged)} means that have a limit keep it."
    return f"{text} {missing} settings of the paper were not run." if missing else text


def _paper_table(rows: Sequence[Beside]) -> list[str]:
    metrics = list(dict.fromkeys(row.printed.metric for row in rows))
    header = ["method", "ε", "accountant", "trials"]
    for metric in metrics:
        header += [f"{metric}, paper", "ours ± standard error", "difference"]
    lines = (_paper_row(group, metrics) for group in by_method(rows))
    return markdown_table([*header, "within", "notes"], lines)


def _paper_row(group: Sequence[Beside], metrics: Sequence[str]) -> list[str]:
    figures = {row.printed.metric: row for row in group}
    first = group[0]
    trials = 0 if first.ours is None else first.ours.runs
    cells = [
        first.printed.method,
        f"{first.printed.epsilon:g}",
        first.printed.accountant,
        str(trials) if trials else NOT_RUN,
    ]
    for metric in metrics:
        row = figures.get(metric)
        if row is None:
            cells += ["", "", ""]
            continue
        cells += [f"{row.printed.value:.{_DIGITS}f}", _mean(row.ours)]
        cells.append("" if row.ours is None else f"{row.difference:+.{_DIGITS}f}")
    judged = [row.within for row in group if row.within is not None]
    notes = [row.printed.note for row in group if row.printed.note]
    return [*cells, "" if not judged else "yes" if all(judged) else "no", "; ".join(notes)]


def _method_row(place: MethodPlace, metrics: Mapping[str, Summary]) -> list[str]:
    trained = "rows in clear"
    if place.protocol != "none":
        trained = f"records, {place.protocol} {place.split} ε {place.local_epsilon:g}"
    return [
        place.method,
        trained,
        f"{place.epsilon:g}",
        f"{place.delta:g}",
        place.accountant,
        str(_trials(metrics)),
        *(_mean(metrics.get(name)) for name in SHOWN),
    ]


def _trials(metrics: Mapping[str, Summary]) -> int:
    return max((summary.runs for summary in metrics.values()), default=0)


def _error(summary: Summary) -> float:
    return summary.sd / math.sqrt(summary.runs) if summary.runs > 1 else math.nan


def _mean(summary: Summary | None) -> str:
    if summary is None or not summary.runs:
        return NOT_RUN if summary is None else "undefined"
    error = _error(summary)
    text = f"{summary.mean:.{_DIGITS}f}"
    return text if math.isnan(error) else f"{text} ± {error:.{_DIGITS}f}"


def _number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"
