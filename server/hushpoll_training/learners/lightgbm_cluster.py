"""LightGBM on a Dask cluster (extra ``scale``): rows too many for one machine.

LightGBM's processes grow the same trees together and exchange histograms over TCP connections of
their own (``lightgbm.dask``). The model is one like any other, saved and used in the same way.

It is not the single machine's model to the last digit: bins are found and sums are added in another
order. Its metrics lie within what another seed does to them, which a test holds it to. There is no
early stopping: LightGBM offers none there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import lightgbm

PATIENCE_MINUTES: Final = 5
"""For which a worker waits for the others; LightGBM's own default is two hours."""


def fit_parts(
    client: Any, parts: Sequence[Any], sizes: Sequence[int], columns: int,
    settings: Mapping[str, Any],
) -> lightgbm.Booster:  # fmt: skip
    """Fit to rows that the workers hold; see :meth:`.learner.Learner.fit_on_cluster`."""
    from lightgbm.dask import DaskLGBMRegressor

    # The classifier would renumber the classes that each worker happens to hold. The objective is
    # the same, and labels are 0 and 1 already.
    learner = DaskLGBMRegressor(
        client=client,
        **settings,
        tree_learner="data",
        # A worker would drop a column that none of its own rows can be split by, and with it the
        # column of all: rare categories, and accuracy, were lost. Splits are checked anyway.
        feature_pre_filter=False,
        time_out=PATIENCE_MINUTES,
    )
    tables = _joined([part[0] for part in parts], [(size, columns) for size in sizes])
    labels = _joined([part[1] for part in parts], [(size,) for size in sizes])
    # LightGBM gets the client, and asks Dask for the current one all the same. It also prints.
    with client.as_current(), warnings.catch_warnings(), redirect_stdout(StringIO()):
        # A warning about its own default: threads are those of the workers.
        warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored", UserWarning)
        learner.fit(tables, labels)
    return learner.booster_


def _joined(parts: list[Any], shapes: list[tuple[int, ...]]) -> Any:
    """Return a Dask array of float32 whose blocks are delayed, dense or sparse."""
    import dask.array

    untyped: Any = dask.array
    blocks = [
        untyped.from_delayed(part, shape=shape, dtype=np.float32)
        for part, shape in zip(parts, shapes, strict=True)
    ]
    return untyped.concatenate(blocks)
