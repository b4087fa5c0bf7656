"""Two different attributes: which pairs there are, and their joint counts."""

from __future__ import annotations

import numpy as np

from hushpoll_analysis.records.counts import JointCounts, count
from hushpoll_analysis.records.fields import over_others
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import CELLS, Records, RecordStream
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

LARGEST_TABLE = 1 << 22
"""Most cells of a table: 2048 categories by 2048, far more than anybody reads."""


def joint_counts(records: Records | RecordStream, a: str, b: str) -> JointCounts:
    """Count the indicators of two different attributes in one pass; see :class:`JointCounts`."""
    published = records.published
    first, second = pair(published, a, b)
    blocks = published.block_of(a), published.block_of(b)
    if blocks[0] is not None and blocks[0] is blocks[1]:
        counts = count(records, only=[a])
        both = over_others(counts.support[blocks[0].name], blocks[0], [a, b])
        return JointCounts(counts.n, counts.of(published, a), counts.of(published, b), both)
    total = JointCounts(
        0,
        np.zeros(first.k, np.int64),
        np.zeros(second.k, np.int64),
        np.zeros((first.k, second.k), np.int64),
    )
    width = sum(
        one.k if block is None else block.k
        for one, block in zip((first, second), blocks, strict=True)
    )
    # the sums of products of two numbers of combinations stay below 2^24
    most = 1 if blocks[0] is None else blocks[0].k // first.k
    most *= 1 if blocks[1] is None else blocks[1].k // second.k
    for part in records.blocks(CELLS // (width * most)):
        total = total + JointCounts.of(numbers(part, [a]), numbers(part, [b]))
    return total


def pair(
    published: Published, a: str, b: str, fields: tuple[str, str] = ("a", "b")
) -> tuple[PublishedAttribute, PublishedAttribute]:
    """Return two different attributes; refuses a table of more than `LARGEST_TABLE` cells.

    A refusal names `fields`, the caller's parameters that they were given by.
    """
    first = published.attribute(a, field=fields[0])
    second = published.attribute(b, field=fields[1])
    if first.name == second.name:
        raise InvalidParameter(
            f"{a} is named twice; two different attributes are needed, since only their noise is "
            "independent: name another one, or ask for the estimates of this one",
            field=fields[1],
        )
    if first.k * second.k > LARGEST_TABLE:
        raise InvalidParameter(
            f"{a} by {b} is a table of {first.k} x {second.k} cells; a cross-table has at most "
            f"{LARGEST_TABLE}: choose attributes with fewer categories",
            field=fields[1],
        )
    return first, second
