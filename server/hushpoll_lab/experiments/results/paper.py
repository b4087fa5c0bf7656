"""Figures that a paper printed, and the results of methods beside them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from typing import Final, NamedTuple

import pandas as pd

from hushpoll_lab.experiments.methods.run import METRICS
from hushpoll_lab.experiments.methods.trial import Trial
from hushpoll_lab.experiments.results.summaries import Summary
from hushpoll_protocols.errors import InvalidParameter

_FOLDER: Final = "papers"


class MethodPlace(NamedTuple):
    """A cell without its seed; see :class:`~hushpoll_lab.experiments.methods.trial.Trial`."""

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
class Printed:
    """One figure of a paper.

    Attributes
    ----------
    table, data, method : str
        Number of the table, name of the data set, name of the method.
    epsilon, delta : float
        As printed; infinity and 0 where nothing is promised.
    accountant : str
        Empty where the table does not tell results of accountants apart.
    metric : str
        One of a cell's metrics.
    value : float
        As printed, in the metric's unit.
    below, above : float
        How far our mean may lie below and above it; infinity for no limit.
    note : str
        Why ours may differ.
    """

    table: str
    data: str
    method: str
    epsilon: float
    delta: float
    accountant: str
    metric: str
    value: float
    below: float
    above: float
    note: str

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
class Beside:
    """A figure of a paper, and ours.

    Attributes
    ----------
    printed : Printed
        The paper's.
    ours : Summary or None
        Over our seeds; None if the method was not run.
    place : MethodPlace or None
        Our cell.
    """

    printed: Printed
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


def read_paper(name: str) -> list[Printed]:
    """Return the figures of a paper, in the order of its tables.

    Raises
    ------
    InvalidParameter
        For a name outside `paper_names`.
    """
    if name not in paper_names():
        raise InvalidParameter(
            f"paper is {name!r}; it must be one of {', '.join(paper_names())}", field="paper"
        )
    path = files("hushpoll_lab.experiments") / _FOLDER / f"{name}.csv"
    return [
        Printed(
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


def beside(ours: MethodSummaries, printed: Iterable[Printed], data: str) -> dict[str, list[Beside]]:
    """Set our results beside the figures of a paper, by table, for one data set.

    Parameters
    ----------
    ours : mapping
        As :func:`summarise_methods` gives it.
    printed : iterable of Printed
        As :func:`read_paper` gives it.
    data : str
        Name of the data set that ours are about.

    Raises
    ------
    InvalidParameter
        If the paper has no figure about the data set.
    """
    tables: dict[str, list[Beside]] = {}
    for figure in printed:
        if figure.data != data:
            continue
        place = next((place for place in ours if figure.fits(place)), None)
        summary = None if place is None else ours[place].get(figure.metric)
        found = summary if summary is not None and summary.runs else None
        tables.setdefault(figure.table, []).append(Beside(figure, found, place))
    if not tables:
        raise InvalidParameter(
            f"the paper has no table about {data}; give another paper, or none", field="paper"
        )
    return tables


def by_method(rows: Sequence[Beside]) -> Iterator[list[Beside]]:
    """Yield the figures of each method of one table together, in their order."""
    groups: dict[tuple[str, float, str], list[Beside]] = {}
    for row in rows:
        figure = row.printed
        groups.setdefault((figure.method, figure.epsilon, figure.accountant), []).append(row)
    yield from groups.values()
