"""Predictions on records for an audit, which must not use the protected attribute's own record.

The record of the protected attribute tells a row's group, noise included. A prediction from that
same record would go along with its noise, which then passes for a difference between the groups.
So either the model does without the attribute, or it is evaluated at each value of it in turn, in
clear, and an audit weighs each of these predictions by the row's weight in that value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from hushpoll_analysis.auditing.predictions import protected_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learners.learner import Fitted

ProtectedInput = Literal["dropped", "each-value"]
"""What a model gets of the protected attribute: nothing, or each of its values in turn."""

PROTECTED_INPUTS: tuple[ProtectedInput, ...] = get_args(ProtectedInput)


@dataclass(frozen=True, slots=True)
class AuditInputs:
    """The columns that predictions are made from.

    Attributes
    ----------
    features : Features
        All columns; without the protected attribute where it is dropped.
    values : tuple of int
        Codes of the protected attribute to evaluate at: those of the two groups; empty if dropped.
    """

    features: Features
    values: tuple[int, ...]

    @classmethod
    def of(
        cls, published: Published, protected_input: str, features: Features | None = None
    ) -> AuditInputs:
        """Return the inputs of one of `PROTECTED_INPUTS`.

        Parameters
        ----------
        published : Published
            The survey whose records are predicted.
        protected_input : {"dropped", "each-value"}
            What the model gets of the protected attribute.
        features : Features, optional
            Columns to take, of that survey; by default the indicators of all its attributes.

        Raises
        ------
        InvalidParameter
            For another one, a survey without a protected attribute, or if nothing but the
            protected attribute could be an input.
        """
        if protected_input not in PROTECTED_INPUTS:
            raise InvalidParameter(
                f"protected input is {protected_input!r}; it must be one of "
                f"{', '.join(PROTECTED_INPUTS)}",
                field="protected_input",
            )
        attribute, groups = protected_of(published), published.protected
        features = features or one_hot_features(published)
        if protected_input == "each-value" and groups is not None:
            members = (*groups.privileged, *groups.unprivileged)
            return cls(features, tuple(attribute.domain.index(one) for one in members))
        used = tuple(name for name in features.attributes if name != attribute.name)
        if not used:
            raise InvalidParameter(
                f"without {attribute.name} the survey {published.name} has no attribute to predict "
                "from; evaluate at each value instead (each-value)",
                field="protected_input",
            )
        return cls(features.without(attribute.name), ())

    def predict(
        self,
        fitted: Fitted,
        target: Target,
        rows: csr_matrix,
        *,
        threads: int = 1,
    ) -> npt.NDArray[np.int8]:
        """Return the predicted classes of encoded rows.

        Parameters
        ----------
        fitted : Fitted
            What a learner has learned.
        target : Target
            What turns its scores into chances of the truth.
        rows : csr_matrix[n, columns of `features`]
            Encoded records.
        threads : int
            For scoring.

        Returns
        -------
        int8[n], or int8[n, k] where the protected attribute has been evaluated at each value
            1 where the chance is above one half; 0 in the columns of values in neither group.
        """

        def positive(table: csr_matrix) -> npt.NDArray[np.int8]:
            chance = target.correct(fitted.scores(table, threads=threads))
            return (chance > THRESHOLD).astype(np.int8)

        if not self.values:
            return positive(rows)
        at = self._substitution(rows)
        k = protected_of(self.features.published).k
        found = np.zeros((rows.shape[0], k), dtype=np.int8)
        for value in self.values:
            found[:, value] = positive(at(value))
        return found

    def _substitution(self, rows: csr_matrix) -> Callable[[int], csr_matrix]:
        """Return what puts a value in place of every row's record of the protected attribute."""
        name = protected_of(self.features.published).name
        place = self.features.columns_of(name)
        before, after = rows[:, : place.start], rows[:, place.stop :]

        def at(value: int) -> csr_matrix:
            codes = np.full(rows.shape[0], value, dtype=np.int64)
            own = csr_matrix(self.features.encode_clear(name, codes), dtype=np.float32)
            return hstack([before, own, after], format="csr", dtype=np.float32)

        return at
