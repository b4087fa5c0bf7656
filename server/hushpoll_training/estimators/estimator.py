"""What the mitigating estimators of scikit-learn's kind share: where `X` tells the groups.

Columns of `X` hold the protected attribute: a record's support, as
:class:`hushpoll_training.RecordEncoder` gives it with the encoding ``indicator``, or the one-hot
answer in clear. The estimator behind does not get them. So its scores do not depend on the record
of a row's group, which everything that follows from the inverse channel needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from hushpoll_analysis.records.laws import refuse_block
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.estimators.record_encoder import RecordEncoder
from hushpoll_training.learners.evidence import (
    SKIPPED,
    GroupEvidence,
    Reports,
    check_groups,
)
from hushpoll_training.learners.grouping import DECLARED, Grouping, Groups, crossed
from hushpoll_training.mitigation.records import compared_attributes, compared_groups

Indicators = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Training rows as they are read."""

    others: Any
    """The columns that the estimator gets, [n, m]."""
    label: npt.NDArray[np.int64]
    """int64[n], places of the labels in `classes_`, or `SKIPPED`."""
    y: npt.NDArray[Any]
    """The labels."""
    evidence: GroupEvidence
    """What the protected columns tell."""
    weight: npt.NDArray[np.float64] | None
    """f64[n], sample weights, if there are any."""


