"""False discovery control for many tests, whatever their dependence.

Of the m p-values in rising order let i be the last with p_(i) <= i q/(m (1 + 1/2 + ... + 1/m)). The
first i are discoveries, and of those at most the part q is expected to be false, under any
dependence of the tests (Benjamini and Yekutieli, Annals of Statistics 29, 2001, theorem 1.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter


def adjusted(p_values: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return adjusted p-values f64[m]: a discovery at the rate q is one of at most q."""
    values = np.asarray(p_values, np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise InvalidParameter(
            "p_values has a value outside [0, 1]; give chances", field="p_values"
        )
    number = len(values)
    ranks = np.arange(1, number + 1)
    order = np.argsort(values)
    scaled = values[order] * number * (1.0 / ranks).sum() / ranks
    result = np.empty(number)
    result[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return result
