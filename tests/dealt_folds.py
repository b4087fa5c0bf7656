"""The fold of each record, as cross-fitting deals records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_training.audits.dealing import folds_in_order, order_of


def deal(records: Records, folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Return each record's fold, int64[n] in [0, folds)."""
    fold = np.empty(len(records), np.int64)
    fold[order_of(records, seed)] = folds_in_order(len(records), folds)
    return fold
