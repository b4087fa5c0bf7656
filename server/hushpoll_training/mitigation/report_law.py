"""Which group a record reports, with which chance for the members of each group; scaled tolerance.

A reported group is a function of the record alone. A rule that may look at the record, and not at
the answer, knows no more of a person's group.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.evidence import Array, check_groups
from hushpoll_training.learners.grouping import Groups


class ReportLaw:
    """The classes of records, and their chances given each group.

    Parameters
    ----------
    oracle : FrequencyOracle or None
        The protocol of the protected attribute; None for answers in clear, where each group is a
        class.
    groups : tuple of tuples of int
        Codes of each group.
    k : int
        Categories of the attribute.

    Attributes
    ----------
    chances : f64[groups, classes]
        Chance of a class given a group; each row sums to 1. It is exact for every member of a
        group, whatever the shares of the categories are.

    Raises
    ------
    InvalidParameter
        For a protocol whose records may support several of more than two categories: the law of
        such a pattern differs between the categories of one group, and there are 2^k patterns.
    """

    def __init__(self, oracle: FrequencyOracle | None, groups: Groups, k: int) -> None:
        check_groups(groups, k)
        self.groups = groups
        self._pairs = oracle is not None and not oracle.names_one_value
        if self._pairs and k != 2:
            assert oracle is not None  # noqa: S101  (_pairs says so)
            raise InvalidParameter(
                f"records of {oracle.name} over {k} categories do not name a group; use the group "
                "in clear when predicting, or a protocol whose records name one category (GRR)",
                field="at_prediction",
            )
        self._class_of_code = np.full(k, len(groups))
        for group, codes in enumerate(groups):
            self._class_of_code[list(codes)] = group
        if self._pairs:
            assert oracle is not None  # noqa: S101
            self.chances = _of_patterns(oracle, groups)
        else:
            p, q = (1.0, 0.0) if oracle is None else (float(oracle.p), float(oracle.q))
            sizes = np.bincount(self._class_of_code, minlength=len(groups) + 1)
            others = np.tile(q * sizes, (len(groups), 1))
            own = np.arange(len(groups))
            others[own, own] += p - q
            named = others[:, : len(groups) + bool(sizes[-1])]
            self.chances = named / named.sum(axis=1, keepdims=True)

    def classes(self, indicators: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """Return the class of each record, int64[n], from its indicators uint8[n, k].

        Raises
        ------
        InvalidParameter
            If rows support none or several categories where each record names one.
        """
        if self._pairs:
            return np.asarray(indicators @ np.array([1, 2]), np.int64)
        if not (indicators.sum(axis=1) == 1).all():
            raise InvalidParameter(
                "the columns of the protected attribute do not name one category in each row; give "
                "rows as the estimator was told to expect them when predicting",
                field="protected",
            )
        return np.asarray(self._class_of_code[indicators.argmax(axis=1)], np.int64)


class CrossedLaw:
    """The classes of records of several attributes, and their chances given groups of each.

    Attributes are perturbed independently of each other, so the chance of a class of each is the
    product of their chances: `chances`, f64[groups, classes], the last attribute's the fastest.
    """

    def __init__(self, laws: Sequence[ReportLaw]) -> None:
        self.laws = tuple(laws)
        self.chances: Array = np.ones((1, 1))
        for law in laws:
            self.chances = np.asarray(np.kron(self.chances, law.chances), np.float64)

    def classes(self, indicators: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.int64]:
        """Return the class of each row, int64[n], from the indicators of each attribute.

        A person whose answer in clear to one of the attributes is in no group has a class beyond
        those of `chances`.
        """
        found, outside = np.zeros(len(indicators[0]), np.int64), np.zeros(len(indicators[0]), bool)
        for law, own in zip(self.laws, indicators, strict=True):
            kind, count = law.classes(own), law.chances.shape[1]
            outside |= kind >= count
            found = found * count + np.minimum(kind, count - 1)
        return np.where(outside, self.chances.shape[1], found)


def _of_patterns(oracle: FrequencyOracle, groups: Groups) -> Array:
    """Return the chances of the four supports of two categories.

    Indicators of different categories are uncorrelated given the truth where the size of the
    support varies, and of two events that means independent.
    """
    p, q = float(oracle.p), float(oracle.q)
    given_code = np.zeros((2, 4))
    for code, first, second in product((0, 1), repeat=3):
        likely = (p, q) if code == 0 else (q, p)
        given_code[code, first + 2 * second] = np.prod(
            [
                chance if bit else 1 - chance
                for bit, chance in zip((first, second), likely, strict=True)
            ]
        )
    return np.stack([given_code[list(codes)].mean(axis=0) for codes in groups])


def scaled_tolerance(tolerance: float, chances: npt.ArrayLike, shares: npt.ArrayLike) -> float:
    """Return the tolerance for reported groups that holds true groups to `tolerance`.

    Let f_a be a rate in the true group a and g_b in the reported group b, and C[b, a] the chance of
    the true group a given the report b. Where the prediction does not depend on the report given
    the true group, g = C f, so f = C^-1 g. The rows of C^-1 sum to 1, so that for each pair

        f_a - f_a' = (C^-1[a] - C^-1[a']) g <= L (max g - min g),

    L being half the l1 norm of the difference of the two rows. The tolerance is divided by the
    largest L. For two groups L is 1/(1 - alpha - beta), with alpha and beta the chances that a
    report is wrong, and the bound is an equality: Lamy, Zhong, Verma and Menon, "Noise-tolerant
    fair classification", NeurIPS 2019, for the mean-difference score.

    Parameters
    ----------
    tolerance : float
        Largest difference between true groups, in [0, 1].
    chances : f64[groups, groups]
        Chance of a reported group given a true one, such as :attr:`ReportLaw.chances` of groups
        that cover all categories.
    shares : f64[groups]
        Shares of the true groups: among all people for demographic parity, among the positives for
        equal opportunity.

    Raises
    ------
    InvalidParameter
        For a tolerance outside [0, 1], shares that are not positive, or reports that do not tell
        the groups apart.
    """
    if not 0 <= tolerance <= 1:
        raise InvalidParameter(
            f"tolerance is {tolerance}; it must lie in [0, 1]", field="tolerance"
        )
    law, share = np.asarray(chances, np.float64), np.asarray(shares, np.float64)
    if law.shape != (share.size, share.size) or share.size < 2 or not (share > 0).all():
        raise InvalidParameter(
            f"chances have the shape {law.shape} and shares are {share.tolist()}; give a square of "
            "chances, and the positive share of each of its groups, at least two",
            field="shares",
        )
    joint = (law * share[:, None]).T
    contamination = joint / joint.sum(axis=1, keepdims=True)
    try:
        inverse = np.linalg.inv(contamination)
    except np.linalg.LinAlgError:
        raise InvalidParameter(
            "the reported groups do not tell the true ones apart, so no tolerance would do; give "
            "the chances of another protocol",
            field="chances",
        ) from None
    return float(
        tolerance
        / max(
            np.abs(inverse[one] - inverse[other]).sum() / 2
            for one, other in combinations(range(share.size), 2)
        )
    )