class GroupAware(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that wraps another one, and reads groups from columns of `X`.

    The parameters of this class are described in its subclasses, which have more.
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
    ) -> None:
        self.estimator = estimator
        self.protected = protected
        self.oracle = oracle
        self.groups = groups
        self.label_p = label_p
        self.label_q = label_q
        self.skipped = skipped

    @classmethod
    def for_survey(
        cls,
        encoder: RecordEncoder,
        estimator: Any,
        *,
        grouping: Grouping = DECLARED,
        **parameters: Any,
    ) -> Any:
        """Return the estimator for records of a survey, unfitted.

        Where the target is perturbed and may be skipped, `y` is -1 for the records that report no
        label: ``label, answered = encoder.labels(records)`` and ``np.where(answered, label, -1)``.

        Parameters
        ----------
        encoder : RecordEncoder
            Fitted, with the encoding ``indicator``; its columns are those of `X`.
        estimator : classifier
            To wrap.
        grouping : Grouping
            Which groups are compared.
        **parameters
            Those of the class, but those that the survey says.

        Raises
        ------
        InvalidParameter
            If the survey declares no protected attribute, or has no further one of that name, its
            target gives no labels, or the encoding is another one.
        """
        published: Published = encoder.features_.published
        if encoder.encoding != "indicator":
            raise InvalidParameter(
                f"the encoding is {encoder.encoding!r}, whose columns are no supports of records; "
                "mitigation needs the encoding indicator",
                field="encoding",
            )
        attributes = compared_attributes(published, grouping)
        for attribute in attributes:
            refuse_block(attribute)
        places = [encoder.features_.columns_of(attribute.name) for attribute in attributes]
        target = Target.of(published)
        columns = tuple(tuple(range(place.start, place.stop)) for place in places)
        oracles = tuple(attribute.oracle for attribute in attributes)
        groups = compared_groups(published, grouping)
        alone = len(attributes) == 1
        return cls(
            estimator,
            columns[0] if alone else columns,
            oracle=oracles[0] if alone else oracles,
            groups=groups[0] if alone else groups,
            label_p=target.p,
            label_q=target.q,
            skipped=SKIPPED if target.skippable else None,
            **parameters,
        )

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Return the rows to fit to, and set `classes_`."""
        X, y = self._checked(X, y, reset=True)
        weight = checked_weights(sample_weight, X.shape[0])
        indicators, others = self._split(X)
        labelled = np.ones(y.shape, np.bool_) if self.skipped is None else y != self.skipped
        label = np.full(y.shape, SKIPPED)
        self.classes_, label[labelled] = np.unique(y[labelled], return_inverse=True)
        return Rows(others, label, y, self._evidence(indicators), weight)

    def _checked(self, X: Any, y: Any = None, *, reset: bool) -> Any:
        options = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "reset": reset}
        if not reset:
            return validate_data(self, X, **options)
        X, y = validate_data(self, X, y, **options)
        check_classification_targets(y)
        return X, y

    def _split(self, X: Any) -> tuple[tuple[Indicators, ...], Any]:
        """Return the columns of each protected attribute, uint8[n, k], and all others."""
        parts = [np.asarray(own, np.int64).ravel() for own in self._each(self.protected)]
        columns = np.concatenate(parts)
        width = X.shape[1]
        if (
            columns.size != np.unique(columns).size
            or not ((columns >= 0) & (columns < width)).all()
        ):
            raise InvalidParameter(
                f"protected is {self.protected!r}; give different columns of X in [0, {width - 1}]",
                field="protected",
            )
        if columns.size == 0:
            return (np.ones((X.shape[0], 1), np.uint8),), X
        rest = np.setdiff1d(np.arange(width), columns)
        if rest.size == 0:
            raise InvalidParameter(
                "protected names every column of X, so there is nothing to predict from; give "
                "further features",
                field="protected",
            )
        own = X[:, columns]
        own = own.toarray() if issparse(own) else np.asarray(own)
        if not ((own == 0) | (own == 1)).all():
            raise InvalidParameter(
                "the protected columns of X hold other values than 0 and 1; they must be supports "
                "of records, or one-hot answers",
                field="protected",
            )
        others = X[:, rest]
        ends = np.cumsum([part.size for part in parts])[:-1]
        each = tuple(np.split(own.astype(np.uint8), ends, axis=1))
        return each, csr_matrix(others) if issparse(others) else others

    @property
    def _several(self) -> bool:
        """Whether `protected` names the columns of several attributes, one after the other."""
        return any(np.ndim(own) for own in self.protected)

    def _each(self, values: Any) -> tuple[Any, ...]:
        """Return what a parameter says of each protected attribute; refuses one that does not."""
        if not self._several:
            return (values,)
        if values is None:
            return (None,) * len(self.protected)
        if not isinstance(values, Sequence) or len(values) != len(self.protected):
            raise InvalidParameter(
                f"protected has the columns of {len(self.protected)} attributes, and there is not "
                "one oracle, or None, and one tuple of groups, or None, for each of them; give "
                "sequences of that length",
                field="protected",
            )
        return tuple(values)

    def _each_groups(self, indicators: tuple[Indicators, ...]) -> tuple[Groups, ...]:
        return tuple(
            tuple((code,) for code in range(own.shape[1])) if groups is None else groups
            for own, groups in zip(indicators, self._each(self.groups), strict=True)
        )

    def _evidence(self, indicators: tuple[Indicators, ...]) -> GroupEvidence:
        check_label_law(self.label_p, self.label_q)
        oracles = self._each(self.oracle if len(self.protected) else None)
        first, *further = (
            Reports(own, oracle) for own, oracle in zip(indicators, oracles, strict=True)
        )
        each = self._each_groups(indicators)
        for groups, one in zip(each, (first, *further), strict=True):
            check_groups(groups, one.k)
        return GroupEvidence(
            first.indicators,
            first.oracle,
            crossed(each, [one.k for one in (first, *further)]),
            self.label_p,
            self.label_q,
            self.skipped is not None and self.label_p < 1,
            tuple(further),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        tags.input_tags.allow_nan = False
        return tags


def check_label_law(p: float, q: float) -> None:
    """Refuse chances of a label's reports that tell nothing of the label."""
    if not 0 <= q < p <= 1:
        raise InvalidParameter(
            f"label_p is {p} and label_q is {q}; they must keep 0 <= label_q < label_p <= 1",
            field="label_p",
        )


def checked_weights(values: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """Return sample weights f64[n], None without; refuses another shape, and negative ones."""
    if values is None:
        return None
    weight: npt.NDArray[np.float64] = check_array(
        values, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (rows,):
        raise ValueError(
            f"sample_weight has the shape {weight.shape}; give one weight per row, ({rows},)"
        )
    if (weight < 0).any() or not weight.any():
        raise ValueError(
            "sample_weight must not be negative, and not all zero; leave rows out to ignore them"
        )
    return weight
