"""Learners with a threshold for each group, whose rates are estimated from perturbed records.

A part of the records is held out; the learner is fitted to the rest, and the rates of each group
at each threshold are estimated on the held-out part, without anybody's group in clear. When the
model predicts, it reads the person's group in clear.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.evidence import check_groups
from hushpoll_training.learners.grouping import PARAMETERS, Grouping, Groups
from hushpoll_training.learners.learner import FitOptions, Fitted, UnsoundModel
from hushpoll_training.learners.parameters import Choice, Parameter, Range
from hushpoll_training.learners.wrapped import WrappedLearner
from hushpoll_training.mitigation.coins import KEY_BYTES, row_coins
from hushpoll_training.mitigation.design import (
    all_labels,
    at_code,
    compared_places,
    evidence_of,
    groups_of,
    part,
    places_to_json,
    saved_places,
)
from hushpoll_training.mitigation.rates import estimate_rates
from hushpoll_training.mitigation.thresholds import (
    CRITERIA,
    OBJECTIVES,
    Disparity,
    ThresholdRule,
    disparities,
    rule_file,
    threshold_rule,
)

RULE = "thresholds.json"


@dataclass(frozen=True)
class ThresholdLearner(WrappedLearner):
    """A learner, and randomised thresholds for its scores in each group.

    Parameters are those of the learner behind it, and: `criterion`, what is made equal;
    `tolerance`, by how much the estimated rates may differ; `objective`, what is made as large as
    possible; `thresholds`, how many quantiles of the scores may be thresholds; `held_out`, the
    share of the rows that rates are estimated on; `groups` and `further_groups`, which groups are
    compared. A person's group of each of these attributes is read in clear when predicting.
    """

    suffix: ClassVar[str] = "thresholds"
    addition: ClassVar[str] = "with thresholds"
    effect: ClassVar[str] = (
        "a randomised threshold for each group, so that rates of the groups are alike"
    )
    own_bounds: ClassVar[Mapping[str, Parameter]] = {
        "criterion": Choice(CRITERIA, "demographic-parity"),
        "tolerance": Range(float, 0, 1, 0.0),
        "objective": Choice(OBJECTIVES, "accuracy"),
        "thresholds": Range(int, 1, 1000, 20),
        "held_out": Range(float, 0.01, 0.9, 1 / 3),
        **PARAMETERS,
    }
    own_file: ClassVar[str] = RULE
    compares_groups: ClassVar[bool] = True
    reads_group: ClassVar[bool] = True

    def fit(self, design: Design, options: FitOptions) -> ThresholdModel:
        """Fit the learner behind to a part of the rows and the thresholds to the rest.

        Refuses labels of a single class, rows that tell no groups, columns without the protected
        attribute, and records that are too few to estimate a group's share.
        """
        design.check_classes()
        grouping = Grouping.of(self.parameters)
        evidence = evidence_of(design, self.name, grouping)
        if design.columns is None:
            raise InvalidParameter(
                f"the learner {self.name} has a threshold for each group, but the model does not "
                "get the protected attribute; evaluate it at each value (each-value), or use "
                f"{self.base.name}-reweighed",
                field="protected_input",
            )
        places = compared_places(design, grouping, design.columns)
        label = all_labels(design, evidence)
        chance = np.random.default_rng([options.seed, 1])
        drawn = chance.random(label.size) < float(self.parameters["held_out"])
        held = drawn[: design.label.size]
        if held.all() or not held.any():
            raise InvalidParameter(
                f"of {held.size} rows {int(held.sum())} are held out to estimate rates on; give "
                "more rows, or another held_out",
                field="held_out",
            )
        fitted = self.behind.fit(part(design, ~held), options)
        known, reported = evidence.take(drawn), label[drawn]
        table = csr_matrix(design.table[held])
        if design.skipped is not None:
            silent = design.skipped()[drawn[design.label.size :]]
            table = vstack([table, csr_matrix(silent)], format="csr", dtype=table.dtype)
        scores = [
            {
                code: fitted.scores(at_code(table, places, code), threads=options.threads)
                for code in codes
            }
            for codes in evidence.groups
        ]
        cut = (evidence.label_p + evidence.label_q) / 2
        rates = estimate_rates(
            known, reported, scores, grid=int(self.parameters["thresholds"]), always=cut
        )
        rule = threshold_rule(
            rates,
            str(self.parameters["criterion"]),
            float(self.parameters["tolerance"]),
            objective=str(self.parameters["objective"]),
        )
        measured = disparities(known, reported, scores, rule)
        key = np.random.default_rng([options.seed, 2]).bytes(KEY_BYTES)
        place = ThresholdPlace(places, evidence.groups, cut, key)
        return ThresholdModel(self, fitted, rule, place, measured)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> ThresholdModel:
        """Read the model of the learner behind, and the rule."""
        fitted = self.load_behind(files, names, trial=trial)
        try:
            saved = json.loads(files[RULE])
            rule = ThresholdRule.from_json(saved)
            place = ThresholdPlace.from_json(saved, len(names))
            measured = tuple(Disparity.from_json(one) for one in saved["measured"])
            if len(place.groups) != len(rule.chances):
                raise ValueError("has another number of groups than of rows of chances")
        except (ValueError, KeyError, TypeError, InvalidParameter) as error:
            raise UnsoundModel(RULE, f"is no rule of thresholds ({error})") from None
        return ThresholdModel(self, fitted, rule, place, measured)


@dataclass(frozen=True)
class ThresholdPlace:
    """Where a rule finds a row's group, and which coins decide."""

    columns: tuple[slice, ...]
    """The columns of the protected attribute, and of those that it is crossed with."""
    groups: Groups
    """Codes of each group, in the order of the rule's rows; see
    :mod:`hushpoll_training.learners.grouping`."""
    cut: float
    """The model's own threshold, on which the rule's predictions are shown: one half, or what a
    score of one half is before it is corrected for a perturbed target."""
    key: bytes
    """Of the hash that gives each row its coin."""

    def to_json(self) -> JsonMembers:
        """Return it as saved models hold it."""
        return {
            **places_to_json(self.columns),
            "groups": [list(codes) for codes in self.groups],
            "cut": self.cut,
            "key": self.key.hex(),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], columns: int) -> ThresholdPlace:
        """Read what :meth:`to_json` wrote.

        Refuses a place that a model of this many columns has not.
        """
        places = saved_places(saved, columns)
        groups = tuple(tuple(int(code) for code in codes) for codes in saved["groups"])
        check_groups(groups, prod(place.stop - place.start for place in places))
        key, cut = bytes.fromhex(saved["key"]), float(saved["cut"])
        if len(key) != KEY_BYTES or not 0 < cut < 1:
            raise ValueError("has a key of another length, or a cut outside (0, 1)")
        return cls(places, groups, cut, key)


