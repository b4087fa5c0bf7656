"""An order that nobody can predict or reconstruct."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt


def permutation(n: int) -> npt.NDArray[np.intp]:
    """Return a uniformly random permutation of 0..n-1 from the operating system's generator.

    Sorting by independent keys gives every order the same probability as long as no two keys
    are equal: n random 64-bit keys hold an equal pair with probability below n^2 / 2^65, and
    then the keys are drawn again.
    """
    while True:
        keys = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not np.any(ordered[1:] == ordered[:-1]):
            return order


def shuffled(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the rows of uint8[n, L] in a random order, as a new array."""
    return rows[permutation(len(rows))]
