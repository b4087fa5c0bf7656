"""Random words that can be drawn again, for simulations alone: such noise protects nobody."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class SeededBits:
    """Words of NumPy's generator with a seed.

    Parameters
    ----------
    seed : int
        Not negative.
    """

    __slots__ = ("_rng",)

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def word(self) -> int:
        """Return the next word."""
        return self.words(1)[0]

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words."""
        return [int(word) for word in self._rng.integers(2**64, size=count, dtype=np.uint64)]
