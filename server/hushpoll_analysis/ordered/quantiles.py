"""Quantiles of ordered answers, by inversion of the estimated distribution function.

F(j) is the share of those who answered whose score is at most the j-th. The q-quantile is the
smallest score with F(j) >= q. It is the j-th unless F(j) is below q, or F(j - 1) is not. Each is
tested at half of the level, with the exact variance of the law, and the set of a quantile has all
scores for which neither test rejects. So it covers at least as often as it says, up to the
normal approximation where records are few (93 % in clear at n = 10 and q = 0.9); where few scores
lie near the quantile, F jumps over q and the set covers nearly always. The tests are score tests of
F = q (:mod:`hushpoll_analysis.ordered.ratios`).

The estimate is read from F made monotone, by the mean of its running maximum from below and its
running minimum from above: noise makes F fall at places.

The categories of a number are anchors, of which a device draws one of the two beside the answer.
An anchor of at most a_(i-1) is drawn for answers below a_i alone; an answer of at most a_i gives an
anchor of at most a_i: so the share of answers of at most a_i lies between the shares of anchors
of at most a_(i-1) and of at most a_i. Hence the quantile of the answers lies between the anchor
before the quantile of the anchors and the anchor behind it, and the set reaches from the anchor
before its first to the anchor behind its last.

Where categories are intervals, ``linear`` spreads the answers of an interval evenly over it, and
tests F at each number instead of each category. Nobody has said that answers lie so, which is why
it has to be asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.frames.tabular import filled
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.ordered.scales import Scale
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.queries.ordered_answers import QuantileEstimate
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.json_values import JsonMembers

Array = npt.NDArray[np.float64]
Interpolation: TypeAlias = Literal["none", "linear"]
INTERPOLATIONS: Final[tuple[str, ...]] = get_args(Interpolation)

_STEPS = 30


@dataclass(frozen=True, slots=True)
class Quantile(Interval):
    """A quantile with its set; it has no standard error."""

    q: float
    """In (0, 1)."""
    category: str | None
    """That the estimate is in; several of one score are joined by "or". None without a bound."""
    lowest: str | None
    """The first and the last compatible category."""
    highest: str | None

    def row(self) -> QuantileEstimate:
        """Return the quantile as a row of a result."""
        numbers = self.numbers()
        return filled(
            QuantileEstimate,
            self,
            value=numbers["value"],
            lower=numbers["lower"],
            upper=numbers["upper"],
        )

    def to_dict(self) -> JsonMembers:
        """Return the quantile as JSON."""
        entry: JsonMembers = to_json(self.row())
        return entry


@dataclass(frozen=True, eq=False)
class Distribution:
    """The estimated distribution function of a scale within each group."""

    answers: Answers
    scale: Scale
    z: float
    """Normal quantile of the sets."""

    def quantiles(self, q: float, interpolation: Interpolation) -> list[Quantile]:
        """Return the q-quantile in each group, q in (0, 1)."""
        levels, cumulated = self.scale.levels, self._cumulated()
        cut = np.full((levels, cumulated.shares.shape[1]), q)
        ratios = cumulated.ratios
        at_least = ratios.compatible(self.z, cut, 1)  # F(j) may be q or more
        at_most = ratios.compatible(self.z, cut, -1)  # F(j) may be q or less
        at_least[-1] = True
        below = np.concatenate([np.ones((1, cut.shape[1]), np.bool_), at_most[:-1]])
        possible = at_least & below
        bounded = ratios.bounded(self.z)[0]
        estimated = _monotone(ratios.value)
        found = []
        for group in range(cut.shape[1]):
            if not bounded[group]:
                found.append(Quantile(np.nan, np.nan, -np.inf, np.inf, q, None, None, None))
                continue
            curve = estimated[:, group]
            place = int(np.argmax(curve >= q)) if (curve >= q).any() else levels - 1
            held = np.flatnonzero(possible[:, group]).tolist()
            lowest, highest = min([*held, place]), max([*held, place])
            found.append(self._of_levels(group, q, curve, (place, lowest, highest), interpolation))
        return found

    def _of_levels(
        self,
        group: int,
        q: float,
        curve: Array,
        levels: tuple[int, int, int],
        interpolation: Interpolation,
    ) -> Quantile:
        names, lows, highs = zip(*(self.scale.of_level(level) for level in levels), strict=True)
        if interpolation == "none":
            middle = [low + (high - low) / 2 for low, high in zip(lows, highs, strict=True)]
            # The limits are about people, who may be anywhere in the categories at the ends.
            value, lower, upper = middle[0], lows[1], highs[2]
        else:
            place, lowest, highest = levels
            before = float(curve[place - 1]) if place else 0.0
            step = max(float(curve[place]) - before, 1e-12)
            part = min(max((q - before) / step, 0.0), 1.0)
            value = lows[0] + part * (highs[0] - lows[0])
            first = self._part(group, q, lowest, 1)
            last = self._part(group, q, highest, -1)
            lower = min(lows[1] + first * (highs[1] - lows[1]), value)
            upper = max(lows[2] + last * (highs[2] - lows[2]), value)
        return Quantile(value, np.nan, lower, upper, q, names[0], names[1], names[2])

    def _part(self, group: int, q: float, level: int, sign: int) -> float:
        """Return where in a level's interval the set begins (sign 1) or ends (sign -1), 0 to 1."""
        below, at = self.scale.ranks < level, self.scale.ranks == level

        def inside(part: float) -> bool:
            scores = (below + part * at).astype(np.float64)[None, :]
            ratios = Ratios.of_scores(self.answers, scores)
            cut = np.full((1, self.answers.shares.shape[1]), q)
            return bool(ratios.compatible(self.z, cut, sign)[0, group])

        outer, inner = (0.0, 1.0) if sign > 0 else (1.0, 0.0)
        if inside(outer):
            return outer
        for _ in range(_STEPS):
            middle = (outer + inner) / 2
            outer, inner = (outer, middle) if inside(middle) else (middle, inner)
        return inner

    def _cumulated(self) -> _Cumulated:
        answers, ranks, levels = self.answers, self.scale.ranks, self.scale.levels
        m = answers.categories
        sizes = np.zeros((levels, answers.combinations.shape[1]))
        np.add.at(sizes, ranks, answers.combinations)
        sizes = np.cumsum(sizes, axis=0)
        shares = np.zeros((levels, answers.shares.shape[1]))
        np.add.at(shares, ranks, answers.shares[:m])
        overall = np.bincount(ranks, weights=answers.overall[:m], minlength=levels)
        shares = np.cumsum(shares, axis=0)
        return _Cumulated(shares, Ratios.of_sets(answers, sizes, shares, np.cumsum(overall)))


