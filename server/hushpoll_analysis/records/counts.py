"""Support counts: all that frequencies need of the records, in one pass over chunks of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.decode import check_records, clear_codes
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import support_counts
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import column

CELLS = 1 << 24
"""Indicators held at a time, so that memory does not grow with the number of records."""

Records: TypeAlias = npt.NDArray[np.uint8] | Iterable[npt.NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records support each category; add two to join their rows.

    Attributes
    ----------
    n : int
        Records counted.
    support : mapping of str to int64[k]
        Per attribute, in manifest order.
    """

    n: int
    support: Mapping[str, npt.NDArray[np.int64]]

    def __add__(self, other: Counts) -> Counts:
        if self.support.keys() != other.support.keys():
            raise InvalidParameter(
                f"counts of {', '.join(self.support)} and of {', '.join(other.support)} are of "
                "different surveys; add counts of one published version only",
                field="counts",
            )
        return Counts(
            self.n + other.n,
            {name: support + other.support[name] for name, support in self.support.items()},
        )

    @classmethod
    def none(cls, published: Published, only: Collection[str] | None = None) -> Counts:
        """Return the counts of no record, of all attributes or of those named only."""
        return cls(
            0,
            {
                attribute.name: np.zeros(attribute.k, np.int64)
                for attribute in _chosen(published, only)
            },
        )


def count(published: Published, records: Records, *, only: Collection[str] | None = None) -> Counts:
    """Count the support of every category.

    Parameters
    ----------
    published : Published
        The survey that the records belong to.
    records : uint8[n, L], or an iterable of such arrays
        Well-formed records; an iterable is consumed one array at a time.
    only : collection of str, optional
        Attributes to count; all of them by default.

    Raises
    ------
    InvalidParameter
        If an array has another shape or type than the survey's records.
    MalformedRecord
        If a row is malformed.
    """
    total = Counts.none(published, only)
    for chunk in chunks(published, records, CELLS // published.layout.record_size):
        total = total + _count_chunk(published, chunk, only)
    return total


def chunks(published: Published, records: Records, rows: int) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the records in arrays of at most `rows` rows, each of the checked shape."""
    for array in [records] if isinstance(records, np.ndarray) else records:
        check_records(published, array)
        for start in range(0, len(array), rows):
            yield array[start : start + rows]


def _chosen(published: Published, only: Collection[str] | None) -> list[PublishedAttribute]:
    return [
        attribute for attribute in published.attributes if only is None or attribute.name in only
    ]


def _count_chunk(
    published: Published, records: npt.NDArray[np.uint8], only: Collection[str] | None
) -> Counts:
    layout = published.layout
    support: dict[str, npt.NDArray[np.int64]] = {}
    for attribute in _chosen(published, only):
        if attribute.oracle is None:
            support[attribute.name] = np.bincount(
                clear_codes(published, records, attribute), minlength=attribute.k
            )
        else:
            support[attribute.name] = support_counts(
                attribute.oracle, column(layout, records, attribute.name)
            )
    return Counts(len(records), support)
