"""Means and deviations over seeds, per cell and metric, of our results and of published ones."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import pandas as pd

from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.budget import DRAFT_SPLITS
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.experiments.results.curves import read_results
from hushpoll_training.experiments.results.results import CSV
from hushpoll_training.runs.cell import BASELINE

_ORDER: Final = {name: at for at, name in enumerate((BASELINE, *PROTOCOLS, "none", *DRAFT_SPLITS))}
# Published tables write some names in their own way.
_METRICS: Final = {"acc": "accuracy", "auc": "roc_auc"}


class Place(NamedTuple):
    """A cell without its seed; the baseline is ``NonDP``, ``none``, infinity."""

    protocol: str
    split: str
    epsilon: float

    def order(self) -> tuple[int, int, float]:
        """Return the key that tables are sorted by."""
        return _ORDER[self.protocol], _ORDER[self.split], self.epsilon

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
        Over the seeds with a value.
    sd : float
        Sample standard deviation (n - 1); nan with a single value.
    runs : int
        Seeds with a value.
    """

    mean: float
    sd: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Summary | None:
        """Summarise values, nan being an undefined one; None if there are no others."""
        known = [float(one) for one in values if not math.isnan(one)]
        if not known:
            return None
        spread = statistics.stdev(known) if len(known) > 1 else math.nan
        return cls(statistics.fmean(known), spread, len(known))


Summaries = Mapping[Place, Mapping[str, Summary]]
"""By cell and metric; a metric that is undefined for every seed is left out."""


def summarise_results(table: pd.DataFrame) -> dict[Place, dict[str, Summary]]:
    """Summarise the table of :func:`~.curves.read_results`, in its order."""
    found: dict[Place, dict[str, Summary]] = {}
    for (protocol, split, epsilon), group in table.groupby(["protocol", "split", "epsilon"]):
        each = {metric: Summary.of(group[metric].tolist()) for metric in METRICS}
        found[Place(str(protocol), str(split), float(str(epsilon)))] = {
            metric: summary for metric, summary in each.items() if summary is not None
        }
    return dict(sorted(found.items(), key=lambda one: one[0].order()))


def read_summaries(path: Path) -> dict[Place, dict[str, Summary]]:
    """Read results to compare with: another run's, or a published table.

    Parameters
    ----------
    path : Path
        The --out of a run or its results file; or a CSV with the columns ``protocol``, ``split``
        (``k_based`` is understood), ``epsilon``, ``runs``, and ``<metric>_mean`` and
        ``<metric>_sd`` per metric (``acc`` is accuracy).

    Raises
    ------
    InvalidParameter
        Naming the file, if it is neither.
    OSError
        If it cannot be read.
    """
    if path.is_dir() or path.suffix == ".parquet" or not _is_published(path):
        return summarise_results(read_results(path))
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        names = [one.removesuffix("_mean") for one in reader.fieldnames or () if "_mean" in one]
        found: dict[Place, dict[str, Summary]] = {}
        for row in reader:
            try:
                place = _place(row)
                found[place] = {
                    _METRICS.get(name, name): Summary(
                        float(row[f"{name}_mean"]), float(row[f"{name}_sd"]), int(row["runs"])
                    )
                    for name in names
                }
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidParameter(
                    f"{path} line {reader.line_num} is no row of means and deviations ({error!r}); "
                    "give protocol, split, epsilon, runs, and a mean and an sd per metric",
                    field="reference",
                ) from None
    if not found:
        raise InvalidParameter(f"{path} has no rows; give a table with some", field="reference")
    return found


def _is_published(path: Path) -> bool:
    if not path.is_file():
        raise InvalidParameter(
            f"reference {show(str(path))} is no file; give a table of means and deviations, or the "
            f"--out of hushpoll experiment run, or its {CSV}",
            field="reference",
        )
    with path.open(encoding="utf-8", newline="") as stream:
        header = next(csv.reader(stream), [])
    return "runs" in header and any(one.endswith("_mean") for one in header)


def _place(row: Mapping[str, str]) -> Place:
    split = row["split"].replace("_", "-")
    if row["protocol"] not in _ORDER or split not in _ORDER:
        raise ValueError(f"{row['protocol']} {row['split']}")
    return Place(row["protocol"], split, float(row["epsilon"]))
