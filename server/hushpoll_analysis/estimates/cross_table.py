"""Cross-tables of two attributes, each perturbed or in clear.

Each cell is the unbiased share of the population in both categories; rows and columns sum to the
estimates of their categories. The maths is in :mod:`hushpoll_analysis.estimates.joint`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.influence import Influence, TableInfluence
from hushpoll_analysis.estimates.joint import estimate_table, influence_on_table
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.records.answering import of_those_who_answer
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import foreseen
from hushpoll_shared.qualifying.verdict import Reach, Verdict
from hushpoll_shared.queries.cross_tables import Cell, JointShares, reach_of_cells
from hushpoll_shared.queries.cross_tables import CrossTable as Query
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers


@dataclass(frozen=True, slots=True)
class CrossTable(ArrayResult):
    """Estimated shares of the population in each pair of categories.

    Attributes
    ----------
    a, b : str
        The two attributes; rows are the categories of `a`, columns those of `b`.
    categories_a, categories_b : tuple of str
        In code order.
    n : int
        Records behind it.
    confidence : float
        Of the intervals.
    frequency, standard_error, lower, upper : f64[k_a, k_b]
        Unbiased and not projected: a frequency may fall outside [0, 1]. Rows and columns sum to
        the estimates of their categories, and all cells to 1.
    poisoning : Influence or TableInfluence
        What one fake report can count as; no interval knows of fakes.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    a: str
    b: str
    categories_a: tuple[str, ...]
    categories_b: tuple[str, ...]
    n: int
    confidence: float
    frequency: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    poisoning: Influence | TableInfluence
    verdict: Verdict | None = None

    def cells(self, most: int | None = None) -> list[JsonMembers]:
        """Return one entry per cell, row by row, the categories keyed ``a`` and ``b``.

        An attribute may have the name of a column, such as ``lower``. With `most`, only the cells
        of so many first rows and columns.
        """
        names = ("a", "b", "frequency", "standard_error", "lower", "upper")
        return [dict(zip(names, row, strict=True)) for row in self._rows(most)]

    def _rows(
        self, most: int | None = None
    ) -> Iterator[tuple[str, str, float, float, float, float]]:
        """Yield the categories and the numbers of each cell; a list of all would be large."""
        columns = (self.frequency, self.standard_error, self.lower, self.upper)
        values = np.stack(columns, axis=-1)[:most, :most]
        for a, row in zip(self.categories_a[:most], values, strict=True):
            for b, cell in zip(self.categories_b[:most], row.tolist(), strict=True):
                yield a, b, *cell

    def result(self) -> JointShares:
        """Return the table cell by cell."""
        return filled(
            JointShares,
            self,
            intervals=how_to_read(self.frequency.size, self.confidence),
            cells=tuple(
                Cell(a=a, b=b, frequency=share, standard_error=error, lower=lower, upper=upper)
                for a, b, share, error, lower, upper in self._rows()
            ),
            poisoning=self.poisoning.row(),
        )


def cross_table(
    records: Records | RecordStream, a: str, b: str, *, confidence: float = 0.95
) -> CrossTable:
    """Estimate the cross-table of two different attributes.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    a, b : str
        Names of two different attributes.
    confidence : float
        In (0, 1).

    Raises
    ------
    InvalidParameter
        For an unknown attribute (the known ones are listed), the same attribute twice, a table of
        more than `LARGEST_TABLE` cells, or no records.
    """
    return joint_shares(Query(a=a, b=b, confidence=confidence), OfRecords(records))


def _foresee(query: Query, sides: Sequence[Expected]) -> tuple[Reach, ...]:
    """Return how far the intervals of the cells will reach; see `judged`."""
    (side,) = sides
    counts = side.pair(query.a, query.b)
    joint = estimate_table(side.published, counts, query.a, query.b, confidence=query.confidence)
    half = float((joint.upper - joint.lower).max()) / 2
    return (reach_of_cells(query.a, query.b, half, joint.frequency.size),)


@of_those_who_answer
@foreseen(_foresee)
def joint_shares(query: Query, source: Source) -> CrossTable:
    """Estimate the cross-table from joint counts; see :func:`cross_table`."""
    a, b, confidence = query.a, query.b, query.confidence
    published = source.published
    first, second = pair(published, a, b)
    counts = source.pair(a, b)
    require_rows(counts.n)
    joint = estimate_table(published, counts, a, b, confidence=confidence)
    return filled(
        CrossTable,
        joint,
        a=a,
        b=b,
        categories_a=first.domain,
        categories_b=second.domain,
        n=counts.n,
        confidence=confidence,
        poisoning=influence_on_table(published, a, b, joint),
    )
