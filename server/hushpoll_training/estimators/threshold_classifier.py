"""Randomised thresholds of groups as a classifier of scikit-learn's kind, round another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.estimators.estimator import GroupAware
from hushpoll_training.learners.evidence import SKIPPED, Array, GroupEvidence, row_products
from hushpoll_training.learners.grouping import Groups
from hushpoll_training.mitigation.coins import KEY_BYTES, row_coins
from hushpoll_training.mitigation.rates import estimate_rates
from hushpoll_training.mitigation.report_law import CrossedLaw, ReportLaw
from hushpoll_training.mitigation.thresholds import check_criterion, disparities, threshold_rule

AT_PREDICTION: Final = ("clear", "perturbed")


class ThresholdClassifier(GroupAware):
    """Predict by thresholds that make rates of the groups alike, for two classes.

    Hardt, Price and Srebro (2016), with rates that are estimated through the inverse channel
    (Mozannar, Ohannessian and Srebro, 2020). See :mod:`hushpoll_training.mitigation.thresholds`.

    Parameters
    ----------
    estimator : classifier
        Has `predict_proba` or `decision_function`.
    protected : sequence of int, or of sequences of int
        Columns of `X` that hold the protected attribute, one per category; they are not passed on.
        Several such sequences are several attributes, whose groups are crossed: `oracle` and
        `groups` are then sequences of that length, too.
        Empty for rows that are all of one group, which get one threshold.
    oracle : FrequencyOracle, optional
        The protocol of these columns' records when fitting; None for one-hot answers in clear.
    groups : tuple of tuples of int, optional
        Codes of each group; by default each category is one.
    label_p, label_q : float
        Chance that a reported label is the truth, and a given other one (GRR); 1 and 0 in clear.
    skipped : object, optional
        The label of rows whose record reports that the target was skipped; None where nobody could
        skip it. They count in the rates, and the estimator is fitted to the others.
        `label_p` and `label_q` are then about reports of answers by people who answered.
    criterion : {"demographic-parity", "equal-opportunity", "equalized-odds"}
        What is made alike.
    tolerance : float
        By how much the estimated rates of two groups may differ, in [0, 1].
    objective : {"accuracy", "balanced-accuracy"}
        What is made as large as possible.
    thresholds : int
        Quantiles of the scores that may be thresholds, at least 1.
    held_out : float
        Share of the rows that rates are estimated on, in (0, 1); the estimator is fitted to the
        others.
    at_prediction : {"clear", "perturbed"}
        What the protected columns hold when predicting. ``clear``: one-hot answers. The person who
        predicts sees each group. ``perturbed``: records of `oracle`. A rule for reports is noise in
        part: it is laxer or stricter with people because of what their record happens to say, and
        it can do less the smaller epsilon is.
    random_state : int, RandomState instance or None
        What the rows held out, and the coins, are drawn by.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : array[2]
        The labels; the second is the positive one.
    rule_ : ThresholdRule
        Chances of a positive prediction, by group or by report.
    disparities_ : tuple of Disparity
        What the rows held out show, with intervals of 95 %.
    n_features_in_ : int
        Columns.
    """

    def __init__(
        self,
        estimator: Any,
        protected: Any = (),
        *,
        oracle: FrequencyOracle | Sequence[FrequencyOracle | None] | None = None,
        groups: Groups | Sequence[Groups | None] | None = None,
        label_p: float = 1.0,
        label_q: float = 0.0,
        skipped: Any = None,
        criterion: str = "demographic-parity",
        tolerance: float = 0.0,
        objective: str = "accuracy",
        thresholds: int = 20,
        held_out: float = 1 / 3,
        at_prediction: str = "clear",
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            estimator,
            protected,
            oracle=oracle,
            groups=groups,
            label_p=label_p,
            label_q=label_q,
            skipped=skipped,
        )
        self.criterion = criterion
        self.tolerance = tolerance
        self.objective = objective
        self.thresholds = thresholds
        self.held_out = held_out
        self.at_prediction = at_prediction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ThresholdClassifier:
        """Fit the estimator to a part of the rows, and the thresholds to the others.

        Parameters
        ----------
        X : array or CSR matrix [n, m], or data frame
            Features, the protected columns among them: 0 or 1.
        y : array[n]
            Labels of two classes, as reported; the one that sorts last is positive.
        sample_weight : array[n], optional
            Not negative; passed to the estimator. Rates count every row held out once.

        Raises
        ------
        ValueError
            For anything that cannot be fitted to; an :class:`InvalidParameter` where it is a
            parameter's fault, or where records are too few to estimate a group's rates.
        """
        rows = self._rows(X, y, sample_weight)
        label, known = rows.label, rows.label != SKIPPED
        kind = type_of_target(rows.y[known], input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                "Only binary classification is supported: the rates that thresholds make alike are "
                f"those of one positive class. The type of the target is {kind}."
            )
        self._check_parameters()
        if self.classes_.size < 2:
            raise ValueError(
                "The number of classes is 1 class; thresholds need labels of two classes"
            )
        evidence = rows.evidence
        self._law(evidence)
        chance = check_random_state(self.random_state)
        held = self._held_out_rows(chance, label)
        fitted_to = ~held & known
        weights = {} if rows.weight is None else {"sample_weight": rows.weight[fitted_to]}
        behind = clone(self.estimator)
        self.estimator_ = behind.fit(rows.others[fitted_to], rows.y[fitted_to], **weights)
        measured, score = evidence.take(held), self._scores(rows.others[held])
        scores = [dict.fromkeys(codes, score) for codes in evidence.groups]
        rates = estimate_rates(
            measured, label[held], scores, grid=self.thresholds, always=self._own_threshold()
        )
        law = None if self.at_prediction == "clear" else self._reports.chances
        self.rule_ = threshold_rule(
            rates, self.criterion, self.tolerance, objective=self.objective, chances=law
        )
        self.disparities_ = disparities(measured, label[held], scores, self.rule_, law)
        self._key = chance.bytes(KEY_BYTES)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the labels, array[n]; the same row always gets the same one.

        A row's coin is a keyed hash of the row. With groups in clear, a row of no group gets what
        the estimator's own threshold says.
        """
        positive = self.positive_chance(X)
        found: npt.NDArray[Any] = self.classes_[(self._coins(X) < positive).astype(np.int64)]
        return found

    def positive_chance(self, X: Any) -> Array:
        """Return the chance that each row is predicted positive before its coin is tossed, f64[n].

        It is no chance that the label is positive.
        """
        check_is_fitted(self)
        indicators, others = self._split(self._checked(X, reset=False))
        score, kind = self._scores(others), self._kind(indicators)
        known = kind < len(self.rule_.chances)
        chance = self.rule_.chance(score, np.where(known, kind, 0))
        return np.where(known, chance, (score > self._own_threshold()).astype(np.float64))

    def _check_parameters(self) -> None:
        check_criterion(self.criterion, self.tolerance, self.objective)
        if self.at_prediction not in AT_PREDICTION:
            raise InvalidParameter(
                f"at_prediction is {self.at_prediction!r}; it must be one of "
                f"{', '.join(AT_PREDICTION)}",
                field="at_prediction",
            )
        if not 0 < self.held_out < 1:
            raise InvalidParameter(
                f"held_out is {self.held_out}; it must lie in (0, 1)", field="held_out"
            )
        if not isinstance(self.thresholds, int | np.integer) or self.thresholds < 1:
            raise InvalidParameter(
                f"thresholds is {self.thresholds!r}; it must be a whole number of at least 1",
                field="thresholds",
            )

    def _law(self, evidence: GroupEvidence) -> None:
        if self.at_prediction == "clear":
            self._reports: ReportLaw | CrossedLaw = ReportLaw(None, evidence.groups, evidence.k)
            return
        laws = [
            ReportLaw(each.oracle, groups, each.k)
            for each, groups in zip(
                evidence.reports,
                self._each_groups(tuple(each.indicators for each in evidence.reports)),
                strict=True,
            )
        ]
        self._reports = laws[0] if len(laws) == 1 else CrossedLaw(laws)

    def _kind(self, indicators: tuple[npt.NDArray[np.uint8], ...]) -> npt.NDArray[np.int64]:
        """Return the class of each row: its group in clear, or its report."""
        if isinstance(self._reports, CrossedLaw):
            return self._reports.classes(indicators)
        return self._reports.classes(row_products(indicators))

    def _held_out_rows(self, chance: Any, label: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which rows are held out, stratified on the label."""
        try:
            _, held = train_test_split(
                np.arange(label.size),
                test_size=float(self.held_out),
                random_state=chance,
                stratify=label,
            )
        except ValueError as error:
            raise InvalidParameter(
                f"{label.size} rows cannot be split with {self.held_out:g} of them held out, and "
                f"both classes in each part ({error}); give more rows, or another held_out",
                field="held_out",
            ) from error
        mask = np.zeros(label.size, np.bool_)
        mask[held] = True
        return mask

    def _scores(self, others: Any) -> Array:
        if hasattr(self.estimator_, "predict_proba"):
            return np.asarray(self.estimator_.predict_proba(others)[:, 1], np.float64)
        return np.asarray(self.estimator_.decision_function(others), np.float64)

    def _own_threshold(self) -> float:
        return 0.5 if hasattr(self.estimator_, "predict_proba") else 0.0

    def _coins(self, X: Any) -> Array:
        rows = self._checked(X, reset=False)
        return row_coins(csr_matrix(rows), self._key)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags
