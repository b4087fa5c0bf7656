"""Optimized unary encoding: the bit of the truth is a fair coin.

Wang et al. (USENIX Security 2017), section 4.3.2.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar, Self

from hushpoll_protocols.oracles.unary import UnaryEncoding
from hushpoll_protocols.thresholds import Q, ceil_in_exp


class OUE(UnaryEncoding):
    """P = 2^63 and R = ceil(2^64/(e^epsilon + 1)): zeros are many, so they are kept best."""

    name: ClassVar[str] = "OUE"

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon)."""
        noise = ceil_in_exp(lambda e: Q / (e + 1), epsilon)
        return cls(k=k, epsilon=epsilon, P=Q // 2, R=noise, **parameters)
