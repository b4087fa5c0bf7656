"""LightGBM on a Dask cluster (extra ``scale``): records too many for one machine.

Each worker reads row groups of the exported Parquet, encodes them and keeps them; LightGBM's
processes then grow the same trees together, exchanging histograms over TCP connections of their own
(``lightgbm.dask``). The model is one like any other, saved and used in the same way.

It is not the single machine's model to the last digit: bins are found and sums are added in another
order. Its metrics lie within what another seed does to them, which a test holds it to. There is no
early stopping: LightGBM offers none there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.parquet import ParquetRecords, read_row_group
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import Priors, check_encoding, priors_from_counts
from hushpoll_training.encodings.features import Features
from hushpoll_training.learners.cluster import require_versions
from hushpoll_training.learners.lightgbm_learner import SETTINGS, check_classes, check_seed, renamed
from hushpoll_training.learners.parameters import check_parameters
from hushpoll_training.models.model import Model, reported_labels

PATIENCE_MINUTES: Final = 5
"""For which a worker waits for the others; LightGBM's own default is two hours."""


def fit_parquet(
    records: ParquetRecords,
    parameters: Mapping[str, Any],
    *,
    client: Any,
    seed: int,
    encoding: str = "indicator",
) -> Model:
    """Fit to collected records on a cluster.

    Parameters
    ----------
    records : ParquetRecords
        In files that every worker can read.
    parameters : mapping
        See :data:`hushpoll_training.learners.parameters.PARAMETERS`.
    client : distributed.Client
        Of the cluster. Each worker uses the threads that it was started with. Its workers connect
        to each other on ports that they choose, unencrypted: keep them in a network of their own.
    seed : int
        Of the learner, in [0, 2^31).
    encoding : {"indicator", "posterior"}
        How records become features; priors are those of one machine, exactly.

    Raises
    ------
    InvalidParameter
        For a bad argument, a target that gives no labels, rows of a single class, or workers of
        other versions.
    MalformedRecord
        If a record is malformed.
    OSError
        If a worker cannot read a file.
    """
    import dask
    from lightgbm.dask import DaskLGBMRegressor

    values = check_parameters(parameters)
    check_seed(seed)
    check_encoding(encoding)
    target = Target.of(records.published)
    require_versions(client)
    untyped: Any = dask
    priors = None
    if encoding == "posterior":
        counted = [untyped.delayed(_answered, pure=False)(*group) for group in records.groups]
        counts = sum(client.gather(client.compute(counted)), Counts.none(records.published))
        priors = priors_from_counts(records.published, counts)
    features = Features.of(records.published, priors)
    pairs = client.persist(
        [untyped.delayed(_encoded, pure=False)(*group, priors) for group in records.groups]
    )
    sizes = client.gather(client.compute([untyped.delayed(_sizes)(pair) for pair in pairs]))
    rows, positive = (sum(column) for column in zip(*sizes, strict=True))
    check_classes(rows, positive)
    used = [pair for pair, (size, _) in zip(pairs, sizes, strict=True) if size]
    heights = [size for size, _ in sizes if size]
    # The classifier would renumber the classes that each worker happens to hold. The objective is
    # the same, and labels are 0 and 1 already.
    learner = DaskLGBMRegressor(
        client=client,
        **{**values, **SETTINGS},
        random_state=seed,
        tree_learner="data",
        # A worker would drop a column that none of its own rows can be split by, and with it the
        # column of all: rare categories, and accuracy, were lost. Splits are checked anyway.
        feature_pre_filter=False,
        time_out=PATIENCE_MINUTES,
    )
    tables = _joined([pair[0] for pair in used], [(size, len(features.names)) for size in heights])
    labels = _joined([pair[1] for pair in used], [(size,) for size in heights])
    # LightGBM is told the client and asks Dask for the current one all the same. It prints.
    with client.as_current(), warnings.catch_warnings(), redirect_stdout(StringIO()):
        # It says so of its own default: threads are those of the workers.
        warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored", UserWarning)
        learner.fit(tables, labels)
    return Model(features, target, renamed(learner.booster_, features.safe_names), rows)


def _joined(parts: list[Any], shapes: list[tuple[int, ...]]) -> Any:
    """Return a Dask array of float32 whose blocks are delayed, dense or sparse."""
    import dask.array

    untyped: Any = dask.array
    blocks = [
        untyped.from_delayed(part, shape=shape, dtype=np.float32)
        for part, shape in zip(parts, shapes, strict=True)
    ]
    return untyped.concatenate(blocks)


def _answered(path: str, group: int) -> Counts:
    """Count the records of a row group whose target has an answer; runs on a worker."""
    published, records = read_row_group(path, group)
    return count(published, records[reported_labels(published, records)[1]])


def _encoded(
    path: str, group: int, priors: Priors | None
) -> tuple[csr_matrix, npt.NDArray[np.float32]]:
    """Return the features and labels of a row group; runs on a worker, which keeps them."""
    published, records = read_row_group(path, group)
    label, answered = reported_labels(published, records)
    rows = Features.of(published, priors).from_records(records[answered])
    return rows, label[answered].astype(np.float32)


def _sizes(pair: tuple[csr_matrix, npt.NDArray[np.float32]]) -> tuple[int, int]:
    return len(pair[1]), int(pair[1].sum())
