"""Results as curves: mean and interval over seeds, per metric, protocol, split and epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import t as student

from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.budget import DRAFT_SPLITS
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.experiments.journal import CELLS, read_cells
from hushpoll_training.experiments.results.results import (
    COLUMNS,
    CSV,
    PARQUET,
    UNDEFINED,
    results_table,
)
from hushpoll_training.runs.cell import BASELINE

CONFIDENCE: Final = 0.95
_TEXT: Final = ("protocol", "split", UNDEFINED)


@dataclass(frozen=True, slots=True)
class Point:
    """A metric's mean over seeds.

    Attributes
    ----------
    mean : float or None
        None where no seed has a value.
    half : float or None
        Half the width of the 95 % interval of the mean, by Student's t; None with under two values.
    n : int
        Seeds with a value.
    seeds : int
        Seeds in all; the others' values are undefined.
    """

    mean: float | None
    half: float | None
    n: int
    seeds: int


@dataclass(frozen=True, slots=True)
class Curves:
    """What is drawn.

    Attributes
    ----------
    protocols, splits : tuple of str
        Those with results, in their own order, without the baseline.
    epsilons : tuple of float
        Ascending.
    points : mapping of (protocol, split, epsilon, metric) to Point
        The baseline's under ``NonDP``, ``none`` and infinity.
    """

    protocols: tuple[str, ...]
    splits: tuple[str, ...]
    epsilons: tuple[float, ...]
    points: Mapping[tuple[str, str, float, str], Point]

    @classmethod
    def of(cls, table: pd.DataFrame) -> Curves:
        """Summarise results.

        Raises
        ------
        InvalidParameter
            If nothing but baselines is there.
        """
        points = {
            (str(protocol), str(split), float(str(epsilon)), metric): summarise(
                group[metric].tolist()
            )
            for (protocol, split, epsilon), group in table.groupby(["protocol", "split", "epsilon"])
            for metric in METRICS
        }
        found = {key[:3] for key in points if key[0] != BASELINE}
        if not found:
            raise InvalidParameter(
                "the results hold no cell of any protocol, so there is nothing to draw; let the "
                "experiment go on",
                field="results",
            )
        return cls(
            tuple(one for one in PROTOCOLS if one in {key[0] for key in found}),
            tuple(one for one in DRAFT_SPLITS if one in {key[1] for key in found}),
            tuple(sorted({key[2] for key in found})),
            points,
        )

    def baseline(self, metric: str) -> Point | None:
        """Return the baseline's mean, or None if no baseline is there."""
        return self.points.get((BASELINE, "none", math.inf, metric))

    def line(
        self, protocol: str, split: str, metric: str
    ) -> list[tuple[float, float, float | None]]:
        """Return (epsilon, mean, half) of the points of one line that have a mean, by epsilon."""
        found = ((one, self.points.get((protocol, split, one, metric))) for one in self.epsilons)
        return [
            (epsilon, point.mean, point.half)
            for epsilon, point in found
            if point is not None and point.mean is not None
        ]


def summarise(values: Sequence[float]) -> Point:
    """Return mean and interval of values; nan is an undefined one."""
    known = np.asarray([one for one in values if not math.isnan(one)])
    if not known.size:
        return Point(None, None, 0, len(values))
    half = None
    if known.size > 1:
        error = known.std(ddof=1) / math.sqrt(known.size)
        half = float(student.ppf((1 + CONFIDENCE) / 2, known.size - 1) * error)
    return Point(float(known.mean()), half, int(known.size), len(values))


def read_results(path: Path) -> pd.DataFrame:
    """Read results that an experiment wrote.

    Parameters
    ----------
    path : Path
        results.csv, results.parquet, or the folder of a run; what is done so far, if it is under
        way.

    Returns
    -------
    DataFrame
        Columns as in results.csv; nan where a metric is undefined.

    Raises
    ------
    InvalidParameter
        If it is no such file.
    OSError
        If it cannot be read.
    """
    file = path / CSV if path.is_dir() else path
    if path.is_dir() and not file.is_file() and (path / CELLS).is_file():
        # A run that is under way writes its results when it ends.
        frame: pd.DataFrame = results_table(read_cells(path)).to_pandas()
        return frame.astype({"seed": "int64"})
    if not file.is_file():
        raise InvalidParameter(
            f"results {str(path)!r} is neither a file nor a folder with {CSV}; give the --out of "
            f"hushpoll experiment run, or its {CSV} or {PARQUET}",
            field="results",
        )
    try:
        if file.suffix == ".parquet":
            table = pd.read_parquet(file)
        else:
            table = pd.read_csv(file, dtype=str, keep_default_na=False)
            for name in set(table.columns) & set(COLUMNS) - set(_TEXT):
                # Python reads the digits exactly; pandas' own reader does so from version 3 on.
                table[name] = [float(text) if text else math.nan for text in table[name]]
    except ValueError as error:
        raise _no_results(file, " ".join(str(error).split())) from None
    for name in COLUMNS:
        if name not in table.columns:
            raise _no_results(file, f"it has no column {name}")
    for name, known in (("protocol", (BASELINE, *PROTOCOLS)), ("split", ("none", *DRAFT_SPLITS))):
        strange = sorted(set(table[name]) - set(known))
        if strange:
            raise _no_results(file, f"the {name} {strange[0]!r} is none of {', '.join(known)}")
    return table.astype({"seed": "int64"})


def _no_results(file: Path, what: str) -> InvalidParameter:
    return InvalidParameter(
        f"{file} holds no results ({what}); give what hushpoll experiment run wrote",
        field="results",
    )
