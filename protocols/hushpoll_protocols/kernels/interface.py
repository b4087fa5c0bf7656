"""The functions that a protocol's kernel module has; each works on one block of checked rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.oracle import FrequencyOracle

Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

MALFORMED_REASONS = ("", "length", "range", "padding", "popcount")
"""Reason codes of :class:`MalformedRecord`; index 0 stands for a well-formed record."""

RANGE = MALFORMED_REASONS.index("range")
PADDING = MALFORMED_REASONS.index("padding")
POPCOUNT = MALFORMED_REASONS.index("popcount")


class Kernel(Protocol):
    """A kernel module. Every array is C-contiguous; inputs are read-only, outputs start at zero."""

    def words_per_record(self, oracle: FrequencyOracle) -> int:
        """Return how many words a row is given, the most that it takes unless one is refused."""
        ...

    def perturb(
        self, oracle: FrequencyOracle, values: Codes, words: Words, records: Bytes
    ) -> Sequence[int]:
        """Fill `records`; return the rows that need more words than they were given."""
        ...

    def indicators(self, oracle: FrequencyOracle, records: Bytes, supported: Bytes) -> None:
        """Set `supported` (n, k) to 1 where a well-formed record supports a value."""
        ...

    def support_counts(self, oracle: FrequencyOracle, records: Bytes, counts: Counts) -> None:
        """Add to `counts` (k) the supports of well-formed records."""
        ...
