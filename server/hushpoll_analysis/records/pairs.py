"""Two different attributes: which pairs there are, and their joint counts."""

from __future__ import annotations

import numpy as np

from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.records import CELLS, Records, RecordStream
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published

LARGEST_TABLE = 1 << 22
"""Most cells of a table: 2048 categories by 2048, far more than anybody reads."""


def joint_counts(
    records: Records | RecordStream, a: str, b: str, fields: tuple[str, str] = ("a", "b")
) -> JointCounts:
    """Count the indicators of two different attributes, alone and together, in one pass.

    See :func:`pair` for `fields`.

    Raises
    ------
    InvalidParameter
        As :func:`cross_table`, but for no records.
    """
    first, second = pair(records.published, a, b, fields)
    total = JointCounts(
        0,
        np.zeros(first.k, np.int64),
        np.zeros(second.k, np.int64),
        np.zeros((first.k, second.k), np.int64),
    )
    for block in records.blocks(CELLS // (first.k + second.k)):
        total = total + JointCounts.of(block.indicators(a), block.indicators(b))
    return total


def pair(
    published: Published, a: str, b: str, fields: tuple[str, str] = ("a", "b")
) -> tuple[PublishedAttribute, PublishedAttribute]:
    """Return two different attributes by name.

    Parameters
    ----------
    published : Published
        The survey.
    a, b : str
        Names of the attributes.
    fields : (str, str)
        The caller's parameters that they were given by, which a refusal names.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, the same one twice, or a table of more than `LARGEST_TABLE` cells.
    """
    first = published.attribute(a, field=fields[0])
    second = published.attribute(b, field=fields[1])
    if first.name == second.name:
        raise InvalidParameter(
            f"{a} is named twice; two different attributes are needed, since only their noise is "
            "independent: name another one, or ask for the frequencies",
            field=fields[1],
        )
    if first.k * second.k > LARGEST_TABLE:
        raise InvalidParameter(
            f"{a} by {b} is a table of {first.k} x {second.k} cells; a cross-table has at most "
            f"{LARGEST_TABLE}: choose attributes with fewer categories",
            field=fields[1],
        )
    return first, second
