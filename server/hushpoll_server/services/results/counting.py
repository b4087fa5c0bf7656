"""Between the bytes that the store keeps and the counts that estimates are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hushpoll_analysis.records.pair_counts import PairCounts, count_pairs
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_protocols import SecureBits
from hushpoll_protocols.registry import PROTOCOLS
from hushpoll_server.store.tables.counts import Aggregate, Aggregator, Rows
from hushpoll_shared.survey.manifest import Manifest
from hushpoll_shared.survey.published import Published


def counted(published_of: Callable[[int], Published]) -> Aggregator:
    """Return the function by which the store counts records.

    Parameters
    ----------
    published_of : callable
        Gives the resolved manifest of a version's id.
    """

    def aggregator(version_id: int, blocks: Iterable[Rows]) -> Aggregate:
        found = count_pairs(RecordStream.trusted(published_of(version_id), blocks))
        return Aggregate(found.counts.n, *found.pack())

    return aggregator


def prepare() -> None:
    """Count one record of every protocol, so that the first seal is as fast as others.

    It would otherwise load numba and its machine code while requests wait for it.
    """
    sensitive = [
        {"name": name.lower(), "role": "sensitive", "protocol": name, "range": [1, 3]}
        for name in PROTOCOLS
    ]
    published = Manifest.from_dict(
        {
            "name": "prepare",
            "version": 1,
            "title": "prepare",
            "epsilon": str(len(PROTOCOLS)),
            "attributes": [*sensitive, {"name": "clear", "role": "plain", "range": [1, 3]}],
        }
    ).resolve()
    answers = {attribute.name: "2" for attribute in published.attributes}
    codes = published.layout.code_answers(answers)
    record = published.layout.encode(codes, SecureBits())
    count_pairs(Records(published, np.frombuffer(record, dtype=np.uint8)[None]))


def pair_counts_of(published: Published, aggregate: Aggregate) -> PairCounts:
    """Return the counts that the store keeps.

    Raises
    ------
    InvalidParameter
        A release that kept other pairs has written them.
    """
    return PairCounts.unpack(published, aggregate.reports, aggregate.support, aggregate.joint)
