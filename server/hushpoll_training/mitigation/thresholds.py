"""Randomised thresholds for each group: the most accurate ones whose rates differ by little.

Hardt, Price and Srebro, "Equality of Opportunity in Supervised Learning", NIPS 2016: the fitted
model stays, and a person is predicted positive where the score is above a threshold that depends on
the group, drawn by the person's coin from a few. Which thresholds, and how often, is a linear
program: maximise the expected accuracy, or balanced accuracy, while the rates of each two groups
differ by at most a tolerance. With rates that are estimated from perturbed records this is the
post-processing of Mozannar, Ohannessian and Srebro (ICML 2020).

A program may know a person's group when it predicts, or a report of it alone. Then thresholds
belong to the reports, and the rate of a group is an average over its reports by their exact law.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_matrix

from hushpoll_analysis.auditing.moments import RATE_TERMS, Moments
from hushpoll_analysis.auditing.sets import metric_set
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import CONFIDENCE, METRICS
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_training.learners.evidence import Array, GroupEvidence
from hushpoll_training.mitigation.rates import Scores, ThresholdRates

CRITERIA: Final = ("demographic-parity", "equal-opportunity", "equalized-odds")
OBJECTIVES: Final = ("accuracy", "balanced-accuracy")
_SMALLEST: Final = 1e-9
"""Chance below which a threshold of the program's solution is rounding."""


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """Which chance of a positive prediction a score has, by the person's class."""

    thresholds: Array
    """f64[m], ascending and finite."""
    chances: Array
    """f64[classes, m + 1], not falling along each row: the chance of a positive prediction for a
    score that is above j of the thresholds."""

    def chance(self, scores: Array, classes: npt.NDArray[np.int64]) -> Array:
        """Return each row's chance to be predicted positive, f64[n], by its group or report."""
        above = np.searchsorted(self.thresholds, scores, side="left")
        chances: Array = self.chances[classes, above]
        return chances

    def to_json(self) -> JsonMembers:
        """Return the rule as saved models hold it."""
        return {"thresholds": self.thresholds.tolist(), "chances": self.chances.tolist()}

    @classmethod
    def from_json(cls, saved: JsonObject) -> ThresholdRule:
        """Read what :meth:`to_json` wrote.

        Refuses thresholds that do not rise, and chances that fall.
        """
        thresholds = np.array(saved["thresholds"], np.float64)
        chances = np.array(saved["chances"], np.float64)
        sound = (
            thresholds.ndim == 1
            and chances.ndim == 2
            and chances.shape[1] == thresholds.size + 1
            and np.isfinite(thresholds).all()
            and (np.diff(thresholds) > 0).all()
            and ((chances >= 0) & (chances <= 1)).all()
            and (np.diff(chances, axis=1) >= 0).all()
        )
        if not sound:
            raise ValueError(
                "thresholds must rise, and chances must be rows of one number more than these, in "
                "[0, 1] and not falling"
            )
        return cls(thresholds, chances)


