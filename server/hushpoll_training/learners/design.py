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
    """What a learner is fitted to.

    Attributes
    ----------
    table : csr_matrix or float array [n, m]
        Encoded rows, finite.
    label : int64[n] of {0, 1}
        1 is the positive class.
    names : tuple of str, m
        The columns' names.
    protected : slice or None
        The columns that tell each row's group in clear; a learner that treats groups apart reads
        them here, and in the tables that it scores.
    weight : f64[n], optional
        What each row weighs, not negative.
    attributes : mapping of str to slice
        The columns of each attribute of categories that the rows tell in clear, by name.
    places : mapping of str to slice
        The columns of every attribute of categories, in clear or perturbed; those of `attributes`,
        if none are given.
    columns : slice or None
        The columns of the protected attribute, in clear or perturbed; those of `protected`, if any.
    evidence : callable, optional
        Gives what records tell of the rows' groups, told which groups are compared: of the rows of
        `table`, and after them of those that `skipped` gives.
    skipped : callable, optional
        Gives the encoded rows whose record reports that the target was skipped, where that report
        was perturbed. No learner is fitted to them. They may be of people who answered, so they
        count wherever shares of those who answered are estimated.
    """

    table: Table
    label: npt.NDArray[np.int64]
    names: tuple[str, ...]
    protected: slice | None = None
    weight: npt.NDArray[np.float64] | None = None
    attributes: Mapping[str, slice] = field(default_factory=dict)
    places: Mapping[str, slice] = field(default_factory=dict)
    columns: slice | None = None
    evidence: Evidence | None = None
    skipped: Callable[[], Table] | None = None

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
    """Refuse training rows of a single class.

    Raises
    ------
    InvalidParameter
        If there are no rows, or all or none of them are positive.
    """
    if not 0 < positive < rows:
        raise InvalidParameter(
            f"the {rows} training rows are all of one class of the target, so there is nothing to "
            "learn; collect rows of both classes",
            field="target",
        )
