"""Figures that a paper printed, and the results of methods beside them, as a page and as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from typing import Final, NamedTuple

import pandas as pd

from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.methods.run import METRICS
from hushpoll_lab.experiments.results.results import csv_text
from hushpoll_lab.experiments.results.summaries import Summary, most_runs
from hushpoll_lab.experiments.results.tables import markdown_table, page_head
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonObject

_FOLDER: Final = "papers"


class MethodPlace(NamedTuple):
    """A cell without its seed; see :class:`~hushpoll_lab.experiments.methods.method.Trial`."""

    method: str
    protocol: str
    split: str
    local_epsilon: float
    epsilon: float
    delta: float
    accountant: str


MethodSummaries = Mapping[MethodPlace, Mapping[str, Summary]]
"""By cell and metric."""


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """One figure of a paper."""

    table: str
    """Number of the table."""
    data: str
    method: str
    epsilon: float
    """As printed; infinity where nothing is promised."""
    delta: float
    accountant: str
    """Empty where the table does not tell results of accountants apart."""
    metric: str
    value: float
    """As printed, in the metric's unit."""
    below: float
    """How far our mean may lie below it; infinity for no limit."""
    above: float
    """The same above it."""
    note: str
    """Why ours may differ."""

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.below) or math.isfinite(self.above)

    def fits(self, place: MethodPlace) -> bool:
        """Whether a cell of ours is what the figure is about."""
        return (
            (place.method, place.epsilon, place.delta) == (self.method, self.epsilon, self.delta)
            and self.accountant in ("", place.accountant)
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """A figure of a paper, and our mean and cell; None if the method was not run."""

    printed: PrintedFigure
    ours: Summary | None
    place: MethodPlace | None

    @property
    def difference(self) -> float:
        """Our mean less the printed value; nan if there is none."""
        return math.nan if self.ours is None else self.ours.mean - self.printed.value

    @property
    def within(self) -> bool | None:
        """Whether the difference keeps the limits; None without limits, or if it was not run."""
        if self.ours is None or not self.printed.limited:
            return None
        return -self.printed.below <= self.difference <= self.printed.above


def paper_names() -> tuple[str, ...]:
    """Return the names of the papers whose figures come with the package, sorted."""
    folder = files("hushpoll_lab.experiments") / _FOLDER
    return tuple(
        sorted(file.name.removesuffix(".csv") for file in folder.iterdir() if ".csv" in file.name)
    )


def read_paper(name: str) -> list[PrintedFigure]:
    """Return the figures of a paper, in the order of its tables.

    Refuses other names than `paper_names`.
    """
    if name not in paper_names():
        raise InvalidParameter(
            f"paper is {name!r}; it must be one of {', '.join(paper_names())}", field="paper"
        )
    path = files("hushpoll_lab.experiments") / _FOLDER / f"{name}.csv"
    return [
        PrintedFigure(
            row["table"], row["data"], row["method"],
            float(row["epsilon"]), float(row["delta"]), row["accountant"],
            row["metric"], float(row["value"]),
            float(row["below"] or "inf"), float(row["above"] or "inf"), row["note"],
        )
        for row in csv.DictReader(StringIO(path.read_text(encoding="utf-8")))
    ]  # fmt: skip


def summarise_methods(table: pd.DataFrame) -> dict[MethodPlace, dict[str, Summary]]:
    """Summarise the table of :func:`~.results.read_results` over its seeds, by cell and metric."""
    keys = list(Trial._fields[:-1])
    summaries = {}
    for place, group in table.groupby(keys, sort=True):
        method, protocol, split, *spent, accountant = map(str, place)
        local, epsilon, delta = map(float, spent)
        cell = MethodPlace(method, protocol, split, local, epsilon, delta, accountant)
        summaries[cell] = {metric: Summary.of(group[metric]) for metric in METRICS}
    return summaries


def beside(
    ours: MethodSummaries, printed: Iterable[PrintedFigure], data: str
) -> dict[str, list[FigureComparison]]:
    """Set our results beside the figures of a paper about one data set, by table.

    Refuses a data set of which the paper has no figure.
    """
    tables: dict[str, list[FigureComparison]] = {}
    for figure in printed:
        if figure.data != data:
            continue
        place = next((place for place in ours if figure.fits(place)), None)
        summary = None if place is None else ours[place].get(figure.metric)
        found = summary if summary is not None and summary.runs else None
        tables.setdefault(figure.table, []).append(FigureComparison(figure, found, place))
    if not tables:
        raise InvalidParameter(
            f"the paper has no table about {data}; give another paper, or none", field="paper"
        )
    return tables


def by_method(rows: Sequence[FigureComparison]) -> Iterator[list[FigureComparison]]:
    """Yield the figures of each method of one table together, in their order."""
    groups: dict[tuple[str, float, str], list[FigureComparison]] = {}
    for row in rows:
        figure = row.printed
        groups.setdefault((figure.method, figure.epsilon, figure.accountant), []).append(row)
    yield from groups.values()


SHOWN: Final = ("accuracy", "over_constant", "balanced_acc", "positive_rate", "parity_gap")
"""The metrics of the page; the CSV has those of the paper."""

NOT_RUN: Final = "not run"
_DIGITS: Final = 4


def beside_csv(tables: Mapping[str, Sequence[FigureComparison]]) -> str:
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
            most_runs(metrics),
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
    tables: Mapping[str, Sequence[FigureComparison]],
    description: JsonObject,
    made_by: Sequence[str],
    notes: str,
) -> str:
    """Return the page, in Markdown; tables are by number of the paper's, none without one."""
    parts = page_head(title, made_by, description, [_agreement(tables)] if tables else [], notes)
    for number, rows in tables.items():
        parts += [f"## Table {number}", "", *_paper_table(rows), ""]
    parts += ["## All methods", "", "Means over the trials ± their standard errors.", ""]
    header = ["method", "trained on", "ε", "δ", "accountant", "trials", *SHOWN]
    parts += markdown_table(header, (_method_row(place, ours[place]) for place in ours))
    return "\n".join([*parts, ""])


def _agreement(tables: Mapping[str, Sequence[FigureComparison]]) -> str:
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


def _paper_table(rows: Sequence[FigureComparison]) -> list[str]:
    metrics = list(dict.fromkeys(row.printed.metric for row in rows))
    header = ["method", "ε", "accountant", "trials"]
    for metric in metrics:
        header += [f"{metric}, paper", "ours ± standard error", "difference"]
    lines = (_paper_row(group, metrics) for group in by_method(rows))
    return markdown_table([*header, "within", "notes"], lines)


def _paper_row(group: Sequence[FigureComparison], metrics: Sequence[str]) -> list[str]:
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
        str(most_runs(metrics)),
        *(_mean(metrics.get(name)) for name in SHOWN),
    ]


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
