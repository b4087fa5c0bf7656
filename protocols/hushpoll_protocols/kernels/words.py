"""Drawing many 64-bit words from a numpy Generator, in the order that single draws have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.thresholds import Q

WORDS_PER_BLOCK = 1 << 17
"""1 MiB of words: it stays in the cache between the generator and the kernel."""


def draw(rng: np.random.Generator, rows: int, width: int) -> npt.NDArray[np.uint64]:
    """Draw uniform 64-bit words, shape (rows, width), consecutive in the generator's stream."""
    return rng.integers(0, Q - 1, size=(rows, width), dtype=np.uint64, endpoint=True)


class GeneratorBits:
    """The scalar side's source of words over a numpy Generator. Not private; for simulation.

    The words `first`, in [0, 2^64), were drawn already, and are handed out first.
    """

    __slots__ = ("_first", "_rng")

    def __init__(self, rng: np.random.Generator, first: Iterable[int] = ()) -> None:
        self._rng = rng
        self._first = list(first)

    def word(self) -> int:
        """Return the next word."""
        return self.words(1)[0]

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words."""
        taken, self._first = self._first[:count], self._first[count:]
        missing = count - len(taken)
        if missing:
            taken += draw(self._rng, 1, missing)[0].tolist()
        return taken
