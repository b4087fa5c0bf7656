"""Batches and noise of a private training with PyTorch: drawn from the system, or from a seed.

PyTorch's own generator keeps the low 32 bits of a seed and forgets the others. A reader who knows
all rows but one could try every such seed and recognise the model, so noise that has to protect
rows comes from NumPy's generator, with 128 bits of the operating system's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hushpoll_protocols.errors import MissingExtra

if TYPE_CHECKING:
    import torch

_STEPS: Final = 2.0**24
"""PyTorch's uniform numbers in [0, 1) are whole multiples of 1 / 2^24."""


class Draws:
    """What one training draws; needs the extra ``dpsgd``.

    A seed is for simulations alone: noise that can be drawn again protects nobody. With None,
    batches and noise come from a generator that the operating system seeds. Noise is a
    floating-point number; the attacks of Mironov (2012) on its low bits are not defended against.
    """

    def __init__(self, seed: int | None) -> None:
        torch = import_torch()
        self._torch: Any = torch
        self._seeded = None if seed is None else torch.Generator().manual_seed(seed)
        self._fresh = np.random.default_rng()

    def sample(self, rows: int, rate: float) -> torch.Tensor:
        """Return the indices of a Poisson sample, ascending.

        The rate, in (0, 1], is each row's chance, independent of the others. With a seed it is
        rounded down to a multiple of 1 / 2^24: no row has more than the accountant was told.
        """
        if self._seeded is None:
            return self._torch.from_numpy(np.flatnonzero(self._fresh.random(rows) < rate))
        numbers = self._torch.rand(rows, generator=self._seeded)
        chosen = numbers < math.floor(rate * _STEPS) / _STEPS
        return self._torch.nonzero(chosen).squeeze(1)

    def normal(
        self, deviation: float, shape: Sequence[int], *, double: bool = False
    ) -> torch.Tensor:
        """Return noise of mean 0 and this standard deviation, at least 0: float32, or float64."""
        if self._seeded is None:
            noise = self._torch.from_numpy(self._fresh.normal(0.0, deviation, tuple(shape)))
            return noise if double else noise.float()
        kind = {"dtype": self._torch.float64} if double else {}
        return self._torch.normal(0.0, deviation, tuple(shape), generator=self._seeded, **kind)

    def parts(self, rows: int, parts: int) -> torch.Tensor:
        """Return which of the parts each row falls in, int64[rows], uniform and independent."""
        if self._seeded is None:
            return self._torch.from_numpy(self._fresh.integers(parts, size=rows))
        return self._torch.randint(parts, (rows,), generator=self._seeded)


def import_torch() -> Any:
    """Return PyTorch; refuses to go on without PyTorch or Opacus, the extra ``dpsgd``."""
    try:
        import opacus
        import torch
    except ImportError as error:
        raise MissingExtra("dpsgd", "training by DP-SGD") from error
    del opacus
    return torch