def threshold_rule(
    rates: ThresholdRates,
    criterion: str,
    tolerance: float,
    *,
    objective: str = "accuracy",
    chances: Array | None = None,
) -> ThresholdRule:
    """Return the best rule within a tolerance, in [0, 1], by which rates of two groups may differ.

    The criterion is ``demographic-parity`` (rates of positive predictions), ``equal-opportunity``
    (true positive rates) or ``equalized-odds`` (both true and false positive rates). The objective
    is ``accuracy`` or ``balanced-accuracy``: where one class is rare, the most accurate rule within
    a small tolerance can be a constant one; balanced accuracy counts both classes alike. `chances`,
    f64[groups, classes], are those of the classes that the rule tells apart, given the group; by
    default these are the groups.
    """
    check_criterion(criterion, tolerance, objective)
    groups, columns = rates.cells.shape[0], rates.thresholds.size
    law = np.eye(groups) if chances is None else chances
    classes = law.shape[1]
    # A variable is the chance that a class's threshold is the one of a place of the grid.
    counted = rates.cells if objective == "accuracy" else rates.cells / rates.cells.sum(axis=0)
    gain = counted[:, 1, None] * rates.above[:, 1] - counted[:, 0, None] * rates.above[:, 0]
    loss = -np.einsum("gb,gt->bt", law, gain).ravel()
    compared = {
        "demographic-parity": [rates.positive],
        "equal-opportunity": [rates.above[:, 1]],
        "equalized-odds": [rates.above[:, 1], rates.above[:, 0]],
    }[criterion]
    rows = []
    for rate in compared:
        by_group = np.einsum("gb,gt->gbt", law, rate).reshape(groups, -1)
        for one, other in combinations(range(groups), 2):
            rows += [by_group[one] - by_group[other], by_group[other] - by_group[one]]
    limits = {"A_ub": np.stack(rows), "b_ub": np.full(len(rows), tolerance)} if rows else {}
    found = linprog(
        loss,
        A_eq=csr_matrix(block_diag([np.ones((1, columns))] * classes)),
        b_eq=np.ones(classes),
        bounds=(0, 1),
        method="highs",
        **limits,
    )
    if found.x is None:  # the rule that predicts nobody positive keeps every limit
        raise ArithmeticError(f"the linear program of the thresholds has no solution: {found}")
    shares = np.where(found.x > _SMALLEST, found.x, 0.0).reshape(classes, columns)
    shares /= shares.sum(axis=1, keepdims=True)
    cumulative = np.minimum(shares.cumsum(axis=1), 1.0)
    return _shortened(rates.thresholds[1:-1], cumulative[:, :-1])


def _shortened(thresholds: Array, chances: Array) -> ThresholdRule:
    """Leave out thresholds at which no class's chance changes."""
    used = (np.diff(chances, axis=1) > 0).any(axis=0)
    return ThresholdRule(
        thresholds[used], np.concatenate([chances[:, :1], chances[:, 1:][:, used]], axis=1)
    )


