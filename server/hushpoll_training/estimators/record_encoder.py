"""Collected records to features, as scikit-learn's transformers are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.registry import create_encoding
from hushpoll_training.models.model import Codes, reported_labels


class RecordEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode records of one survey: one column per category of each attribute but the target.

    Parameters
    ----------
    published : Published
        The survey that the records belong to.
    encoding : {"indicator", "posterior"}
        The support of a record, or the posterior that it leaves; see
        :mod:`hushpoll_training.encodings.registry`.
    prior : {"shrinkage", "projection", "likelihood"}
        How the posterior's prior is estimated from the records of :meth:`fit`, and of no others.
    sparse_output : bool
        Whether to return a CSR matrix, rather than an array. ``set_output`` needs an array.

    Attributes
    ----------
    features_ : Features
        The columns, with the priors.
    n_features_in_ : int
        Bytes of a record.
    feature_names_in_ : array of str
        Names of these bytes, where `X` was a data frame of them.

    Notes
    -----
    `X` is uint8[n, L], n records of L bytes as
    :func:`hushpoll_shared.wire.records_file.read_records` gives them. They are no numeric features,
    so whatever else scikit-learn takes for `X` is refused rather than read as records.
    """

    def __init__(
        self,
        published: Published,
        *,
        encoding: str = "indicator",
        prior: str = "shrinkage",
        sparse_output: bool = True,
    ) -> None:
        self.published = published
        self.encoding = encoding
        self.prior = prior
        self.sparse_output = sparse_output

    def fit(self, X: npt.NDArray[np.uint8], y: Any = None) -> RecordEncoder:
        """Learn the columns from the manifest, and priors from the records.

        Parameters
        ----------
        X : uint8[n, L]
            Well-formed records, n at least 1.
        y : object
            Ignored.

        Raises
        ------
        InvalidParameter
            For a bad parameter, or anything but records of the survey.
        MalformedRecord
            If a record is malformed.
        ValueError
            For no records, or what is no matrix.
        """
        del y
        if not isinstance(self.published, Published):
            raise InvalidParameter(
                f"published is of type {type(self.published).__name__}; give the published survey "
                "that came with the records, or Manifest.resolve() of a draft",
                field="published",
            )
        rows = validate_data(self, X, dtype=None)
        encoding = create_encoding(self.encoding, prior=self.prior)
        self.features_: Features = encoding.fit(Records(self.published, rows))
        return self

    def transform(self, X: npt.NDArray[np.uint8]) -> Any:
        """Encode records.

        Parameters
        ----------
        X : uint8[n, L]
            Well-formed records.

        Returns
        -------
        CSR matrix or array, float32[n, m]
            With the columns of :meth:`get_feature_names_out`.

        Raises
        ------
        InvalidParameter
            For anything but records of the survey.
        MalformedRecord
            If a record is malformed.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=None, reset=False)
        table = self.features_.from_records(Records(self.published, rows))
        return table if self.sparse_output else table.toarray()

    def transform_clear(self, codes: Codes) -> Any:
        """Encode answers in clear, codes in [0, k) per attribute, into the same columns: one-hot.

        Raises
        ------
        InvalidParameter
            If an attribute that is a feature has no codes.
        """
        check_is_fitted(self)
        for name in self.features_.attributes:
            if name not in codes:
                raise InvalidParameter(
                    f"codes lack {name}; give one array per attribute: "
                    f"{', '.join(self.features_.attributes)}",
                    field="codes",
                )
        table = self.features_.from_codes(codes)
        return table if self.sparse_output else table.toarray()

    def labels(
        self, records: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the labels that records report, int64[n] (1 positive), and which have one.

        Raises
        ------
        InvalidParameter
            If the survey's target gives no labels, or the records are not the survey's.
        """
        return reported_labels(Records(self.published, records))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return ``attribute=category`` per column.

        Parameters
        ----------
        input_features : object
            Ignored: records have no named columns.
        """
        del input_features
        check_is_fitted(self)
        return np.array(self.features_.names, dtype=object)
