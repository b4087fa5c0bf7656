"""What each record supports of a question, or of several that are randomised together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.fields import over_others
from hushpoll_analysis.records.records import Records


def numbers(records: Records, names: Sequence[str]) -> npt.NDArray[Any]:
    """Return how many combinations with each of some answers the records support.

    Parameters
    ----------
    records : Records
        Read once.
    names : sequence of str
        One attribute, or several questions of one block.

    Returns
    -------
    uint8[n, k] or uint16[n, k1, k2, ...]
        Of an attribute that is in no block with others its indicators, which are 0 or 1.

    Raises
    ------
    InvalidParameter
        If the survey has no such attribute.
    """
    block = records.published.block_of(names[0])
    if block is None or block.alone:
        return records.indicators(names[0])
    supported = records.indicators_of(records.published.layout.field(block.name))
    return np.moveaxis(over_others(supported.T.astype(np.uint16), block, names), -1, 0)
