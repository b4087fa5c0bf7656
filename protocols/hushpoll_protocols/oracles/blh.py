"""Binary local hashing: local hashing into two buckets (Bassily and Smith, STOC 2015)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar, Self

from hushpoll_protocols.oracles.grr import lie_threshold
from hushpoll_protocols.oracles.local_hashing import LocalHashing


class BLH(LocalHashing):
    """Binary local hashing; g is always 2 and therefore not published."""

    name: ClassVar[str] = "BLH"

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        return cls(k=k, epsilon=epsilon, g=2, R=lie_threshold(2, epsilon), **parameters)
