"""What the last bit of a result depends on besides our own code: libraries and the processor."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version

import lightgbm
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_info, threadpool_limits

LIBRARIES = ("lightgbm", "numba", "numpy", "scikit-learn", "scipy")


def versions() -> dict[str, str]:
    """Return the versions of the libraries that compute."""
    return {name: version(name) for name in LIBRARIES}


@cache
def arithmetic() -> dict[str, object]:
    """Return what tells whether two machines round alike.

    The instructions that numpy and its linear algebra choose by the processor, and the digest of a
    computation without any of our code: exponentials, products of matrices, a few trees.
    """
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    kernels = {one["architecture"] for one in threadpool_info() if one["user_api"] == "blas"}
    return {
        "instructions": sorted({*simd["baseline"], *simd.get("found", ())}),
        "linear_algebra": sorted(kernels),
        "sha256": _digest(),
    }


def _digest() -> str:
    points = (np.arange(1, 20_001) * 0.6180339887498949) % 7 + 1e-3
    # one thread, as in the computation of pinned values
    with threadpool_limits(limits=1, user_api="blas"):
        return _digest_of_one_thread(points)


def _digest_of_one_thread(points: npt.NDArray[np.float64]) -> str:
    square = points.reshape(200, 100)
    parts = [np.exp(points), np.log(points), np.log1p(points), np.sqrt(points), points**1.7]
    parts += [square @ square.T, square @ square[0], square.sum(axis=0), np.cumsum(points)]
    single = square.astype(np.float32)
    parts += [single.T @ single]
    table = square.reshape(2000, 10)
    label = (np.sin(7 * table).sum(axis=1) > 0).astype(np.int64)
    settings = {"objective": "binary", "deterministic": True, "force_row_wise": True}
    settings |= {"verbosity": -1, "num_threads": 1, "seed": 1}
    booster = lightgbm.train(settings, lightgbm.Dataset(table, label), num_boost_round=30)
    parts.append(np.asarray(booster.predict(table, num_threads=1)))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
