"""How records become features: what an encoding is, and the columns that a fitted one gives.

An :class:`Encoding` is a way to turn the record of one perturbed attribute into columns. Fitted to
training records it gives :class:`Features`: the columns of the whole survey, in manifest order,
without the target. Attributes in clear and clear rows are one-hot in the same columns, so that a
model that was fitted to records can be tested on the truth.

A new encoding is a module with a subclass of :class:`Encoding` and its line in
:mod:`hushpoll_training.encodings.registry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, vstack

from hushpoll_analysis.records.counts import Counts
from hushpoll_analysis.records.records import Records, one_hot, require_layout
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published
from hushpoll_training.encodings.priors import (
    Priors,
    check_prior_method,
    estimate_priors,
    perturbed_features,
    priors_from_counts,
)

CELLS = 1 << 24
"""Most values that are dense at a time, which bounds the memory for millions of records."""


@dataclass(frozen=True)
class Encoding(ABC):
    """A way to turn the records of an attribute into columns.

    Parameters
    ----------
    prior : {"shrinkage", "projection", "likelihood"}
        How the categories' shares are estimated, for an encoding that needs them; see
        :func:`hushpoll_training.encodings.priors.estimate_priors`.

    Attributes
    ----------
    name : str
        What commands, configurations and saved models call it.
    description : str
        What a column holds, as a model card says it.
    needs_prior : bool
        Whether the columns depend on the categories' estimated shares.
    """

    prior: str = "shrinkage"

    name: ClassVar[str]
    description: ClassVar[str]
    needs_prior: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_prior_method(self.prior)

    def fit(self, records: Records) -> Features:
        """Return the features of a survey, with priors from the training records if needed.

        Parameters
        ----------
        records : Records
            The training records; at least one where a prior is needed. The records of rows that a
            model is to be judged on do not belong here.

        Raises
        ------
        InvalidParameter
            If a prior is needed and there are no records.
        NotConverged
            If the maximum of the likelihood is not found.
        """
        priors = estimate_priors(records, self.prior) if self.needs_prior else {}
        published = records.published
        return Features(published, self, feature_attributes(published), priors)

    def fit_counts(self, published: Published, counts: Counts) -> Features:
        """Return the features that :meth:`fit` gives, from the counts of the training records.

        Raises
        ------
        InvalidParameter
            If a prior is needed and no record was counted, or its method needs the records.
        """
        priors = priors_from_counts(published, counts, self.prior) if self.needs_prior else {}
        return Features(published, self, feature_attributes(published), priors)

    def column_names(self, attribute: PublishedAttribute) -> tuple[str, ...]:
        """Return the names of an attribute's columns; ``attribute=category`` each by default."""
        return tuple(f"{attribute.name}={category}" for category in attribute.domain)

    @abstractmethod
    def encode(
        self,
        attribute: PublishedAttribute,
        indicators: npt.NDArray[np.uint8],
        prior: tuple[float, ...] | None,
    ) -> npt.NDArray[Any]:
        """Return the columns of a perturbed attribute, n rows.

        Parameters
        ----------
        attribute : PublishedAttribute
            With its protocol.
        indicators : uint8[n, k]
            1 for each category that a record supports.
        prior : tuple of float, k, or None
            The categories' shares, in [0, 1] and summing to 1; None unless `needs_prior`.
        """

    def encode_clear(
        self, attribute: PublishedAttribute, codes: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """Return the columns of answers in clear, codes in [0, k); one-hot by default."""
        return one_hot(codes, attribute.k)


@dataclass(frozen=True, slots=True)
class Features:
    """The columns that a survey gives a model: a fitted encoding.

    Attributes
    ----------
    published : Published
        The survey.
    encoding : Encoding
        How records become columns.
    attributes : tuple of str
        Names of the attributes that are features, in manifest order.
    priors : mapping of str to tuple of float
        Shares of the categories of each perturbed feature; empty where none are needed.
    """

    published: Published
    encoding: Encoding
    attributes: tuple[str, ...]
    priors: Priors

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each column."""
        return tuple(name for attribute in self.attributes for name in self._names(attribute))

    def columns_of(self, attribute: str) -> slice:
        """Return the place of an attribute's columns."""
        before = self.attributes[: self.attributes.index(attribute)]
        start = sum(len(self._names(name)) for name in before)
        return slice(start, start + len(self._names(attribute)))

    def without(self, attribute: str) -> Features:
        """Return these features less one attribute."""
        kept = tuple(name for name in self.attributes if name != attribute)
        return replace(self, attributes=kept)

    def from_records(self, records: Records) -> csr_matrix:
        """Encode records as float32[n, columns].

        Raises
        ------
        InvalidParameter
            If they are not records of the survey.
        """
        require_layout(self.published, records)

        def block(start: int, stop: int) -> list[npt.NDArray[Any]]:
            some = records.take(slice(start, stop))
            return [self._encode(some, name) for name in self.attributes]

        return self._joined(len(records), block)

    def from_codes(self, codes: Mapping[str, npt.NDArray[np.int64]]) -> csr_matrix:
        """Encode clear rows, given as codes in [0, k) per attribute, as float32[n, columns]."""

        def block(start: int, stop: int) -> list[npt.NDArray[Any]]:
            return [self.encode_clear(name, codes[name][start:stop]) for name in self.attributes]

        return self._joined(len(codes[self.attributes[0]]), block)

    def encode_clear(self, attribute: str, codes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the columns of one attribute in clear, codes in [0, k)."""
        return self.encoding.encode_clear(self.published.attribute(attribute), codes)

    def to_json(self) -> dict[str, Any]:
        """Return what :meth:`from_json` needs besides the manifest."""
        described: dict[str, Any] = {"encoding": self.encoding.name}
        if self.encoding.needs_prior:
            described["priors"] = {name: list(prior) for name, prior in self.priors.items()}
        return {**described, "features": list(self.names)}

    @classmethod
    def from_json(
        cls, document: Mapping[str, Any], published: Published, encoding: Encoding
    ) -> Features:
        """Read what :meth:`to_json` wrote, and check it against the manifest.

        Raises
        ------
        InvalidParameter
            Saying what the document has or lacks.
        """
        priors = _priors_from_json(document, published) if encoding.needs_prior else {}
        features = cls(published, encoding, feature_attributes(published), priors)
        if document["features"] != list(features.names):
            raise InvalidParameter("has features that are not its manifest's", field="model")
        return features

    def _names(self, attribute: str) -> tuple[str, ...]:
        return self.encoding.column_names(self.published.attribute(attribute))

    def _encode(self, records: Records, name: str) -> npt.NDArray[Any]:
        attribute = self.published.attribute(name)
        if attribute.oracle is None:
            return self.encode_clear(name, records.codes(name))
        return self.encoding.encode(attribute, records.indicators(name), self.priors.get(name))

    def _joined(self, n: int, block: Callable[[int, int], list[npt.NDArray[Any]]]) -> csr_matrix:
        columns = len(self.names)
        rows = max(1, CELLS // columns)
        parts = [
            csr_matrix(np.concatenate(block(start, start + rows), axis=1), dtype=np.float32)
            for start in range(0, n, rows)
        ]
        if not parts:
            return csr_matrix((0, columns), dtype=np.float32)
        return parts[0] if len(parts) == 1 else vstack(parts, format="csr")


def feature_attributes(published: Published) -> tuple[str, ...]:
    """Return the names of the attributes that are features: all but the target."""
    return tuple(attribute.name for attribute in published.attributes if attribute.role != "target")


def _priors_from_json(
    document: Mapping[str, Any], published: Published
) -> dict[str, tuple[float, ...]]:
    needed = {name: oracle.k for name, oracle in perturbed_features(published)}
    priors = document.get("priors")
    if not isinstance(priors, dict) or set(priors) != set(needed):
        raise InvalidParameter(f"must hold the priors of {', '.join(needed)}", field="model")
    for name, k in needed.items():
        prior = priors[name]
        numbers = isinstance(prior, list) and all(
            isinstance(share, int | float) and not isinstance(share, bool) for share in prior
        )
        if not numbers or len(prior) != k or min(prior) < 0 or abs(sum(prior) - 1) > 1e-6:
            raise InvalidParameter(
                f"has a prior of {name} that is not {k} chances that sum to 1", field="model"
            )
    return {name: tuple(float(share) for share in priors[name]) for name in needed}
