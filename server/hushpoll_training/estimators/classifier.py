"""LightGBM on encoded records, as scikit-learn's classifiers are used.

It is fitted to any numeric matrix, dense or CSR. Where the labels themselves were collected with
GRR, it corrects the scores: a report is the truth with probability `label_p` and the other answer
with `label_q`, and the model's chances of a positive report become chances of a positive truth (see
:mod:`hushpoll_training.data.target`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.data.target import THRESHOLD, Target, corrected
from hushpoll_training.estimators.estimator import check_label_law, checked_weights
from hushpoll_training.estimators.record_encoder import RecordEncoder
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import SEEDS, FitOptions
from hushpoll_training.learners.lightgbm import LightGBM, Trees
from hushpoll_training.models.model import Model


class LDPClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier of records under local differential privacy.

    Parameters
    ----------
    n_estimators, learning_rate, num_leaves, max_depth, min_child_samples, min_child_weight, \
min_split_gain, reg_alpha, reg_lambda, subsample, subsample_freq, colsample_bytree, \
scale_pos_weight, max_bin : int or float
        LightGBM's, by the names of its scikit-learn interface; checked against
        :attr:`hushpoll_training.learners.lightgbm.LightGBM.bounds` when fitting.
    label_p, label_q : float
        Chance that a reported label is the true answer, and a given other answer; 1 and 0 for
        labels in clear. :meth:`for_survey` takes them from a manifest.
    random_state : int, RandomState instance or None
        What the learner draws by. The same integer gives the same model; None draws a new one each
        time.
    n_jobs : int
        Threads, at least 1; results do not depend on it.

    Attributes
    ----------
    classes_ : array[2]
        The labels; the second is the positive one.
    fitted_ : Trees
        What LightGBM has learned.
    rows_ : int
        Rows that were fitted to.
    n_features_in_ : int
        Columns.
    feature_names_in_ : array of str
        Their names, where `X` was a data frame.
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        scale_pos_weight: float = 1.0,
        max_bin: int = 255,
        label_p: float = 1.0,
        label_q: float = 0.0,
        random_state: Any = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.scale_pos_weight = scale_pos_weight
        self.max_bin = max_bin
        self.label_p = label_p
        self.label_q = label_q
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def for_survey(cls, published: Any, **parameters: Any) -> LDPClassifier:
        """Return an unfitted classifier whose scores are corrected for a survey's target.

        Raises
        ------
        InvalidParameter
            If the survey's target gives no labels.
        """
        target = Target.of(published)
        return cls(label_p=target.p, label_q=target.q, **parameters)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LDPClassifier:
        """Fit to encoded rows.

        Parameters
        ----------
        X : array or CSR matrix [n, m], or data frame
            Finite numbers, such as :meth:`RecordEncoder.transform` gives.
        y : array[n]
            Labels of two classes; the one that sorts last is positive.
        sample_weight : array[n], optional
            Weights, not negative.

        Raises
        ------
        ValueError
            For anything that cannot be fitted to; an :class:`InvalidParameter` where it is a
            parameter's fault.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        check_label_law(self.label_p, self.label_q)
        weight = checked_weights(sample_weight, X.shape[0])
        self.classes_, label = np.unique(y, return_inverse=True)
        learner = LightGBM({name: getattr(self, name) for name in LightGBM.bounds})
        names = tuple(f"Column_{place}" for place in range(X.shape[1]))
        design = Design(_for_lightgbm(X), label.astype(np.int64), names, weight=weight)
        options = FitOptions(_seed(self.random_state), self.n_jobs)
        self.fitted_: Trees = learner.fit(design, options)
        self.rows_ = X.shape[0]
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the chance of each class, f64[n, 2] in the order of `classes_`."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        raw = self.fitted_.scores(_for_lightgbm(X), threads=self.n_jobs)
        positive = corrected(raw, self.label_p, self.label_q)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the positive class where its chance is above one half, else the other one."""
        positive = self.predict_proba(X)[:, 1] > THRESHOLD
        classes: npt.NDArray[Any] = self.classes_[positive.astype(np.int64)]
        return classes

    def to_model(self, encoder: RecordEncoder) -> Model:
        """Return the model that :func:`hushpoll_training.save_model` saves, never by pickle.

        Parameters
        ----------
        encoder : RecordEncoder
            The fitted encoder whose features this classifier was fitted to.

        Raises
        ------
        InvalidParameter
            If the classifier was fitted to other columns, to labels other than 0 and 1, or with
            another law of labels than the survey's target has.
        """
        check_is_fitted(self)
        features = encoder.features_
        target = Target.of(features.published)
        if list(self.classes_) != [0, 1]:
            raise InvalidParameter(
                f"the classes are {list(self.classes_)}; a model to save was fitted to 0 and 1, "
                "such as RecordEncoder.labels gives",
                field="y",
            )
        if (self.label_p, self.label_q) != (target.p, target.q):
            raise InvalidParameter(
                f"label_p and label_q are {self.label_p:g} and {self.label_q:g}, and the target "
                f"{target.name} has {target.p:g} and {target.q:g}; make the classifier with "
                "LDPClassifier.for_survey",
                field="label_p",
            )
        if self.n_features_in_ != len(features.names):
            raise InvalidParameter(
                f"the classifier takes {self.n_features_in_} columns and the encoder gives "
                f"{len(features.names)}; give the encoder that it was fitted with",
                field="encoder",
            )
        return Model(features, target, self.fitted_.renamed(features.names), self.rows_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def _for_lightgbm(X: Any) -> Any:
    # LightGBM accepts only the older of SciPy's two kinds, with 32-bit indices.
    if issparse(X):
        return csr_matrix((X.data, X.indices.astype(np.int32), X.indptr), shape=X.shape)
    return X


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(SEEDS))
    return int(check_random_state(random_state).randint(SEEDS, dtype=np.int64))
