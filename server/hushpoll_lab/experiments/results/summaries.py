"""Means, deviations and intervals over seeds, of results and of published tables, and as curves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd
from scipy.stats import t as student

from hushpoll_lab.experiments.grid import ORDER
from hushpoll_lab.experiments.results.results import CSV, read_results
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import parse_whole
from hushpoll_shared.reading.table_reader import Row, TableReader, open_table
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.runs.cell import BASELINE

CONFIDENCE: Final = 0.95
# Published tables write some names in their own way.
_METRICS: Final = {"acc": "accuracy", "auc": "roc_auc"}


class Place(NamedTuple):
    """A cell without its seed; the baseline is ``NonDP``, ``none``, infinity."""

    protocol: str
    split: str
    epsilon: float

    def order(self) -> tuple[int, int, float]:
        """Return the key that tables are sorted by."""
        return ORDER[self.protocol], ORDER[self.split], self.epsilon

    def __str__(self) -> str:
        if self.protocol == BASELINE:
            return BASELINE
        return f"{self.protocol} {self.split} epsilon {self.epsilon:g}"


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric of one cell over its seeds.

    Attributes
    ----------
    mean : float
        Over the seeds with a value; nan if there are none.
    sd : float
        Sample standard deviation (n - 1); nan with fewer than two values.
    runs : int
        Seeds with a value.
    seeds : int or None
        Seeds in all, the others' values being undefined; None where a published table says nothing.
    """

    mean: float
    sd: float
    runs: int
    seeds: int | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> Summary:
        """Summarise values, nan being an undefined one."""
        every = list(values)
        known = [float(value) for value in every if not math.isnan(value)]
        mean = statistics.fmean(known) if known else math.nan
        sd = statistics.stdev(known) if len(known) > 1 else math.nan
        return cls(mean, sd, len(known), len(every))

    @property
    def of_all(self) -> Summary:
        """The same where every seed has a value; else without one."""
        return self if self.runs == self.seeds else Summary(math.nan, math.nan, 0, self.seeds)

    @property
    def half(self) -> float | None:
        """Half the width of the mean's 95 % interval (Student's t); None with under two values."""
        if self.runs < 2:
            return None
        quantile = student.ppf((1 + CONFIDENCE) / 2, self.runs - 1)
        return float(quantile * self.sd / math.sqrt(self.runs))

    def __str__(self) -> str:
        return f"{self.mean:.4f}" + ("" if self.half is None else f" ± {self.half:.4f}")


def most_runs(metrics: Mapping[str, Summary]) -> int:
    """Return how many seeds have a value of some metric."""
    return max((summary.runs for summary in metrics.values()), default=0)


Summaries = Mapping[Place, Mapping[str, Summary]]
"""By cell and metric."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Summaries as figures draw them: a line per protocol, split and metric, over epsilon."""

    summaries: Summaries

    @classmethod
    def of(cls, table: pd.DataFrame) -> Curves:
        """Summarise the table of :func:`~.results.read_results`.

        Raises
        ------
        InvalidParameter
            If it holds nothing but baselines.
        """
        curves = cls(summarise_results(table))
        if not curves.protocols:
            raise InvalidParameter(
                "the results hold no cell of any protocol, so there is nothing to draw; let the "
                "experiment go on",
                field="results",
            )
        return curves

    @property
    def protocols(self) -> tuple[str, ...]:
        """Those with results, in the order of the registry, without the baseline."""
        return tuple(name for name in PROTOCOLS if any(name == key[0] for key in self.summaries))

    @property
    def splits(self) -> tuple[str, ...]:
        """Those with results, in their own order, without the baseline's."""
        return tuple(name for name in DRAFT_SPLITS if any(name == key[1] for key in self.summaries))

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Those with results, ascending, without the baseline's."""
        return tuple(sorted({key[2] for key in self.summaries if key[0] != BASELINE}))

    def get(self, protocol: str, split: str, epsilon: float, metric: str) -> Summary | None:
        """Return the summary of a metric, or None if the cell was not run."""
        return self.summaries.get(Place(protocol, split, epsilon), {}).get(metric)

    def baseline(self, metric: str) -> Summary | None:
        """Return the baseline's summary, or None if it has no value."""
        summary = self.get(BASELINE, "none", math.inf, metric)
        return summary if summary is not None and summary.runs else None

    def line(
        self, protocol: str, split: str, metric: str
    ) -> list[tuple[float, float, float | None]]:
        """Return (epsilon, mean, half) of the points of one line that have a mean, by epsilon."""
        points = ((one, self.get(protocol, split, one, metric)) for one in self.epsilons)
        return [
            (epsilon, point.mean, point.half)
            for epsilon, point in points
            if point is not None and point.runs
        ]


def summarise_results(table: pd.DataFrame) -> dict[Place, dict[str, Summary]]:
    """Summarise the table of :func:`~.results.read_results`, in its order."""
    summaries = {
        Place(str(protocol), str(split), float(str(epsilon))): {
            metric: Summary.of(group[metric]) for metric in METRICS
        }
        for (protocol, split, epsilon), group in table.groupby(["protocol", "split", "epsilon"])
    }
    return dict(sorted(summaries.items(), key=lambda cell: cell[0].order()))


def read_summaries(path: Path) -> dict[Place, dict[str, Summary]]:
    """Read results to compare with: another run's, or a published table.

    A table is a CSV with the columns ``protocol``, ``split`` (``k_based`` is understood),
    ``epsilon``, ``runs``, and ``<metric>_mean`` and ``<metric>_sd`` per metric (``acc`` is
    accuracy). Refuses other files, by name.
    """
    if path.is_dir() or path.suffix == ".parquet" or not _is_published(path):
        return summarise_results(read_results(path))
    with open_table(path, field="reference") as table:
        summaries = dict(_published_row(table, row) for row in table.rows())
    if not summaries:
        raise InvalidParameter(f"{path} has no rows; give a table with some", field="reference")
    return summaries


def _published_row(table: TableReader, row: Row) -> tuple[Place, dict[str, Summary]]:
    def number(column: str) -> float:
        return table.number(row, table.header.index(column), beyond=True)

    texts = dict(zip(table.header, row.cells, strict=True))
    names = [name.removesuffix("_mean") for name in table.header if name.endswith("_mean")]
    try:
        return _place(texts, number("epsilon")), {
            _METRICS.get(name, name): Summary(
                number(f"{name}_mean"), number(f"{name}_sd"), parse_whole(texts["runs"])
            )
            for name in names
        }
    except InvalidParameter:
        raise
    except (KeyError, ValueError) as error:
        raise InvalidParameter(
            f"{table.name} {row.place} is no row of means and deviations ({error}); give "
            "protocol, split, epsilon, runs, and a mean and an sd per metric",
            field="reference",
        ) from None


def _is_published(path: Path) -> bool:
    if not path.is_file():
        raise InvalidParameter(
            f"reference {show(str(path))} is no file; give a table of means and deviations, or the "
            f"--out of hushpoll experiment run, or its {CSV}",
            field="reference",
        )
    with open_table(path, field="reference") as table:
        header = table.header
    return "runs" in header and any(one.endswith("_mean") for one in header)


def _place(row: Mapping[str, str], epsilon: float) -> Place:
    split = row["split"].replace("_", "-")
    if row["protocol"] not in ORDER or split not in ORDER:
        raise ValueError(f"{row['protocol']} {row['split']}")
    return Place(row["protocol"], split, epsilon)