@dataclass(frozen=True)
class ThresholdModel(Fitted):
    """A fitted model and the thresholds of its scores.

    The coin of a row is a keyed hash of its features, so the same row always gets the same
    decision. Rows of no group are predicted by the model's own threshold.
    """

    learner: ThresholdLearner
    fitted: Fitted
    rule: ThresholdRule
    """A row of chances for each group."""
    place: ThresholdPlace
    """Where groups are found."""
    measured: tuple[Disparity, ...] = ()
    """What the held-out rows show under the rule."""

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return scores in [0, 1] that are above the cut where the prediction is positive.

        Within the rows that are predicted alike, they are in the order of the model's own scores.
        They are no probabilities.
        """
        own, cut = self.fitted.scores(table, threads=threads), self.place.cut
        group = groups_of(table, self.place.columns, self.place.groups)
        chance = self.rule.chance(own, np.maximum(group, 0))
        positive = np.where(group >= 0, self.coins(table) < chance, own > cut)
        above = np.nextafter(cut, 1) + own * (1 - cut) * 0.9999
        return np.where(positive, np.minimum(above, 1.0), own * cut)

    def coins(self, table: Table) -> npt.NDArray[np.float64]:
        """Return the coin of each row, f64[n] in [0, 1)."""
        return row_coins(table, self.place.key)

    def save(self) -> dict[str, bytes]:
        """Return the files of the model behind, and the rule as JSON."""
        measured = [one.to_json() for one in self.measured]
        return {
            **self.fitted.save(),
            RULE: rule_file(self.rule, **self.place.to_json(), measured=measured),
        }
