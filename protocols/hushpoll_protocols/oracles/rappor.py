"""Basic one-time RAPPOR: symmetric unary encoding (Erlingsson, Pihur and Korolova, CCS 2014)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar, Self

from hushpoll_protocols.oracles.unary import UnaryEncoding
from hushpoll_protocols.thresholds import EXACT, Q, ceil_in_exp


class RAPPOR(UnaryEncoding):
    """Every bit is flipped with the same probability R/2^64, R = ceil(2^64/(e^(epsilon/2) + 1))."""

    name: ClassVar[str] = "RAPPOR"

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        flip = ceil_in_exp(lambda e: Q / (e + 1), EXACT.divide(epsilon, Decimal(2)))
        return cls(k=k, epsilon=epsilon, P=Q - flip, R=flip, **parameters)
