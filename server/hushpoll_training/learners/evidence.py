"""What rows tell of their groups and of their true labels: by the inverse of both channels.

A record's indicators follow a known law given the answer. Its weights in the categories, those of
the estimates (:mod:`hushpoll_protocols.estimation.weights`), have the one-hot truth as their
expectation: they apply the inverse of the channel to one record (Mozannar, Ohannessian and Srebro,
"Fair Learning with Private Demographic Data", ICML 2020, for k-ary randomised response). A label
that was reported by GRR has such weights, too. Records of different attributes are perturbed
independently of each other, so the product of a weight of the group and one of the label has the
truth of both as its expectation, and so has its product with anything that does not depend on these
two records. For the same reason the product of the weights in categories of two protected
attributes has the truth of both as its expectation: intersections of groups are groups of that
product, whose variance is that of both.

A target that may be skipped has one category more, and its report is perturbed like any other. Who
reports an answer may have given none, so shares of those who answered are estimated from all rows:
those that report the missing category have the label `SKIPPED`. Given the truth, the weights of a
class have the expectation 1 where it is the truth, and 0 where another one, or none, is. Rates and
shares then are those of the people who answered, as ratios of two means.

Answers in clear are the case of p = 1 and q = 0, where weights are the one-hot truth itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import weights
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_training.data.target import with_missing
from hushpoll_training.learners.grouping import Grouping, Groups

Array: TypeAlias = npt.NDArray[np.float64]
SKIPPED: Final = -1
"""Label of a row whose record reports that the target was skipped."""


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """One attribute of n rows as they report it.

    Refuses indicators that the protocol, or answers in clear, cannot have.
    """

    indicators: npt.NDArray[np.uint8]
    """uint8[n, k], support of each row's record in the attribute, or its one-hot answer in
    clear."""
    oracle: FrequencyOracle | None
    """The protocol; None for answers in clear."""

    def __post_init__(self) -> None:
        if self.oracle is not None and self.oracle.k != self.k:
            raise InvalidParameter(
                f"the protected attribute has {self.k} columns, and its protocol "
                f"{self.oracle.name} has {self.oracle.k} categories; give one column for each",
                field="protected",
            )
        if self.oracle is None and not (self.indicators.sum(axis=1) == 1).all():
            raise InvalidParameter(
                "the columns of the protected attribute do not name one category in each row, as "
                "answers in clear do; give the protocol of the records, or rows in clear",
                field="protected",
            )

    @property
    def k(self) -> int:
        """Categories of the attribute."""
        return int(self.indicators.shape[1])

    def weights(self) -> Array:
        """Return the weight of each row in each category, f64[n, k]; 0 and 1 in clear."""
        channel, law = Channel.of(self.oracle), WeightLaw.of(self.oracle)
        shares = np.zeros(self.k)
        if law.varies:
            means = (self.indicators.mean(axis=0) - float(channel.q)) / channel.gap
            shares = law.excess_shares(means)
        return weights(self.indicators, channel, shares)

    def likelihoods(self) -> Array:
        """Return the likelihood of each record given each category up to a factor, f64[n, k]."""
        if self.oracle is None:
            return self.indicators.astype(np.float64)
        outside = float(1 / self.oracle.likelihood_ratio)
        return np.where(self.indicators, 1.0, outside)


@dataclass(frozen=True, slots=True, eq=False)
class GroupEvidence:
    """The protected attribute of n rows as they report it, and the law of the reports.

    Refuses indicators of another shape or with other values, and codes that are out of range or in
    two groups.
    """

    indicators: npt.NDArray[np.uint8]
    """uint8[n, k], support of each row's record in the protected attribute, or its one-hot answer
    in clear."""
    oracle: FrequencyOracle | None
    """The protocol; None for answers in clear."""
    groups: Groups
    """Codes in [0, k) of each group, no code twice; at least one group. With further attributes,
    codes of combinations; see :mod:`hushpoll_training.learners.grouping`."""
    label_p: float = 1.0
    """Chance that a reported label is the truth, among the reports of answers by people who
    answered; 1 in clear."""
    label_q: float = 0.0
    """Chance that it is a given other label; 0 in clear."""
    skippable: bool = False
    """Whether reports of labels were perturbed together with that of no answer."""
    further: tuple[Reports, ...] = ()
    """Further attributes of the same rows, whose categories are crossed with those of the first."""

    def __post_init__(self) -> None:
        check_groups(self.groups, self.k)
        assert self.reports  # noqa: S101  (each of them is checked when it is made)

    @property
    def reports(self) -> tuple[Reports, ...]:
        """The protected attribute and the further ones."""
        return Reports(self.indicators, self.oracle), *self.further

    @property
    def k(self) -> int:
        """Categories of the protected attribute, or combinations with those of further ones."""
        return int(prod((self.indicators.shape[1], *(each.k for each in self.further))))

    @property
    def perturbed(self) -> bool:
        """Whether the groups are known through perturbed records alone."""
        return any(each.oracle is not None for each in self.reports)

    def take(self, rows: npt.NDArray[Any]) -> GroupEvidence:
        """Return the evidence of some of the rows, by index or by mask."""
        further = tuple(replace(each, indicators=each.indicators[rows]) for each in self.further)
        return replace(self, indicators=self.indicators[rows], further=further)

    def category_weights(self) -> Array:
        """Return the weight of each row in each category, f64[n, k]; 0 and 1 in clear.

        The mean over many rows estimates the share of a category without bias.
        """
        return row_products([each.weights() for each in self.reports])

    def label_weights(self, label: npt.NDArray[np.int64], classes: int) -> Array:
        """Return the weight of each row in each class, f64[n, classes], by its label or `SKIPPED`.

        Two classes are a positive category and all others together: with more than two answers, a
        truth among the others is reported as positive with probability `label_q`, and as one of the
        others, whichever, with 1 - `label_q`.
        """
        reported: Array = np.equal(label[:, None], np.arange(classes)).astype(np.float64)
        if self.label_p == 1.0:
            return reported
        p, q = self.report_law
        own: Array = (reported - q) / (p - q)
        if classes == 2:
            own[:, 0] = 1.0 - own[:, 1] - self.skipped_weights(label)
        return own

    @property
    def report_law(self) -> tuple[float, float]:
        """Chance that a report is the truth, and a given other one, whatever the truth is."""
        law = self.label_p, self.label_q
        return with_missing(*law) if self.skippable else law

    def skipped_weights(self, label: npt.NDArray[np.int64]) -> Array:
        """Return the weight of each row in the missing category of the target, f64[n]."""
        if not self.skippable:
            return np.zeros(label.size)
        p, q = self.report_law
        weight: Array = ((label == SKIPPED) - q) / (p - q)
        return weight

    def of_labelled(self, label: npt.NDArray[np.int64]) -> GroupEvidence:
        """Return the evidence of the rows that report a label."""
        return self.take(label != SKIPPED) if self.skippable else self

    def likelihoods(self) -> Array:
        """Return the likelihood of each record given each category up to a factor, f64[n, k]."""
        return row_products([each.likelihoods() for each in self.reports])

    def label_likelihoods(self, label: npt.NDArray[np.int64], classes: int) -> Array:
        """Return the likelihood of each reported label given each class, f64[n, classes].

        Where the target may be skipped there is one column more: the likelihood given no answer.
        """
        p, q = self.report_law
        chances = np.full((label.size, classes + self.skippable), q)
        chances[np.arange(label.size), label] = p
        if classes == 2:  # the others together, as in the weights
            others = (
                (1.0 - q, 1.0 - p) if not self.skippable else (1.0 - 2 * q, *(1.0 - p - q,) * 2)
            )
            chances[label == 0] = others
        return chances


Evidence: TypeAlias = Callable[[Grouping], GroupEvidence]
"""Gives the evidence of a design's rows, for learners that ask for it and say which groups."""


