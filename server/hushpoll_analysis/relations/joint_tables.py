"""The joint table of two or three attributes as it is shown: unbiased shares, and likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hushpoll_analysis.estimates.cross_table import CrossTable, cross_table
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.answering import require_answered
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.relations.likelihood_table import (
    NO_INTERVAL,
    LikelihoodTable,
    likelihood_table,
)
from hushpoll_analysis.relations.three_way import (
    JointTableDocument,
    UnbiasedTable,
    chosen_attributes,
    three_way_table,
)


@dataclass(frozen=True, slots=True)
class JointTable(Tabular):
    """Unbiased shares with intervals, and beside them those by maximum likelihood.

    Attributes
    ----------
    unbiased : UnbiasedTable
        Of two or of three attributes.
    likelihood : LikelihoodTable or None
        Of the same cells, without an interval.
    """

    statistic_name: ClassVar[str] = "joint-table"

    unbiased: UnbiasedTable
    likelihood: LikelihoodTable | None

    def to_dict(self) -> JointTableDocument:
        """Return the table as the job and ``--json`` give it: one entry per cell."""
        table, likely = self.unbiased.to_dict(), self.likelihood
        if likely is not None:
            for cell, share in zip(table["cells"], likely.frequency.ravel().tolist(), strict=True):
                cell["likelihood"] = share
            table["likelihood"] = {
                "interval": NO_INTERVAL,
                "deficit": likely.deficit,
                "iterations": likely.iterations,
            }
        return table


def joint_table(
    records: Records,
    attributes: Sequence[str],
    *,
    confidence: float = 0.95,
    likelihood: bool = True,
    on_progress: Callable[[float], object] | None = None,
) -> JointTable:
    """Estimate the joint table of two or three attributes.

    Parameters
    ----------
    records : Records
        Held at once.
    attributes : sequence of str
        Two or three different ones.
    confidence : float
        Of each interval, in (0, 1).
    likelihood : bool
        Whether to compute the shares by maximum likelihood as well.
    on_progress : callable, optional
        See :func:`hushpoll_analysis.relations.likelihood_table.likelihood_table`.

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.relations.three_way.three_way_table`.
    """
    chosen_attributes(records.published, attributes)
    require_answered(records.published, attributes)
    records = records.answering(attributes)
    if len(attributes) == 2:
        a, b = attributes
        unbiased = _as_table(cross_table(records, a, b, confidence=confidence))
    else:
        a, b, c = attributes
        unbiased = three_way_table(records, a, b, c, confidence=confidence)
    likely = likelihood_table(records, attributes, on_progress=on_progress) if likelihood else None
    return JointTable(unbiased, likely)


def _as_table(table: CrossTable) -> UnbiasedTable:
    return UnbiasedTable(
        attributes=(table.a, table.b),
        categories=(table.categories_a, table.categories_b),
        n=table.n,
        confidence=table.confidence,
        frequency=table.frequency,
        standard_error=table.standard_error,
        lower=table.lower,
        upper=table.upper,
        verdict=table.verdict,
    )
