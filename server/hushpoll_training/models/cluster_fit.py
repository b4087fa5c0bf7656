"""Fitting on a Dask cluster (extra ``scale``): records too many for one machine.

Each worker reads row groups of the exported Parquet, encodes them and keeps them; the learner's own
part on the workers then fits to them (:meth:`.learner.Learner.fit_on_cluster`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.parquet import ParquetRecords, read_row_group
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.learners.cluster import require_versions
from hushpoll_training.learners.design import check_classes
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import Model, reported_labels
from hushpoll_training.models.recipe import Recipe


def fit_parquet(
    records: ParquetRecords, recipe: Recipe, options: FitOptions, *, client: Any
) -> Model:
    """Fit to collected records, in files that every worker can read, on a cluster.

    Priors are those of one machine, exactly; each worker uses the threads that it was started with.
    The client is a ``distributed.Client``. The workers may connect to each other on ports that they
    choose, unencrypted: keep them in a network of their own.
    """
    import dask

    published = records.published
    target = Target.of(published)
    require_versions(client, recipe.learner)
    delayed: Any = dask.delayed  # type: ignore[attr-defined]  # untyped
    counts = Counts.none(published)
    if recipe.encoding.needs_prior:
        counted = [delayed(_answered, pure=False)(*group) for group in records.groups]
        counts = sum(client.gather(client.compute(counted)), counts)
    features = recipe.encoding.fit_counts(published, counts)
    pairs = client.persist(
        [delayed(_encoded, pure=False)(*group, features) for group in records.groups]
    )
    sizes = client.gather(client.compute([delayed(_sizes)(pair) for pair in pairs]))
    rows, positive = (sum(column) for column in zip(*sizes, strict=True))
    check_classes(rows, positive)
    used = [pair for pair, (size, _) in zip(pairs, sizes, strict=True) if size]
    heights = [size for size, _ in sizes if size]
    fitted = recipe.learner.fit_on_cluster(client, used, heights, features.names, options)
    return Model(features, target, fitted, rows)


def _answered(path: str, group: int) -> Counts:
    """Count the records of a row group whose target has an answer; runs on a worker."""
    records = read_row_group(path, group)
    return count(records.take(reported_labels(records)[1]))


def _encoded(
    path: str, group: int, features: Features
) -> tuple[csr_matrix, npt.NDArray[np.float32]]:
    """Return the features and labels of a row group; runs on a worker, which keeps them."""
    records = read_row_group(path, group)
    label, answered = reported_labels(records)
    return features.from_records(records.take(answered)), label[answered].astype(np.float32)


def _sizes(pair: tuple[csr_matrix, npt.NDArray[np.float32]]) -> tuple[int, int]:
    return len(pair[1]), int(pair[1].sum())
