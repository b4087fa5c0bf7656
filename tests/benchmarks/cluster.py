"""Adult's models of a Dask cluster on this machine beside those of one process, over seeds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.adult import load_codes, resolve
from benchmarks.harness import Figure, against, announced

PARAMETERS = {"n_estimators": 100, "subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.8}
METRICS = ("accuracy", "f1", "roc_auc", "DI", "SPD", "EOD", "OAD")
LIMIT = 3.0


def agreeing(data: Path, scale: float) -> list[Figure]:
    """Return how far the two means of any metric lie apart, in standard errors."""
    import distributed

    from hushpoll_analysis import Records
    from hushpoll_analysis.records.parquet import ParquetRecords
    from hushpoll_shared.wire.batch import encode_many
    from hushpoll_training.evaluation.evaluation import evaluate
    from hushpoll_training.learners.cluster import connected
    from hushpoll_training.learners.learner import FitOptions
    from hushpoll_training.models.cluster_fit import fit_parquet
    from hushpoll_training.models.model import fit_records
    from hushpoll_training.models.recipe import Recipe

    codes = load_codes(data / "adult_26k.csv")
    published = resolve(codes, protocol="OUE", split="uniform")
    rng = np.random.default_rng(1)
    order = rng.permutation(len(codes))
    parts = np.split(order, [int(0.8 * len(codes))])
    train, test = ({name: codes[name].to_numpy()[rows] for name in codes} for rows in parts)
    records = encode_many(published, train, rng)
    seeds = max(3, round(12 * scale))

    def measured(model):
        metrics = evaluate(model, test).metrics
        return [metrics[name].value for name in METRICS]

    with announced(f"{seeds} models of Adult in one process, OUE, epsilon 4, uniform split"):
        here = np.array(
            [
                measured(
                    fit_records(Records(published, records), Recipe.of(PARAMETERS), FitOptions(s))
                )
                for s in range(seeds)
            ]
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.parquet"
        write(path, published, records)
        with (
            announced(f"{seeds} models of it on a cluster of two workers"),
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=None,
            ) as cluster,
            connected(cluster.scheduler_address) as client,
        ):
            exported = ParquetRecords.of([path])
            there = np.array(
                [
                    measured(
                        fit_parquet(
                            exported, Recipe.of(PARAMETERS), FitOptions(100 + s), client=client
                        )
                    )
                    for s in range(seeds)
                ]
            )
    error = np.sqrt((here.var(axis=0, ddof=1) + there.var(axis=0, ddof=1)) / seeds)
    distance = np.abs(here.mean(axis=0) - there.mean(axis=0)) / error
    for name, alone, together, far in zip(
        METRICS, here.mean(axis=0), there.mean(axis=0), distance, strict=True
    ):
        print(
            f"  {name}: {alone:.4f} in one process, {together:.4f} on the cluster, {far:.1f} s.e."
        )
    return [
        against(
            f"Adult on a cluster and in one process, {seeds} seeds each: farthest of "
            f"{len(METRICS)} metrics",
            unit="standard errors",
            ours=float(distance.max()),
            peer=LIMIT,
            peer_name="limit",
            goal=1,
            repeats=seeds,
        )
    ]


def write(path: Path, published, records) -> None:
    """Write records as an export to Parquet does, in row groups of 4,000."""
    import pyarrow as pa
    from pyarrow import parquet

    from hushpoll_shared.wire.batch import column

    columns = {}
    for attribute in published.attributes:
        part = np.ascontiguousarray(column(published.layout, records, attribute.name))
        if attribute.oracle is None:
            codes = part.view(f"<u{part.shape[1]}").ravel()
            columns[attribute.name] = pa.array([attribute.domain[code] for code in codes])
        else:
            rows = [row.tobytes() for row in part]
            columns[attribute.name] = pa.array(rows, pa.binary(attribute.oracle.record_size))
    described = {"hushpoll.content": "records", "hushpoll.manifest": published.canonical}
    table = pa.table(columns).replace_schema_metadata(described)
    parquet.write_table(table, path, row_group_size=4000)
