"""The rows that the certificates of Mangold et al. are studied on: three data sets.

As in the paper, nine tenths are for training, the protected attribute is no feature, and rows are
no longer than 3, the 1 of the intercept included here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.logistic import Matrix
from hushpoll_lab.datasets.clear.registry import ClearSource
from hushpoll_lab.learners.output_perturbation import bounded, with_constant

RADIUS = 3.0
FEATURE_RADIUS = (RADIUS**2 - 1) ** 0.5
DRAWN_ROWS = 1_664_500
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows within the radius, with their constant, and what they are of."""

    rows: Matrix
    label: Codes
    group: Codes

    def first(self, count: int | None) -> Part:
        """Return the first rows, or all; their order is random."""
        return Part(self.rows[:count], self.label[:count], self.group[:count])


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows to train on and rows to measure on.

    Attributes
    ----------
    name : str
        Of the data.
    train, test : Part
        Nine tenths and one tenth.
    """

    name: str
    train: Part
    test: Part

    @property
    def dimension(self) -> int:
        """Weights, the intercept included."""
        return int(self.train.rows.shape[1])


def adult(folder: Path) -> Problem:
    """UCI's Adult: 45,222 people, groups by sex."""
    return _clear("Adult", ClearSource(name="adult-published", data=folder))


def acs_coverage(folder: Path) -> Problem:
    """ACSCoverage of Texas in 2018: 98,739 people, groups by disability."""
    source = ClearSource(data=folder / "acs_coverage_tx2018.csv", target="PUBCOV", protected="DIS")
    return _clear("ACSCoverage", source)


def drawn(folder: Path | None = None, *, rows: int = DRAWN_ROWS) -> Problem:
    """Rows as many as the paper's folktables has: 9 numbers, groups whose means differ a little.

    The label follows a logistic law in three of the numbers, with a Bayes accuracy near .8.
    """
    del folder
    rng = np.random.default_rng(20)
    group = (rng.random(rows) < 0.48).astype(np.int64)
    features = rng.normal(size=(rows, 9))
    features[:, :3] += 0.25 * (2 * group[:, None] - 1)
    score = features[:, 0] + 0.8 * features[:, 1] - 0.6 * features[:, 2] - 0.4
    label = (rng.random(rows) < 1 / (1 + np.exp(-1.5 * score))).astype(np.int64)
    return _split("drawn", features, label, group, rng)


PROBLEMS: Mapping[str, Callable[[Path], Problem]] = {
    "Adult": adult,
    "ACSCoverage": acs_coverage,
    "drawn": drawn,
}


def _clear(name: str, source: ClearSource) -> Problem:
    rows = source.load()
    design = rows.design()
    keep = np.ones(design.table.shape[1], np.bool_)
    keep[design.protected] = False
    table = design.table[:, np.flatnonzero(keep)]
    return _split(name, table, design.label, rows.codes[rows.protected], np.random.default_rng(20))


def _split(
    name: str, table: Matrix, label: Codes, group: Codes, rng: np.random.Generator
) -> Problem:
    order = rng.permutation(label.size)
    rows = with_constant(bounded(table, FEATURE_RADIUS))
    cut = round(0.9 * label.size)
    return Problem(
        name,
        *(
            Part(rows[chosen], label[chosen], group[chosen])
            for chosen in (order[:cut], order[cut:])
        ),
    )
