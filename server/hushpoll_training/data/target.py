"""The target: which rows have a label, what the label is, and what a score means.

In clear the label is the answer. A perturbed target can be learned from only where a record reports
exactly one category: GRR (and subset selection of size one, the same law). Supports of the other
protocols hold none, some or all categories and so give no label; they are refused.

A GRR report of one of m answers is the truth with probability p and each other one with q, so a
model fitted to reports learns s = q + (p - q) f, f being the chance of the positive category.
`correct` undoes that line, so that scores are about the truth and the threshold stays one half.
Reports of the missing category give no label. What remains of the respondents who did answer
follows GRR over the other answers at the same ratio p/q. But a person who gave no answer reports
one, too, with probability m q' of m answers, q' being the chance over all m + 1 categories. Of such
people among the labels each answer is equally likely, so they draw scores towards 1/m. With two
answers that is one half, and no prediction changes.

What concerns the people who answered is therefore estimated from all records, those that report the
missing category among them (:meth:`Target.answered_weights`): with I_v the indicator of the report,
p' and q' its law, D_v = (I_v - q')/(p' - q') has the one-hot truth as its expectation for each of
the m + 1 categories. So D_positive stands for a positive label, 1 - D_missing for an answer, and
1 - D_missing - D_positive for a negative label. Shares of those who answered are ratios
of two means. The rows whose report is an answer would not do: they hold an unknown part of people
who gave none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.laws import members_of_categories
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

THRESHOLD = 0.5
"""Corrected scores above it are predicted positive."""


@dataclass(frozen=True, slots=True)
class Target:
    """The attribute that is learned.

    Attributes
    ----------
    name : str
        Its name in the manifest.
    positive, negative : str
        What the two classes are called; the negative one by its category where there is only one.
    positive_code : int
        Code of the positive category.
    missing_code : int or None
        Code of the missing category, whose rows have no label.
    p, q : float
        Chance that a reported answer is the true one, and a given other one; 1 and 0 in clear.
    """

    name: str
    positive: str
    negative: str
    positive_code: int
    missing_code: int | None
    p: float = 1.0
    q: float = 0.0

    @classmethod
    def of(cls, published: Published) -> Target:
        """Return the target as records report it.

        Raises
        ------
        InvalidParameter
            If there is no target, it has no positive category, or its protocol reports no label.
        """
        truth = cls.clear(published)
        attribute = published.attribute(truth.name)
        p, q = _report_law(attribute, truth.positive_code)
        return replace(truth, p=p, q=q)

    @classmethod
    def clear(cls, published: Published) -> Target:
        """Return the target as rows in clear hold it, whatever its protocol.

        Raises
        ------
        InvalidParameter
            If there is no target, or it has no positive category.
        """
        attribute = published.target
        if attribute is None:
            raise InvalidParameter(
                f"the survey {published.name} has no target, so there is nothing to learn; give "
                "one attribute the role target and a positive category",
                field="target",
            )
        if attribute.positive is None:
            raise InvalidParameter(
                f"the target {attribute.name} has no positive category; declare positive as one of "
                f"{', '.join(attribute.categories[:12])}",
                field="target",
            )
        others = [category for category in attribute.categories if category != attribute.positive]
        return cls(
            name=attribute.name,
            positive=attribute.positive,
            negative=others[0] if len(others) == 1 else f"not {attribute.positive}",
            positive_code=attribute.categories.index(attribute.positive),
            missing_code=None if attribute.missing is None else attribute.k - 1,
        )

    def labels(
        self, codes: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the labels int64[n] (1 positive) and which rows have one, bool[n]."""
        answered = np.ones(codes.size, dtype=np.bool_)
        if self.missing_code is not None:
            answered = codes != self.missing_code
        return (codes == self.positive_code).astype(np.int64), answered

    def to_json(self) -> JsonMembers:
        """Return the target as records and models describe it."""
        return {name: getattr(self, name) for name in ("name", "positive", "negative", "p", "q")}

    @property
    def perturbed(self) -> bool:
        """Whether labels are reports rather than the truth."""
        return self.p != 1.0

    @property
    def skippable(self) -> bool:
        """Whether a report of an answer may be of a person who gave none."""
        return self.perturbed and self.missing_code is not None

    def answered_weights(
        self, codes: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return what stands for a positive label, and for any label at all, f64[n] each.

        Given the truth, their expectations are 1 where it is positive and where it is an answer,
        and 0 elsewhere.

        Parameters
        ----------
        codes : int64[n]
            Reported categories.
        """
        positive, missing = codes == self.positive_code, codes == self.missing_code
        if not self.perturbed:
            return positive.astype(np.float64), 1.0 - missing
        if self.missing_code is None:
            return (positive - self.q) / (self.p - self.q), np.ones(codes.size)
        p, q = with_missing(self.p, self.q)
        return (positive - q) / (p - q), 1.0 - (missing - q) / (p - q)

    def correct(self, score: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turn the chance of a positive report into that of a positive truth, clipped to [0, 1]."""
        return corrected(score, self.p, self.q)


def with_missing(p: float, q: float) -> tuple[float, float]:
    """Return GRR's law over m answers and a missing category, from that over the answers alone.

    p and q are the chances that a reported answer is the true one, and a given other one, among the
    reports of answers by people who answered. With m + 1 categories, the part 1 - q' of them
    reports an answer; q = q'/(1 - q') and p = p'/(1 - q') give q' = q/(1 + q) and p' = p/(1 + q).
    """
    return p / (1.0 + q), q / (1.0 + q)


def corrected(score: npt.NDArray[np.float64], p: float, q: float) -> npt.NDArray[np.float64]:
    """Turn chances of a positive report into chances of the truth; see :class:`Target`."""
    if p == 1.0:
        return score
    return np.clip((score - q) / (p - q), 0.0, 1.0)


def _report_law(attribute: PublishedAttribute, positive: int) -> tuple[float, float]:
    """Return the chances of a positive report, among reports of an answer, by the label."""
    oracle = attribute.oracle
    if oracle is None:
        return 1.0, 0.0
    if not oracle.names_one_value:
        raise InvalidParameter(
            f"the target {attribute.name} was collected with {oracle.name}, whose records do not "
            "report one category and so give no label to learn from; collect the target with GRR, "
            "or in clear",
            field="target",
        )
    # the law is that of those who answer it, where it is in a draw
    # in a block an answer is reported by each of its combinations, which may be more for some
    members = members_of_categories(replace(attribute, draw=None))[: len(attribute.categories)]
    gap, reported = oracle.p - oracle.q, members[positive] * oracle.q
    total = gap + sum(members) * oracle.q
    return float((gap + reported) / total), float(reported / total)
