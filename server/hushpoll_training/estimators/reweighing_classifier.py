"""Reweighing as a classifier of scikit-learn's kind that wraps another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hushpoll_protocols import FrequencyOracle
from hushpoll_training.estimators.estimator import GroupAware
from hushpoll_training.learners.evidence import SKIPPED
from hushpoll_training.learners.grouping import Groups
from hushpoll_training.mitigation.reweighing import Reweighing, RowWeights


def _estimator_has(method: str) -> Any:
    def has(self: Any) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), method)

    return has


class ReweighingClassifier(GroupAware):
    """Fit a classifier to reweighed rows, so that the label does not depend on the group.

    Kamiran and Calders (2012), with groups, and labels, that are known through perturbed records;
    see :mod:`hushpoll_training.mitigation.reweighing`. The training rows get parity. What a model
    of them does on other rows is to be measured: reweighing promises nothing about it.

    Parameters
    ----------
    estimator : classifier
        Takes `sample_weight`. Any number of classes that it takes is taken.
    protected : sequence of int, or of sequences of int
        Columns of `X` that hold the protected attribute, one per category; they are not passed on.
        Several such sequences are several attributes, whose groups are crossed: `oracle` and
        `groups` are then sequences of that length, too.
        Empty for rows that are all of one group, where nothing is mitigated.
    oracle : FrequencyOracle, optional
        The protocol of these columns' records; None for one-hot answers in clear.
    groups : tuple of tuples of int, optional
        Codes of each group; by default each category is one. A row of no group weighs 1.
    label_p, label_q : float
        Chance that a reported label is the truth, and a given other one (GRR); 1 and 0 in clear.
        The scores of the wrapped estimator are then about reports: wrap one that corrects them,
        such as :class:`hushpoll_training.LDPClassifier` with the same numbers.
    skipped : object, optional
        The label of rows whose record reports that the target was skipped; None where nobody could
        skip it. They count in the shares, and the estimator is fitted to the others.
        `label_p` and `label_q` are then about reports of answers by people who answered.
    assignment : {"inverse", "posterior"}
        What a row weighs; see :mod:`hushpoll_training.mitigation.reweighing`.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : array
        The labels, in order.
    reweighing_ : Reweighing
        The factors, and the estimated shares.
    weights_ : RowWeights
        What the training rows weighed, before `sample_weight`.
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
        assignment: str = "inverse",
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
        self.assignment = assignment

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ReweighingClassifier:
        """Estimate the factors and fit.

        Parameters
        ----------
        X : array or CSR matrix [n, m], or data frame
            Features, the protected columns among them: 0 or 1.
        y : array[n]
            Labels, as reported.
        sample_weight : array[n], optional
            Not negative. It multiplies the weights, and the shares are estimated without it.

        Raises
        ------
        ValueError
            For anything that cannot be fitted to; an :class:`InvalidParameter` where it is a
            parameter's fault, or where records are too few to estimate a group's share.
        """
        rows = self._rows(X, y, sample_weight)
        kept, classes = rows.label != SKIPPED, max(self.classes_.size, 2)
        if self.classes_.size > 1:
            self.reweighing_ = Reweighing.of(rows.evidence, rows.label, classes)
            self.weights_ = self.reweighing_.row_weights(
                rows.evidence.take(kept), rows.label[kept], self.assignment
            )
        else:  # one class: the estimator behind says whether it takes that
            self.weights_ = RowWeights(np.ones(int(kept.sum())), 0.0)
        weight = self.weights_.weight
        if rows.weight is not None:
            weight = weight * rows.weight[kept]
        self.estimator_ = clone(self.estimator).fit(
            rows.others[kept], rows.y[kept], sample_weight=weight
        )
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the labels that the wrapped classifier predicts; groups are not read."""
        check_is_fitted(self)
        found: npt.NDArray[Any] = self.estimator_.predict(self._other_columns(X))
        return found

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the chance of each class, f64[n, classes], in the order of `classes_`."""
        check_is_fitted(self)
        chances: npt.NDArray[np.float64] = self.estimator_.predict_proba(self._other_columns(X))
        return chances

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the wrapped classifier's scores."""
        check_is_fitted(self)
        scores: npt.NDArray[np.float64] = self.estimator_.decision_function(self._other_columns(X))
        return scores

    def _other_columns(self, X: Any) -> Any:
        return self._split(self._checked(X, reset=False))[1]
