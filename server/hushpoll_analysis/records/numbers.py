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

    One attribute has uint8[n, k] (indicators where it is in no block with others), several
    questions of one block uint16[n, k1, k2, ...].
    """
    block = records.published.block_of(names[0])
    if block is None or block.alone:
        return records.indicators(names[0])
    supported = records.indicators_of(records.published.layout.field(block.name))
    return np.moveaxis(over_others(supported.T.astype(np.uint16), block, names), -1, 0)
