"""What stands between an answer and its indicator: p, q and the debiased indicator.

For a perturbed attribute the indicator I of a category is 1 with probability p if it is the answer
and q if it is not, and D = (I - q)/(p - q) has the truth as its expectation. An attribute collected
in clear is the case p = 1, q = 0, where D = I. Everything of this package follows from that rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle


@dataclass(frozen=True, slots=True)
class Channel:
    """The law of one indicator given the truth.

    Attributes
    ----------
    p, q : Fraction
        Probability that the indicator is 1 for the answer and for another category, p > q.
    """

    p: Fraction
    q: Fraction

    @classmethod
    def of(cls, oracle: FrequencyOracle | None) -> Channel:
        """Channel of a protocol; of an attribute in clear for None."""
        if oracle is None:
            return cls(Fraction(1), Fraction(0))
        return cls(oracle.p, oracle.q)

    @property
    def gap(self) -> float:
        """Difference p - q, in (0, 1]; exact, since floats would cancel at a small epsilon."""
        return float(self.p - self.q)

    def debias(self, indicators: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """Return D = (I - q)/(p - q), whose expectation given the truth is the one-hot truth."""
        values = np.array([-self.q / (self.p - self.q), (1 - self.q) / (self.p - self.q)])
        debiased: npt.NDArray[np.float64] = values.astype(np.float64)[indicators]
        return debiased

    @property
    def moment_at_match(self) -> float:
        """E[D^2] where the category is the answer: (p(1 - 2q) + q^2)/(p - q)^2."""
        p, q = self.p, self.q
        return float((p * (1 - 2 * q) + q * q) / (p - q) ** 2)

    @property
    def moment_elsewhere(self) -> float:
        """E[D^2] where the category is not the answer: q(1 - q)/(p - q)^2."""
        return float(self.q * (1 - self.q) / (self.p - self.q) ** 2)
