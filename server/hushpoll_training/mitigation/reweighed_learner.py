"""Learners whose training rows are reweighed, so that the label does not depend on the group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, UnsoundModel
from hushpoll_training.learners.parameters import Choice, Parameter
from hushpoll_training.learners.wrapped import WrappedLearner
from hushpoll_training.mitigation.design import all_labels, blanked, evidence_of, saved_place
from hushpoll_training.mitigation.reweighing import ASSIGNMENTS, Reweighing

WEIGHTS = "reweighing.json"
INPUTS = ("dropped", "used")


@dataclass(frozen=True)
class ReweighedLearner(WrappedLearner):
    """A learner that is fitted to reweighed rows; see :mod:`hushpoll_training.mitigation`.

    Parameters are those of the learner behind it, and: `assignment`, how a row whose group is
    known through its record gets its weight; `protected_input`, whether the model gets the
    columns of the protected attribute. A row's weight is unbiased for models that do not get them,
    since they are made from the same record.
    """

    suffix: ClassVar[str] = "reweighed"
    addition: ClassVar[str] = "with reweighing"
    effect: ClassVar[str] = "training rows weighed so that the label does not depend on the group"
    own_bounds: ClassVar[Mapping[str, Parameter]] = {
        "assignment": Choice(ASSIGNMENTS, "inverse"),
        "protected_input": Choice(INPUTS, "dropped"),
    }
    own_file: ClassVar[str] = WEIGHTS
    compares_groups: ClassVar[bool] = True

    def fit(self, design: Design, options: FitOptions) -> ReweighedModel:
        """Estimate the factors, and fit the learner behind to the weights that they give.

        Raises
        ------
        InvalidParameter
            For labels of a single class, rows that tell no groups, or records that are too few to
            estimate a group's share.
        """
        design.check_classes()
        evidence = evidence_of(design, self.name)
        label = all_labels(design, evidence)
        found = Reweighing.of(evidence, label)
        labelled = evidence.of_labelled(label)
        rows = found.row_weights(labelled, design.label, str(self.parameters["assignment"]))
        weight = rows.weight if design.weight is None else rows.weight * design.weight
        place = design.columns if self.parameters["protected_input"] == "dropped" else None
        table = design.table if place is None else blanked(design.table, place)
        fitted = self.behind.fit(
            replace(design, table=table, weight=weight, evidence=None), options
        )
        return ReweighedModel(self, fitted, place, {**found.to_json(), "clipped": rows.clipped})

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> ReweighedModel:
        """Read the model of the learner behind, and what the weights were."""
        fitted = self.load_behind(files, names, trial=trial)
        try:
            saved = dict(json.loads(files[WEIGHTS]))
            known = saved.pop("protected", None) is not None
            place = saved_place(json.loads(files[WEIGHTS]), len(names)) if known else None
        except (ValueError, KeyError, TypeError) as error:
            raise UnsoundModel(WEIGHTS, f"does not say what was reweighed ({error})") from None
        return ReweighedModel(self, fitted, place, saved)


@dataclass(frozen=True)
class ReweighedModel(Fitted):
    """A model of reweighed rows.

    Attributes
    ----------
    learner : ReweighedLearner
        What made it.
    fitted : Fitted
        Of the learner behind.
    blank : slice or None
        Columns that the model does not get.
    weights : mapping
        The factors, the estimated shares that they follow from, and the share of rows whose weight
        was cut at 0; JSON.
    """

    learner: ReweighedLearner
    fitted: Fitted
    blank: slice | None
    weights: Mapping[str, Any]

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the scores of the model behind."""
        rows = table if self.blank is None else blanked(table, self.blank)
        return self.fitted.scores(rows, threads=threads)

    def save(self) -> dict[str, bytes]:
        """Return the files of the model behind, and what the weights were as JSON."""
        place = None if self.blank is None else [self.blank.start, self.blank.stop]
        saved = {**self.weights, "protected": place}
        return {**self.fitted.save(), WEIGHTS: json.dumps(saved).encode()}
