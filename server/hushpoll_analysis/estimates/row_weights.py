"""By which weights one record counts in the categories of a question, or in cells of one block.

They are those of the estimates (:mod:`hushpoll_protocols.estimation.weights`): given the truth, the
expectation of a record's weights is the one-hot truth, and their means are the estimated shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import Side, debiased_means
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.laws import law_of, law_of_cells
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import Channel, Records
from hushpoll_protocols.estimation.marginals import Law
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowWeights:
    """The weights of records in the categories of one attribute, or in cells of one block.

    Attributes
    ----------
    names : tuple of str
        The attribute, or the questions of the block that the cells are made of.
    law : FrequencyOracle, Marginal or None
        Of the categories or cells; None in clear.
    shares : f64[k] or f64[k1, k2, ...]
        The constants c, which sum to 1; 0 where every support has one size.
    """

    names: tuple[str, ...]
    law: Law | None
    shares: Array

    @classmethod
    def of(
        cls, published: Published, names: Sequence[str], support: npt.NDArray[np.int64], n: int
    ) -> RowWeights:
        """Return those of an attribute, or of several questions of one block.

        Parameters
        ----------
        published : Published
            The survey.
        names : sequence of str
            See above.
        support : int64[k] or int64[k1, k2, ...]
            Support counts of the categories or cells.
        n : int
            Records behind them, at least 1.
        """
        block = published.block_of(names[0])
        if len(names) == 1 or block is None:
            law = law_of(published.attribute(names[0]))
        else:
            law = law_of_cells(block, support.size)
        side = Side.of(law)
        shares = side.law.excess_shares(debiased_means(support.ravel(), n, side))
        return cls(tuple(names), law, shares.reshape(support.shape))

    @classmethod
    def of_records(cls, records: Records, name: str) -> RowWeights:
        """Return those of one attribute, at the estimates of records, at least one."""
        support = count(records, only=[name]).of(records.published, name)
        return cls.of(records.published, [name], support, len(records))

    def rows(self, records: Records) -> Array:
        """Return the weights of each record, f64[n, k] or f64[n, k1, k2, ...]."""
        supported = numbers(records, self.names)
        if self.law is None:
            return supported.astype(np.float64)
        debiased = Channel.of(self.law).debias(supported)
        if not self.shares.any():
            return np.asarray(debiased)
        excess = debiased.sum(axis=tuple(range(1, debiased.ndim)), keepdims=True) - 1.0
        return np.asarray(debiased - self.shares * excess)
