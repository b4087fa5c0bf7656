"""A search on collected records alone, scored by accuracy on records that no fit has seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_training.audits.dealing import in_order
from hushpoll_training.audits.records_accuracy import folds_of, predicted_fold
from hushpoll_training.encodings.encoding import Encoding
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe


@dataclass(frozen=True, slots=True)
class RecordsProblem:
    """Collected records in folds; see :mod:`hushpoll_training.audits.records_accuracy`.

    Attributes
    ----------
    records : Records
        Records of a survey with a target that gives labels.
    encoding : Encoding
        How they become features.
    folds : tuple of (bool[n], bool[n])
        Records to fit to, and to score on.
    seed : int
        What the folds and the learner draw by.
    """

    records: Records
    encoding: Encoding
    folds: tuple[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], ...]
    seed: int

    @classmethod
    def of(cls, records: Records, encoding: Encoding, *, folds: int, seed: int) -> RecordsProblem:
        """Deal records into folds; see :mod:`hushpoll_training.audits.dealing`.

        Raises
        ------
        InvalidParameter
            If folds is not in [2, n], or for a bad seed.
        """
        parts = tuple(folds_of(len(records), folds))
        return cls(in_order(records, seed), encoding, parts, seed)

    def scores(self, recipe: Recipe, *, threads: int = 1) -> Iterator[float]:
        """Yield the estimated accuracy on each fold of models that were fitted to the others.

        Raises
        ------
        InvalidParameter
            For training rows of a single class, records that do not tell who answered a target
            that may be skipped, or a learner that is private itself.
        """
        recipe.refuse_repeated_fits("a search")
        chosen = replace(recipe, encoding=self.encoding)
        for inside, outside in self.folds:
            options = FitOptions(self.seed, threads)
            yield predicted_fold(self.records, inside, outside, chosen, options).value()