@dataclass(frozen=True, slots=True, eq=False)
class _Cumulated:
    shares: Array
    ratios: Ratios


def check_quantiles(quantiles: tuple[float, ...]) -> None:
    """Refuse quantiles outside of (0, 1)."""
    for q in quantiles:
        if not 0 < q < 1:
            raise InvalidParameter(
                f"quantile is {q:g}, outside the open interval (0, 1); give such as 0.5 for the "
                "median",
                field="quantiles",
            )


def check_interpolation(scale: Scale, interpolation: str) -> Interpolation:
    """Return the name of an interpolation; refuses ``linear`` where no category is an interval."""
    if interpolation == "none":
        return "none"
    if interpolation != "linear":
        raise InvalidParameter(
            f"interpolation is {interpolation!r}; it must be one of {', '.join(INTERPOLATIONS)}",
            field="interpolation",
        )
    if scale.rounded:
        raise InvalidParameter(
            "interpolation is 'linear', and a number lies anywhere between the anchors beside its "
            "own; leave interpolation out",
            field="interpolation",
        )
    if not scale.has_intervals:
        raise InvalidParameter(
            "interpolation is 'linear', and every category is a single number, so there is nothing "
            "to spread; give scores that are intervals, or leave interpolation out",
            field="interpolation",
        )
    return "linear"


def _monotone(curve: Array) -> Array:
    rising = np.maximum.accumulate(curve, axis=0)
    falling = np.minimum.accumulate(curve[::-1], axis=0)[::-1]
    return np.asarray((rising + falling) / 2)