def row_products(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the products of a column of each part, [n, k1 k2 ...], the last part's fastest."""
    found = parts[0]
    for part in parts[1:]:
        found = (found[:, :, None] * part[:, None, :]).reshape(len(found), -1)
    return found


def check_groups(groups: Sequence[Sequence[int]], k: int) -> None:
    """Refuse groups that are empty, overlap, or have codes outside [0, k)."""
    seen: set[int] = set()
    if not groups or not all(len(codes) for codes in groups):
        raise InvalidParameter(
            f"groups is {groups!r}; give at least one group, each with at least one code",
            field="groups",
        )
    for code in (code for codes in groups for code in codes):
        if not 0 <= code < k or code in seen:
            fault = "is in two groups" if code in seen else f"must lie in [0, {k - 1}]"
            raise InvalidParameter(
                f"groups has the code {code}, which {fault}; give each code of the protected "
                "attribute at most once",
                field="groups",
            )
        seen.add(code)


def require_members(shares: Array, noun: str = "group") -> None:
    """Refuse estimated shares that are not positive."""
    for place in np.argwhere(~(shares > 0)):
        where = ", ".join(map(str, place.tolist()))
        raise InvalidParameter(
            f"the records estimate the share of {noun} ({where}) at {shares[tuple(place)]:.4g}, "
            "and it must be positive: they are too few, or their epsilon is too small, to tell the "
            "groups apart; collect more records, or use a learner without mitigation",
            field="protected",
        )