@dataclass(frozen=True, slots=True)
class Disparity:
    """By how much a group's rate is larger than another's, on the rows that the rule was set on."""

    rate: str
    """``positive`` predictions, ``true positive`` or ``false positive`` ones."""
    groups: tuple[int, int]
    """The group whose rate is taken off, and the other one."""
    value: float
    """Estimated, and not clipped; nan where no row tells of such people in a group."""
    standard_error: float
    """By the delta method, or that of Wilson's interval where it is larger; nan where the interval
    has no bound."""
    lower: float
    """Of the interval of 95 %, the set of :func:`hushpoll_analysis.auditing.sets.metric_set`, which
    holds the truth for groups of a few people, too. Infinite where it has no bound, because the
    records do not tell whether the group has such people."""
    upper: float

    def to_json(self) -> JsonMembers:
        """Return it as saved models hold it; a number that there is not is null."""
        return {
            "rate": self.rate,
            "groups": list(self.groups),
            **{name: _or_null(getattr(self, name)) for name in _WITHOUT},
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Disparity:
        """Read what :meth:`to_json` wrote."""
        one, other = saved["groups"]
        numbers = (
            nothing if saved[name] is None else float(saved[name])
            for name, nothing in _WITHOUT.items()
        )
        return cls(str(saved["rate"]), (int(one), int(other)), *numbers)


_WITHOUT: Final = {
    "value": math.nan,
    "standard_error": math.nan,
    "lower": -math.inf,
    "upper": math.inf,
}
"""Numbers of a disparity, and what stands for null in them."""


def _or_null(number: float) -> float | None:
    return number if math.isfinite(number) else None


def disparities(
    evidence: GroupEvidence,
    label: npt.NDArray[np.int64],
    scores: Scores,
    rule: ThresholdRule,
    law: Array | None = None,
) -> tuple[Disparity, ...]:
    """Return how far the rates of each two groups are apart under a rule, with intervals.

    Each interval holds by itself. It has the sampling of rows and the noise of their records, and
    not the choice of the rule, which was made on the same rows. Rows are as for
    :func:`hushpoll_training.mitigation.rates.estimate_rates`; `law` is as `chances` of
    :func:`threshold_rule`, for a rule of its classes.
    """
    own, classes = evidence.category_weights(), evidence.label_weights(label, 2)
    groups = len(evidence.groups)
    averages = np.eye(groups) if law is None else law
    # The terms of an audit, with the chance of a positive prediction in place of the prediction.
    terms = np.zeros((groups, label.size, 4))
    for group, by_code in enumerate(scores):
        for code, score in by_code.items():
            kinds = range(averages.shape[1])
            chance = sum(
                averages[group, kind] * rule.chance(score, np.full(label.size, kind))
                for kind in kinds
            )
            weighed = own[:, code, None] * classes[:, ::-1]
            terms[group, :, :2] += weighed
            terms[group, :, 2:] += weighed * np.asarray(chance)[:, None]
    pairs = list(combinations(range(groups), 2))
    if not pairs:
        return ()
    moments = _moments(terms, np.array(pairs))
    found = []
    for rate, metric in _COMPARED:
        known, values = metric_set(moments, metric, confidence=CONFIDENCE), _gaps(moments, metric)
        numbers = (values, known.standard_error, known.lower, known.upper)
        for pair, each in zip(pairs, np.stack(numbers, axis=1).tolist(), strict=True):
            found.append(Disparity(rate, pair, *each))
    return tuple(found)


_COMPARED: Final = (("positive", "SPD"), ("true positive", "EOD"), ("false positive", "FPRD"))
"""Rates, and the metrics of audits that are differences of them."""

_ROWS: Final = 1 << 14
"""Whose products are in memory at once."""


def _moments(terms: Array, pairs: npt.NDArray[np.int64]) -> Moments:
    """Return the moments of pairs int64[m, 2] of groups, from each group's terms f64[groups, n, 4].

    They are those of :meth:`Moments.of`, but what concerns one group is computed once.
    """
    groups, n, _ = terms.shape
    third, fourth = np.zeros((groups, 4, 16)), np.zeros((groups, 16, 16))
    for start in range(0, n, _ROWS):
        block = terms[:, start : start + _ROWS]
        products = (block[..., :, None] * block[..., None, :]).reshape(*block.shape[:2], 16)
        third += np.swapaxes(block, 1, 2) @ products
        fourth += np.swapaxes(products, 1, 2) @ products
    flat = terms.transpose(1, 0, 2).reshape(n, 4 * groups)
    places = (4 * pairs[:, :, None] + np.arange(4)).reshape(-1, 8)
    return Moments(
        n,
        flat.mean(axis=0)[places],
        (flat.T @ flat / n)[places[:, :, None], places[:, None, :]],
        (third / n).reshape(groups, 4, 4, 4)[pairs],
        (fourth / n)[pairs],
    )


def _gaps(moments: Moments, metric: str) -> Array:
    """Return R_1 - R_0 of the only rate of a metric, whether or not its interval has a bound."""
    numerator, denominator = RATE_TERMS[METRICS[metric].rates[0].name]
    own = moments.mean.reshape(-1, 2, 4)
    people = own @ denominator
    rates = (own @ numerator) / np.where(people == 0, np.nan, people)
    gaps: Array = rates[:, 1] - rates[:, 0]
    return gaps


def check_criterion(criterion: str, tolerance: float, objective: str = "accuracy") -> None:
    """Refuse another criterion or objective, or a tolerance outside [0, 1]."""
    for field, word, words in (
        ("criterion", criterion, CRITERIA),
        ("objective", objective, OBJECTIVES),
    ):
        if word not in words:
            raise InvalidParameter(
                f"{field} is {word!r}; it must be one of {', '.join(words)}", field=field
            )
    if not 0 <= tolerance <= 1:
        raise InvalidParameter(
            f"tolerance is {tolerance}; it must lie in [0, 1]", field="tolerance"
        )


def rule_file(rule: ThresholdRule, **more: Any) -> bytes:
    """Return the content of the file that a model's rule is saved in."""
    return json.dumps({**rule.to_json(), **more}).encode()
