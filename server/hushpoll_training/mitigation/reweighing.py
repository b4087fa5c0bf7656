"""Reweighing: weights of rows that make the label independent of the group in the training rows.

Kamiran and Calders, "Data preprocessing techniques for classification without discrimination",
Knowledge and Information Systems 33 (2012): a row of group a and label y weighs

    w(a, y) = P(a) P(y)/P(a, y).

Where a row's group is known through its perturbed record alone, P(a, y) is estimated through the
inverse of the channel, or of the product of both channels where the label was perturbed as well.
What a row weighs is then one of two things.

``inverse``
    u = sum over a and y of W_a V_y w(a, y), W and V being the row's weights in the groups and in
    the labels. Given the truth its expectation is w(a, y), at any epsilon. It can be negative where
    the factors differ by more than the channel does: for two groups and GRR, where
    max w/min w > e^epsilon. Such weights become 0, which costs a part of the effect, and
    `clipped` says how many they are.
``posterior``
    E[w(a, y) | record, reported label], by Bayes' rule: never negative and of less variance, but
    drawn towards 1 as epsilon falls, until it mitigates nothing.

Where the target may be skipped, P(a, y) is that of the people who answered, estimated from all
rows. Only those that report an answer are trained on. Given a true answer, and that an answer is
reported, reports follow GRR over the answers alone, so V made with that law has the expectation of
before. A person who gave none reports every answer equally often, and u is on average the mean of
w(a, y) over y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.evidence import Array, GroupEvidence, require_members

ASSIGNMENTS: Final = ("inverse", "posterior")
LARGEST: Final = 20.0


@dataclass(frozen=True, slots=True)
class Reweighing:
    """The factors w(a, y) and the shares that they follow from."""

    joint: Array
    """f64[groups, classes], estimated P(a, y) among the members of the groups, projected onto the
    simplex."""
    factors: Array
    """f64[groups, classes], w(a, y), at most `LARGEST`."""
    categories: Array
    """f64[k, classes], estimated shares of the protected attribute's categories and classes, all
    rows together; with a last column for no answer where the target may be skipped."""

    @classmethod
    def of(
        cls, evidence: GroupEvidence, label: npt.NDArray[np.int64], classes: int = 2
    ) -> Reweighing:
        """Estimate the factors from reported labels, int64[n] in [0, classes), or `SKIPPED`.

        Refuses estimated shares of a group or of a class that are not positive.
        """
        own = evidence.category_weights()
        joined = own.T @ evidence.label_weights(label, classes) / label.size
        raw = np.stack([joined[list(codes)].sum(axis=0) for codes in evidence.groups])
        require_members(raw.sum(axis=1))
        members = raw.sum()
        joint = project_simplex((raw / members).ravel()).reshape(raw.shape)
        require_members(joint.sum(axis=1))
        require_members(joint.sum(axis=0), "class")
        expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
        factors = expected / np.maximum(joint, expected / LARGEST)
        if evidence.skippable:
            silent = own.T @ evidence.skipped_weights(label) / label.size
            joined = np.column_stack([joined, silent])
        categories = project_simplex(joined.ravel()).reshape(joined.shape)
        return cls(joint, factors, categories)

    def row_weights(
        self, evidence: GroupEvidence, label: npt.NDArray[np.int64], assignment: str = "inverse"
    ) -> RowWeights:
        """Return what each row that reports a label weighs; rows of no group weigh 1.

        The assignment is ``inverse`` or ``posterior``; see the head of this module. Refuses rows of
        which none would weigh anything.
        """
        if assignment not in ASSIGNMENTS:
            raise InvalidParameter(
                f"assignment is {assignment!r}; it must be one of {', '.join(ASSIGNMENTS)}",
                field="assignment",
            )
        give = self._inverse if assignment == "inverse" else self._posterior
        own = give(evidence, label)
        kept = np.maximum(own, 0.0)
        if not kept.any():
            raise InvalidParameter(
                "all weights of rows are 0, so there is nothing to learn from; collect more "
                "records, or use the assignment posterior",
                field="assignment",
            )
        # one on average, so that penalties of the learner keep their meaning
        return RowWeights(kept / kept.mean(), float(np.mean(own < 0)))

    def _by_category(self, k: int, groups: Any) -> Array:
        factors = np.ones((k, self.factors.shape[1]))
        for group, codes in enumerate(groups):
            factors[list(codes)] = self.factors[group]
        return factors

    def _inverse(self, evidence: GroupEvidence, label: npt.NDArray[np.int64]) -> Array:
        factors = self._by_category(evidence.k, evidence.groups)
        # among reports of answers, whether or not there are others
        classes = replace(evidence, skippable=False).label_weights(label, factors.shape[1])
        own = evidence.category_weights()
        # weights of a row need not sum to one, so the excess over what rows of no group weigh
        expected: Array = 1.0 + np.einsum("nk,kc,nc->n", own, factors - 1.0, classes)
        return expected

    def _posterior(self, evidence: GroupEvidence, label: npt.NDArray[np.int64]) -> Array:
        factors = self._by_category(evidence.k, evidence.groups)
        records = evidence.likelihoods()
        reports = evidence.label_likelihoods(label, factors.shape[1])
        if evidence.skippable:
            factors = np.column_stack([factors, np.ones(evidence.k)])
        total = np.einsum("nk,kc,nc->n", records, self.categories, reports)
        above = np.einsum("nk,kc,nc->n", records, self.categories * factors, reports)
        # a record whose categories are all estimated at 0 tells nothing
        weight: Array = np.where(total > 0, above / np.where(total > 0, total, 1.0), 1.0)
        return weight

    def to_json(self) -> JsonMembers:
        """Return what saved models say of the factors."""
        return {"joint": self.joint.tolist(), "factors": self.factors.tolist()}


@dataclass(frozen=True, slots=True)
class RowWeights:
    """What rows weigh."""

    weight: Array
    """f64[n], not negative; 1 on average."""
    clipped: float
    """Share of the rows whose weight would have been negative and is 0."""
