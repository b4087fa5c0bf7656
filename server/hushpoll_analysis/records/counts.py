"""Support counts: all that frequencies need of the records, in one pass over chunks of rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import CELLS, Records, RecordStream
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import support_counts
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published


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


def count(records: Records | RecordStream, *, only: Collection[str] | None = None) -> Counts:
    """Count the support of every category.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    only : collection of str, optional
        Attributes to count; all of them by default.
    """
    total = Counts.none(records.published, only)
    for block in records.blocks(CELLS // records.published.layout.record_size):
        total = total + _count_block(block, only)
    return total


def _chosen(published: Published, only: Collection[str] | None) -> list[PublishedAttribute]:
    return [
        attribute for attribute in published.attributes if only is None or attribute.name in only
    ]


def _count_block(records: Records, only: Collection[str] | None) -> Counts:
    support: dict[str, npt.NDArray[np.int64]] = {}
    for attribute in _chosen(records.published, only):
        name = attribute.name
        if attribute.oracle is None:
            support[name] = np.bincount(records.codes(name), minlength=attribute.k)
        else:
            support[name] = support_counts(attribute.oracle, records.column(name))
    return Counts(len(records), support)
