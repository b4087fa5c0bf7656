"""Weighted shares as they are shown: beside them the unweighted ones, and words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers

ASSUMPTION = (
    "Respondents are drawn independently within their stratum. Within each cell of the weights and "
    "margins, those who answered are like those who did not; no interval knows of a difference "
    "that the margins leave."
)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedShares(Tabular):
    """Estimated shares of the population in each category of an attribute.

    Attributes
    ----------
    attribute : str
        That is estimated.
    categories : tuple of str
        In code order.
    n : int
        Records behind it.
    confidence : float
        Of each interval.
    shares : Sets
        By the weights, strata and margins.
    unweighted : Sets
        As if all records had one weight.
    totals : Sets or None
        People in each category; None where nothing says how many people a record stands for.
    effective_n : float
        Kish's effective sample size: records of one weight that would be worth as much, if weights
        and answers were independent; of perturbed margins its estimate.
    population : float or None
        People, where the design has them.
    factors : (float, float)
        Smallest and largest factor by which the margins change a weight; 1 and 1 without margins.
    rounds : int
        Of raking.
    cannot_conclude : str or None
        Why there are no shares, in words.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    statistic_name: ClassVar[str] = "weighted-shares"

    attribute: str
    categories: tuple[str, ...]
    n: int
    confidence: float
    shares: Sets
    unweighted: Sets
    totals: Sets | None
    effective_n: float
    population: float | None
    factors: tuple[float, float]
    rounds: int
    cannot_conclude: str | None = None
    verdict: Verdict | None = None

    @property
    def intervals(self) -> int:
        """How many intervals it has: those of the unweighted shares too, and of people."""
        weighted = 0 if self.cannot_conclude else 1 if self.totals is None else 2
        return len(self.categories) * (1 + weighted)

    def to_dict(self) -> JsonMembers:
        """Return the shares as the API and ``--json`` give them."""
        known = self.cannot_conclude is None
        return {
            "verdict": to_json(self.verdict),
            "attribute": self.attribute,
            "n": self.n,
            "confidence": self.confidence,
            "intervals": how_to_read(self.intervals, self.confidence),
            "effective_n": self.effective_n if math.isfinite(self.effective_n) else None,
            "population": self.population,
            "smallest_factor": self.factors[0] if known else None,
            "largest_factor": self.factors[1] if known else None,
            "rounds": self.rounds,
            "assumption": ASSUMPTION,
            "cannot_conclude": self.cannot_conclude,
            "shares": [
                {
                    "category": category,
                    **self.shares.interval(code).to_dict(),
                    "unweighted": self.unweighted.interval(code).to_dict(),
                    "total": None if self.totals is None else self.totals.interval(code).to_dict(),
                }
                for code, category in enumerate(self.categories)
            ],
        }
