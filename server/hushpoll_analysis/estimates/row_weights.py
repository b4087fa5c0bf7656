"""By which weights one record counts in the categories of a question, or in cells of one block.

They are those of the estimates (:mod:`hushpoll_protocols.estimation.weights`): given the truth, the
expectation of a record's weights is the one-hot truth, and their means are the estimated shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import Margin, Side
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import Channel, Records
from hushpoll_protocols.estimation.marginals import AnyLaw
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowWeights:
    """The weights of records in the categories of one attribute, or in cells of one block."""

    names: tuple[str, ...]
    """The attribute, or the questions of the block that the cells are made of."""
    law: AnyLaw | None
    """None in clear."""
    shares: Array
    """f64[k] or f64[k1, k2, ...], the constants c, which sum to 1; 0 where every support has one
    size."""
    possible: npt.NDArray[np.bool_] | None = None
    """bool[k1, k2, ...], which cells a respondent can be in; None for all."""

    @classmethod
    def of(
        cls, published: Published, names: Sequence[str], support: npt.NDArray[np.int64], n: int
    ) -> RowWeights:
        """Return those of an attribute, or of questions of one block, from support counts."""
        block = published.block_of(names[0])
        possible = None
        if len(names) == 1 or block is None:
            law = law_of(published.attribute(names[0]))
        else:
            sizes, law = cells_of(block, names)
            possible = None if sizes.all() else sizes > 0
        counted = support.ravel() if possible is None else support[possible]
        shares = Margin.of(counted, n, Side.of(law)).shares
        if possible is None:
            return cls(tuple(names), law, shares.reshape(support.shape))
        whole = np.zeros(support.shape)
        whole[possible] = shares
        return cls(tuple(names), law, whole, possible)

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
        debiased = self._debiased(supported)
        if not self.shares.any():
            return np.asarray(debiased)
        excess = debiased.sum(axis=tuple(range(1, debiased.ndim)), keepdims=True) - 1.0
        return np.asarray(debiased - self.shares * excess)

    def _debiased(self, supported: npt.NDArray[Any]) -> Array:
        """Return D, f64[n, k] or f64[n, k1, k2, ...]; 0 in cells that nobody can be in."""
        channel = Channel.of(self.law)
        if self.possible is None:
            flat = supported.reshape(len(supported), -1)
            return channel.debias(flat).reshape(supported.shape)
        debiased = np.zeros(supported.shape)
        debiased[:, self.possible] = channel.debias(supported[:, self.possible])
        return debiased
