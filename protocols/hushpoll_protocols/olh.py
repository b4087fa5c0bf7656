"""Optimal local hashing: the number of buckets that minimises the estimator's variance.

Wang et al. (USENIX Security 2017), section 4.4.2.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar, Self

from hushpoll_protocols.errors import InvalidParameter, shown
from hushpoll_protocols.grr import lie_threshold
from hushpoll_protocols.local_hashing import G_MAX, LocalHashing
from hushpoll_protocols.thresholds import floor_in_exp


class OLH(LocalHashing):
    """Optimal local hashing; g = min(floor(e^epsilon + 1), 65536) unless it is given."""

    name: ClassVar[str] = "OLH"
    parameter_names: ClassVar[tuple[str, ...]] = ("g",)

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon) and optionally g, an int in [2, 65536]."""
        g = parameters.get("g")
        if g is None:
            g = min(floor_in_exp(lambda e: e + 1, epsilon), G_MAX)
        elif type(g) is not int or not 2 <= g <= G_MAX:
            raise InvalidParameter(
                f"g is {shown(g)}, outside [2, {G_MAX}]; give the number of hash buckets", field="g"
            )
        return cls(k=k, epsilon=epsilon, g=g, R=lie_threshold(g, epsilon))

    @property
    def parameters(self) -> dict[str, int | str]:
        """The number of buckets."""
        return {"g": self.g}
