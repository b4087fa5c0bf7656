"""Folds of rows or records, on which a choice of parameters is scored; never the test rows.

The paper's code tunes on the rows that its results are tested on, which makes those results better
than they are. Here the test rows are cut away first, by the same seed as an experiment's, and the
rest is cut into folds. A search on collected records alone is scored by accuracy on records that no
fit has seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.audits.dealing import in_order
from hushpoll_training.audits.records_accuracy import folds_of, predicted_fold
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import Encoding
from hushpoll_training.evaluation.evaluation import FOLDS, evaluate
from hushpoll_training.evaluation.metrics import UTILITY
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import Codes, fit_clear, fit_records, take
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import TEST_SIZE, perturbation, split_rows

SCORES: Final = UTILITY
"""The metrics that a search can maximise."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Training rows in folds."""

    published: Published
    codes: Codes
    """The training rows in clear."""
    records: Records | None
    """The same rows randomised, to fit to; None to fit to those in clear."""
    folds: tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], ...]
    """Rows to fit to, and to score on."""
    score: str
    """One of `SCORES`."""
    seed: int
    """What the split, the noise, the folds and the learner draw by."""

    def scores(self, recipe: Recipe, *, threads: int = 1) -> Iterator[float]:
        """Yield the score on each fold of models that were fitted to the others.

        Refuses a learner that is private itself.
        """
        recipe.refuse_repeated_fits("a search")
        options = FitOptions(self.seed, threads)
        for inside, outside in self.folds:
            if self.records is None:
                rows = take(self.codes, inside)
                model = fit_clear(self.published, rows, recipe.learner, options)
            else:
                model = fit_records(self.records.take(inside), recipe, options)
            evaluation = evaluate(model, take(self.codes, outside), threads=threads)
            yield evaluation.metrics[self.score].number()


def make_problem(
    published: Published,
    codes: Codes,
    *,
    seed: int,
    score: str = "accuracy",
    folds: int = FOLDS,
    test_size: float = TEST_SIZE,
    perturbed: bool = False,
) -> Problem:
    """Cut the test rows away, and the rest into folds that are stratified on the target.

    Of the rows to test on, the target alone is looked at, by the split; with an experiment's seed,
    the same rows are cut away. `perturbed` rows are fitted to as training on a collection would;
    scores are on rows in clear either way. Refuses a class with fewer rows than there are folds, at
    least 2.
    """
    if score not in SCORES:
        raise InvalidParameter(
            f"score is {score!r}; it must be one of {', '.join(SCORES)}", field="score"
        )
    if folds < 2:
        raise InvalidParameter(f"folds is {folds}; it must be at least 2", field="folds")
    train, _ = split_rows(published, codes, seed, test_size)
    label, answered = Target.clear(published).labels(codes[Target.clear(published).name][train])
    # A row without a label can be neither fitted nor scored.
    known, label = take(codes, train[answered]), label[answered]
    rare = min(int(label.sum()), int((1 - label).sum()))
    if rare < folds:
        raise InvalidParameter(
            f"the training rows have {rare} of their rarer class, and {folds} folds need at least "
            f"{folds}; give more rows, or fewer folds",
            field="folds",
        )
    if perturbed:
        # A target that gives no labels is refused before hours of tuning.
        Target.of(published)
    records = None
    if perturbed:
        drawn = encode_many(published, known, perturbation(published, seed))
        records = Records.trusted(published, drawn)
    cutter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return Problem(
        published,
        known,
        records,
        tuple((inside, outside) for inside, outside in cutter.split(label, label)),
        score,
        seed,
    )


@dataclass(frozen=True, slots=True)
class RecordsProblem:
    """Collected records in folds; see :mod:`hushpoll_training.audits.records_accuracy`."""

    records: Records
    """Of a survey with a target that gives labels."""
    encoding: Encoding
    folds: tuple[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], ...]
    """Records to fit to, and to score on, bool[n] each."""
    seed: int
    """What the folds and the learner draw by."""

    @classmethod
    def of(cls, records: Records, encoding: Encoding, *, folds: int, seed: int) -> RecordsProblem:
        """Deal records into folds, [2, n] of them; see :mod:`hushpoll_training.audits.dealing`."""
        parts = tuple(folds_of(len(records), folds))
        return cls(in_order(records, seed), encoding, parts, seed)

    def scores(self, recipe: Recipe, *, threads: int = 1) -> Iterator[float]:
        """Yield the estimated accuracy on each fold of models that were fitted to the others.

        Refuses records that do not tell who answered a target that may be skipped, and a learner
        that is private itself.
        """
        recipe.refuse_repeated_fits("a search")
        chosen = replace(recipe, encoding=self.encoding)
        for inside, outside in self.folds:
            options = FitOptions(self.seed, threads)
            yield predicted_fold(self.records, inside, outside, chosen, options).value()
