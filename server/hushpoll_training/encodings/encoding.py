"""How records become features: what an encoding is, and the columns that a fitted one gives.

An :class:`Encoding` is a way to turn the record of one perturbed attribute into columns. Fitted to
training records it gives :class:`Features`: the columns of the whole survey, in manifest order,
without the target. Of a question in a draw, those who did not answer it have no value in its
columns, or what is known without their answer. What is randomised together is encoded together: a
combination of answers has a column, and a question's column is the sum of those of its
combinations, unless the encoding keeps them apart. Attributes in clear and clear rows are one-hot
in the same columns, so that a model that was fitted to records can be tested on the truth.

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
from hushpoll_analysis.records.fields import categories_of, fields_of, over_others
from hushpoll_analysis.records.records import Records, one_hot, require_layout
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.blocks import Block
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
    keeps_combinations : bool
        Whether questions that are randomised together have a column for each combination of
        answers, and not one for each answer.
    leaves_missing : bool
        Whether those who did not answer a question of a draw have no value in its columns (NaN).
    """

    prior: str = "shrinkage"

    name: ClassVar[str]
    description: ClassVar[str]
    needs_prior: ClassVar[bool] = False
    keeps_combinations: ClassVar[bool] = False
    leaves_missing: ClassVar[bool] = True

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
            If a prior is needed and there are no records, or a feature is randomised together with
            the target.
        NotConverged
            If the maximum of the likelihood is not found.
        """
        published = records.published
        refuse_the_target_s_block(published)
        priors = estimate_priors(records, self.prior) if self.needs_prior else {}
        return Features(published, self, feature_attributes(published), priors)

    def fit_counts(self, published: Published, counts: Counts) -> Features:
        """Return the features that :meth:`fit` gives, from the counts of the training records.

        Raises
        ------
        InvalidParameter
            If a prior is needed and no record was counted, or its method needs the records; or a
            feature is randomised together with the target.
        """
        refuse_the_target_s_block(published)
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
        """Return the columns of a perturbed attribute, or of a block's combinations, n rows.

        Parameters
        ----------
        attribute : PublishedAttribute
            With its protocol; of a block one of its questions, whose protocol is the block's.
        indicators : uint8[n, k]
            1 for each category, or combination, that a record supports.
        prior : tuple of float, k, or None
            Their shares, in [0, 1] and summing to 1; None unless `needs_prior`.
        """

    def unanswered(self, columns: int, prior: tuple[float, ...] | None) -> npt.NDArray[np.float32]:
        """Return the columns of who did not answer, float32[1, columns]; NaN by default."""
        del prior
        return np.full((1, columns), np.nan, np.float32)

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
        Shares of the categories of each perturbed feature, or of the combinations of a block that
        has features, by its name; empty where none are needed.
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
        """Return the place of an attribute's columns, or of those of the block that keeps it."""
        block = self._joined_block(attribute)
        first = attribute if block is None else self._first_of(block)
        before = self.attributes[: self.attributes.index(first)]
        start = sum(len(self._names(name)) for name in before)
        return slice(start, start + len(self._names(first)))

    def without(self, attribute: str) -> Features:
        """Return these features less one attribute, and less all that its record tells besides."""
        block = self.published.block_of(attribute)
        gone = {attribute} if block is None else {one.name for one in block.questions}
        kept = tuple(name for name in self.attributes if name not in gone)
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
            some = {name: codes[name][start:stop] for name in self.attributes}
            return [self._clear(some, name) for name in self.attributes]

        return self._joined(len(codes[self.attributes[0]]), block)

    def encode_clear(self, attribute: str, codes: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the columns of one attribute in clear, codes in [0, k)."""
        return self.encoding.encode_clear(self.published.attribute(attribute), codes)

    def to_json(self) -> JsonMembers:
        """Return what :meth:`from_json` needs besides the manifest."""
        described: JsonMembers = {"encoding": self.encoding.name}
        if self.encoding.needs_prior:
            described["priors"] = {name: list(prior) for name, prior in self.priors.items()}
        return {**described, "features": list(self.names)}

    @classmethod
    def from_json(cls, document: JsonObject, published: Published, encoding: Encoding) -> Features:
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
        block = self._joined_block(attribute)
        if block is None:
            return self.encoding.column_names(self.published.attribute(attribute))
        if self._first_of(block) != attribute:
            return ()
        field = self.published.layout.field(block.name)
        return tuple(f"{block.name}={answers}" for answers in categories_of(self.published, field))

    def _encode(self, records: Records, name: str) -> npt.NDArray[Any]:
        attribute = self.published.attribute(name)
        if attribute.oracle is None:
            return self.encode_clear(name, records.codes(name))
        (field,) = fields_of(self.published, [name])
        if not self._names(name):
            return np.zeros((len(records), 0), np.uint8)
        prior = self.priors.get(field.name)
        if field.mask is None:
            return self._of_question(
                name, self.encoding.encode(attribute, records.indicators_of(field), prior)
            )
        answers = records.answering([name])
        (field,) = fields_of(answers.published, [name])
        told = self.encoding.encode(attribute, answers.indicators_of(field), prior)
        none = self._of_question(name, self.encoding.unanswered(told.shape[1], prior))
        rows = np.repeat(none, len(records), axis=0)
        rows[records.answer([name])] = self._of_question(name, told)
        return rows

    def _of_question(self, name: str, columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a question's columns from those of its block, unless combinations are kept."""
        block = self.published.block_of(name)
        if block is None or block.alone or self.encoding.keeps_combinations:
            return columns
        kind = np.uint16 if columns.dtype.kind == "u" else columns.dtype
        return over_others(columns.T.astype(kind), block, [name]).T

    def _clear(self, codes: Mapping[str, npt.NDArray[np.int64]], name: str) -> npt.NDArray[Any]:
        block = self._joined_block(name)
        if block is None:
            return self.encode_clear(name, codes[name])
        if self._first_of(block) != name:
            return np.zeros((len(codes[name]), 0), np.uint8)
        return one_hot(combined(block, codes), block.k)

    def _joined_block(self, name: str) -> Block | None:
        """Return the block whose combinations have the columns of a question, or None."""
        block = self.published.block_of(name)
        joined = self.encoding.keeps_combinations and block is not None and not block.alone
        return block if joined else None

    def _first_of(self, block: Block) -> str:
        """Return the question of a block in whose place its columns stand."""
        names = {one.name for one in block.questions}
        return next(name for name in self.attributes if name in names)

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


def refuse_the_target_s_block(published: Published) -> None:
    """Refuse features that are randomised together with the target."""
    target = published.target
    block = None if target is None else published.block_of(target.name)
    if target is not None and block is not None and not block.alone:
        others = [one.name for one in block.questions if one.name != target.name]
        raise InvalidParameter(
            f"{', '.join(others)}, a feature of the model, is randomised together with "
            f"{target.name}, the target, in the block {block.name}: one record tells both, so that "
            "a model learns its noise and not its answers. Train on a version of the survey that "
            "randomises them apart; audits of other models may use this one",
            field="target",
        )


def combined(block: Block, codes: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the combination of the answers of each row to a block's questions, int64[n]."""
    columns = [codes[question.name] for question in block.questions]
    numbers = np.ravel_multi_index(columns, block.sizes)
    if block.tree is None:
        return np.asarray(numbers, np.int64)
    return np.searchsorted(np.asarray(block.tree), numbers).astype(np.int64)


def _priors_from_json(document: JsonObject, published: Published) -> dict[str, tuple[float, ...]]:
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
