"""What a learner is fitted to: encoded rows with their labels, and what they tell of groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from hushpoll_training.learners.evidence import Evidence

Table: TypeAlias = csr_matrix | npt.NDArray[np.floating[Any]]
"""Encoded rows, finite numbers [n, m]."""


@dataclass(frozen=True, slots=True)
class Design:
    """What a learner is fitted to."""

    table: Table
    """Encoded rows, [n, m], finite."""
    label: npt.NDArray[np.int64]
    """int64[n] of {0, 1}, 1 positive."""
    names: tuple[str, ...]
    """Of the columns."""
    protected: slice | None = None
    """The columns that tell each row's group in clear; a learner that treats groups apart reads
    them here, and in the tables that it scores."""
    weight: npt.NDArray[np.float64] | None = None
    """f64[n], what each row weighs, not negative."""
    attributes: Mapping[str, slice] = field(default_factory=dict)
    """The columns of each attribute of categories that the rows tell in clear, by name."""
    places: Mapping[str, slice] = field(default_factory=dict)
    """The columns of every attribute of categories, in clear or perturbed; those of `attributes`,
    if none are given."""
    columns: slice | None = None
    """The columns of the protected attribute, in clear or perturbed; those of `protected`, if
    any."""
    evidence: Evidence | None = None
    """Gives what records tell of the rows' groups, told which groups are compared: of the rows of
    `table`, and after them of those that `skipped` gives."""
    skipped: Callable[[], Table] | None = None
    """Gives the encoded rows whose record reports that the target was skipped, where that report
    was perturbed. No learner is fitted to them. They may be of people who answered, so they count
    wherever shares of those who answered are estimated."""

    def __post_init__(self) -> None:
        if self.columns is None:
            object.__setattr__(self, "columns", self.protected)
        if not self.places:
            object.__setattr__(self, "places", self.attributes)

    def check_classes(self) -> None:
        """Refuse rows of a single class; see :func:`check_classes`.

        For learners without a claim: a refusal tells something about rows that should be protected.
        """
        check_classes(self.label.size, int(self.label.sum()))


def check_classes(rows: int, positive: int) -> None:
    """Refuse training rows of a single class, and none."""
    if not 0 < positive < rows:
        raise InvalidParameter(
            f"the {rows} training rows are all of one class of the target, so there is nothing to "
            "learn; collect rows of both classes",
            field="target",
        )
