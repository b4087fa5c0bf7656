"""Learners whose training rows are reweighed, so that the label does not depend on the group."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner, Span, UnsoundModel
from hushpoll_training.learners.parameters import Choice, Parameter
from hushpoll_training.mitigation.design import blanked, evidence_of, saved_place
from hushpoll_training.mitigation.reweighing import ASSIGNMENTS, Reweighing

WEIGHTS = "reweighing.json"
INPUTS = ("dropped", "used")


@dataclass(frozen=True)
class ReweighedLearner(Learner):
    """A learner that is fitted to reweighed rows; see :mod:`hushpoll_training.mitigation`.

    Parameters are those of the learner behind it, and: `assignment`, how a row whose group is
    known through its record gets its weight; `protected_input`, whether the model gets the
    columns of the protected attribute. A row's weight is unbiased for models that do not get them,
    since they are made from the same record.

    Attributes
    ----------
    base : type of Learner
        What is fitted.
    """

    base: ClassVar[type[Learner]]
    compares_groups: ClassVar[bool] = True

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it: the classes have no place to import from."""
        return _restored, (self.base, dict(self.parameters))

    @property
    def behind(self) -> Learner:
        """The learner behind, with its parameters."""
        return self.base({name: self.parameters[name] for name in self.base.bounds})

    @property
    def steps(self) -> int:
        """Those of the learner behind."""
        return self.behind.steps

    def without_privacy(self) -> Learner:
        """Return the learner behind, without mitigation: the NonDP baseline."""
        return self.behind.without_privacy()

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
        found = Reweighing.of(evidence, design.label)
        rows = found.row_weights(evidence, design.label, str(self.parameters["assignment"]))
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
        own = {name: files[name] for name in self.base.files}
        fitted = self.behind.load(own, names, trial=trial)
        try:
            saved = dict(json.loads(files[WEIGHTS]))
            known = saved.pop("protected", None) is not None
            place = saved_place(json.loads(files[WEIGHTS]), len(names)) if known else None
        except (ValueError, KeyError, TypeError) as error:
            raise UnsoundModel(WEIGHTS, f"does not say what was reweighed ({error})") from None
        return ReweighedModel(self, fitted, place, saved)


def _restored(behind: type[Learner], parameters: Mapping[str, Any]) -> ReweighedLearner:
    return with_reweighing(behind)(parameters)


@cache
def with_reweighing(behind: type[Learner]) -> type[ReweighedLearner]:
    """Return the learner that reweighs the rows of another one, which takes weights."""

    @dataclass(frozen=True)
    class WithReweighing(ReweighedLearner):
        base: ClassVar[type[Learner]] = behind
        name: ClassVar[str] = f"{behind.name}-reweighed"
        label: ClassVar[str] = f"{behind.label} with reweighing"
        description: ClassVar[str] = (
            f"{behind.description}; training rows weighed so that the label does not depend on "
            "the group"
        )
        bounds: ClassVar[Mapping[str, Parameter]] = {
            **behind.bounds,
            "assignment": Choice(ASSIGNMENTS, "inverse"),
            "protected_input": Choice(INPUTS, "dropped"),
        }
        refused: ClassVar[Mapping[str, str]] = behind.refused
        space: ClassVar[Mapping[str, Span]] = behind.space
        progress_unit: ClassVar[str] = behind.progress_unit
        files: ClassVar[tuple[str, ...]] = (*behind.files, WEIGHTS)
        distributions: ClassVar[tuple[str, ...]] = behind.distributions
        extra: ClassVar[str | None] = behind.extra

    return WithReweighing


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
