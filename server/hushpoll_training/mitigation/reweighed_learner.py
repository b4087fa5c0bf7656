"""Learners whose training rows are reweighed, so that the label does not depend on the group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.grouping import PARAMETERS, Grouping
from hushpoll_training.learners.learner import FitOptions, Fitted, UnsoundModel
from hushpoll_training.learners.parameters import Choice, Parameter
from hushpoll_training.learners.wrapped import WrappedLearner
from hushpoll_training.mitigation.design import (
    all_labels,
    blanked,
    evidence_of,
    places_to_json,
    saved_places,
)
from hushpoll_training.mitigation.reweighing import ASSIGNMENTS, Reweighing

WEIGHTS = "reweighing.json"
INPUTS = ("dropped", "used")


@dataclass(frozen=True)
class ReweighedLearner(WrappedLearner):
    """A learner that is fitted to reweighed rows; see :mod:`hushpoll_training.mitigation`.

    Parameters are those of the learner behind it, and: `assignment`, how a row whose group is
    known through its record gets its weight; `protected_input`, whether the model gets the
    columns of the protected attribute. A row's weight is unbiased for models that do not get them,
    since they are made from the same record. `groups` and `further_groups` say which groups are
    compared; the model then gets none of the columns of the further attributes either.
    """

    suffix: ClassVar[str] = "reweighed"
    addition: ClassVar[str] = "with reweighing"
    effect: ClassVar[str] = "training rows weighed so that the label does not depend on the group"
    own_bounds: ClassVar[Mapping[str, Parameter]] = {
        "assignment": Choice(ASSIGNMENTS, "inverse"),
        "protected_input": Choice(INPUTS, "dropped"),
        **PARAMETERS,
    }
    own_file: ClassVar[str] = WEIGHTS
    compares_groups: ClassVar[bool] = True

    def fit(self, design: Design, options: FitOptions) -> ReweighedModel:
        """Estimate the factors, and fit the learner behind to the weights that they give.

        Refuses labels of a single class, rows that tell no groups, and records that are too few to
        estimate a group's share.
        """
        design.check_classes()
        grouping = Grouping.of(self.parameters)
        evidence = evidence_of(design, self.name, grouping)
        label = all_labels(design, evidence)
        found = Reweighing.of(evidence, label)
        labelled = evidence.of_labelled(label)
        rows = found.row_weights(labelled, design.label, str(self.parameters["assignment"]))
        weight = rows.weight if design.weight is None else rows.weight * design.weight
        places: tuple[slice, ...] = ()
        if self.parameters["protected_input"] == "dropped":
            # without the protected attribute's columns, an audit leaves the further ones
            further = [design.places[name] for name in grouping.further if name in design.places]
            places = (*([] if design.columns is None else [design.columns]), *further)
        table = design.table
        for place in places:
            table = blanked(table, place)
        fitted = self.behind.fit(
            replace(design, table=table, weight=weight, evidence=None), options
        )
        said = {**found.to_json(), "clipped": rows.clipped}
        return ReweighedModel(self, fitted, places, said)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> ReweighedModel:
        """Read the model of the learner behind, and what the weights were."""
        fitted = self.load_behind(files, names, trial=trial)
        try:
            saved = dict(json.loads(files[WEIGHTS]))
            known = saved.pop("protected", None) is not None
            saved.pop("further", None)
            places = saved_places(json.loads(files[WEIGHTS]), len(names)) if known else ()
        except (ValueError, KeyError, TypeError) as error:
            raise UnsoundModel(WEIGHTS, f"does not say what was reweighed ({error})") from None
        return ReweighedModel(self, fitted, places, saved)


@dataclass(frozen=True)
class ReweighedModel(Fitted):
    """A model of reweighed rows."""

    learner: ReweighedLearner
    fitted: Fitted
    blank: tuple[slice, ...]
    """Columns that the model does not get."""
    weights: JsonObject
    """The factors, the estimated shares that they follow from, and the share of rows whose weight
    was cut at 0; JSON."""

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the scores of the model behind."""
        for place in self.blank:
            table = blanked(table, place)
        return self.fitted.scores(table, threads=threads)

    def save(self) -> dict[str, bytes]:
        """Return the files of the model behind, and what the weights were as JSON."""
        places = places_to_json(self.blank) if self.blank else {"protected": None}
        saved = {**self.weights, **places}
        return {**self.fitted.save(), WEIGHTS: json.dumps(saved).encode()}
