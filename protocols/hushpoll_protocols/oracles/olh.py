"""Optimal local hashing: the number of buckets that minimises the estimator's variance.

Wang et al. (USENIX Security 2017), section 4.4.2, minimise over the real numbers and for a
frequency of 0, which gives e^epsilon + 1. Here g is an integer, and the frequency is 1/k, as for
the subset of SS. With E = e^epsilon, f = 1/k and x = g - 1, the exact p and 1/g give

    variance * (E-1)^2 = A*x + B/x + constant,    A = 1 + f(E-1),    B = E(E - f(E-1)),

which is convex in x, so x + 1 is better than x where x(x+1) < B/A = E((k-1)E + 1)/(E + k - 1).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

from hushpoll_protocols.errors import InvalidParameter, shown
from hushpoll_protocols.oracles.grr import lie_threshold
from hushpoll_protocols.oracles.local_hashing import G_MAX, LocalHashing
from hushpoll_protocols.thresholds import floor_in_exp

_AROUND = 2
"""How far the thresholds' rounding can move the best g.

Rounding R changes p - q by at most the share (x+1)(E+x)/((E-1)*2^64), hence the variance by about
2f*x/2^64 where E is much larger than k; m steps from the best x, the variance is m^2/x^3 larger.
So m^2 is at most 2f*x^4/2^64 there, which is 1 for k = 2 and x = 2^16; everywhere else it is less.
"""


class OLH(LocalHashing):
    """Optimal local hashing; unless it is given, g has the least variance at frequency 1/k."""

    name: ClassVar[str] = "OLH"
    parameter_names: ClassVar[tuple[str, ...]] = ("g",)

    @classmethod
    def derive(cls, k: int, epsilon: Decimal, **parameters: Any) -> Self:
        """Build from a checked (k, epsilon) and optionally g, an int in [2, 65536]."""
        g = parameters.get("g")
        if g is not None:
            if type(g) is not int or not 2 <= g <= G_MAX:
                raise InvalidParameter(
                    f"g is {shown(g)}, outside [2, {G_MAX}]; give the number of hash buckets",
                    field="g",
                )
            return cls._of_buckets(k, epsilon, g)
        near = _without_rounding(k, epsilon)
        candidates = range(max(near - _AROUND, 2), min(near + _AROUND, G_MAX) + 1)
        # `min` keeps the first of equals, so a tie goes to the smaller g.
        return min(
            (cls._of_buckets(k, epsilon, g) for g in candidates),
            key=lambda oracle: oracle.variance(Fraction(1, k)),
        )

    @classmethod
    def _of_buckets(cls, k: int, epsilon: Decimal, g: int) -> Self:
        return cls(k=k, epsilon=epsilon, g=g, R=lie_threshold(g, epsilon))

    @property
    def parameters(self) -> dict[str, int | str]:
        """The number of buckets."""
        return {"g": self.g}


def _without_rounding(k: int, epsilon: Decimal) -> int:
    """Return the best g in [2, 65536] if p were exactly e^epsilon/(e^epsilon + g - 1)."""
    below = floor_in_exp(lambda e: e * ((k - 1) * e + 1) / (e + k - 1), epsilon)
    # The smallest x with x(x+1) > below, that is (2x+1)^2 > 4*below + 1.
    return min((math.isqrt(4 * below + 1) + 1) // 2 + 1, G_MAX)
