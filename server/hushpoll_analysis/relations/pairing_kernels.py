"""Compiled loop of ``reference_distribution``: joint counts of records paired at random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.compilation import njit

Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]


@njit
def count_pairings(
    starts1: Places,
    categories1: Places,
    starts2: Places,
    categories2: Places,
    order: Places,
    words: Words,
    shifts: Places,
    tables: Places,
) -> None:
    """Pair the records of two attributes at random, and count the categories that meet.

    Record i of either attribute supports ``categories[starts[i]:starts[i + 1]]``. For each row of
    `words` the second attribute's records are shuffled (`order` is changed); each table of
    ``len(tables)/len(words)`` then pairs record i with that at place i + shift of them.
    """
    n, each = order.shape[0], tables.shape[0] // words.shape[0]
    for d in range(tables.shape[0]):
        if d % each == 0:
            row = d // each
            for i in range(n - 1, 0, -1):
                # uniform below i + 1, but for 2^-32 of i
                j = np.int64((np.uint64(words[row, i]) * np.uint64(i + 1)) >> np.uint64(32))
                held = order[i]
                order[i] = order[j]
                order[j] = held
        place = shifts[d]
        for i in range(n):
            other = order[place]
            place += 1
            if place == n:
                place = 0
            for at in range(starts1[i], starts1[i + 1]):
                first = categories1[at]
                for by in range(starts2[other], starts2[other + 1]):
                    tables[d, first, categories2[by]] += 1
