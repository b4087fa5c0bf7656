"""How hard a shuffled crowd is to tell from one where a person answered otherwise: a proven bound.

The setting. Each of n people sends one message R(x_i), and a trusted shuffler forgets order, time
and sender. One of them answers x or x', with the message laws P0 = R(x) and P1 = R(x'); nothing is
assumed of the others' answers. The parameters are those of Wang et al. ("Privacy amplification via
shuffling: unified, simplified, and tightened", VLDB 2024; arXiv 2304.05007):

    P0 <= p P1,  P1 <= p P0,   TV(P0, P1) <= beta,   P0, P1 <= q R(x_i) for every answer x_i.

The blanket (Balle, Bell, Gascon and Nissim, "The privacy blanket of the shuffle model", CRYPTO
2019). Every R(x_i) holds B = max(P0, P1)/q, a measure of mass (1 + TV)/q. Tell the adversary which
of the others drew from the rest of their law, and what; this can only help. M others are left,
whose messages have the law of B. In the multiset of M + 1 messages all are alike but for the
person's own, so with e = exp(epsilon), g(y) = (P0 - e P1)/B at y, and M binomial,

    D = E over M of sup_A (Pr0[A] - e Pr1[A]) = E[(G_1 + ... + G_n)_+]/n,

where each G_i is g(Y) with the probability that B gives to Y, and 0 otherwise.

Three points. On P0 > P1 g is q (1 - e P1/P0), linear in P1/P0, which lies in [1/p, 1]; on the rest
it is q (P0/P1 - e). Moving each to the ends of its interval keeps the mean of G and spreads it,
which raises E[(sum)_+], a mean of a convex function. With alpha = beta/(p - 1) it leaves

    G = q (1 - e/p) and q (1/p - e), each with probability p alpha/q,
        q (1 - e) with probability (1 - alpha - p alpha)/q, and 0 otherwise.

The bound grows with beta: a larger alpha takes the mass 1 + p at q (1 - e) and p - 1 at 0 to p at
each of the two outer values, with the same mean and wider, as long as epsilon <= ln p. Beyond ln p
it is 0. So an upper bound of TV serves as beta, for all pairs of answers at once, and p may be too
large. The bound falls as n grows, for means of more independent terms spread less.

Why not two counts. The reduction of Wang et al., and of Feldman, McMillan and Talwar (SODA 2023),
counts the first two kinds alone. In general that is no upper bound: for GRR with k = 3, epsilon 1,
five people and epsilon .5 after shuffling, enumeration gives a divergence of .0522, and two counts
give .0499 (tests/analysis/shuffling/test_amplification.py). Three counts give .0625. In crowds the
difference is small.

The numbers. With C messages of the first two kinds and M of the third in n, N of the C being of the
first, D = (q/n) E[(a N - b C - c M)_+] with a = e - e/p + 1 - 1/p, b = e - 1/p and c = e - 1. It
falls as M grows, so M is rounded down to the start of its block. For C in [low, high] the convex
order of means bounds the term by high/low times the one at low, with c M low/high in place of c M.
The binomial tails of what is left out are added whole. Incomplete beta functions are good to some
1e-12; a margin of `MARGIN` of each term is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter

N_MAX: Final = 10**9
"""Largest crowd for which the incomplete beta function was checked; a larger one counts as this."""

DELTA_MIN: Final = 1e-30
MARGIN: Final = 1e-9
_ROUNDING: Final = 1e-12
_PAIR_BLOCKS: Final = 200
_REST_BLOCKS: Final = 64
_PRECISION: Final = 1e-4
_FAR: Final = 8.0
"""Logarithms below which the divergence is too far off, or lost in its margin, to interpolate."""

_LEFT_OUT: Final = 1e-4
"""Share of delta that the tails that are left out may have together, more or less."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Randomizer:
    """The parameters of a randomizer that the bound needs; p = q = `ratio`.

    Attributes
    ----------
    ratio : Fraction
        Bound of Pr[z | x]/Pr[z | x'] over all records z and answers; above 1.
    distance : Fraction or float
        Bound of the total variation distance of two answers' records, in (0, 1]; what exceeds
        (ratio - 1)/(ratio + 1), which no two laws with this ratio do, counts as that.
    """

    ratio: Fraction
    distance: Fraction | float

    def __post_init__(self) -> None:
        if not self.ratio > 1:
            raise InvalidParameter(
                f"ratio is {float(self.ratio)}; it must be above 1, the ratio of a record's "
                "probabilities under two answers",
                field="ratio",
            )
        if not 0 < self.distance <= 1:
            raise InvalidParameter(
                f"distance is {float(self.distance)}, outside (0, 1]; give a total variation "
                "distance",
                field="distance",
            )

    @property
    def epsilon(self) -> float:
        """ln(ratio), rounded up."""
        # exact for ratios next to 1, and of numbers too large for a float
        above = Fraction(self.ratio - 1)
        if above < 1:
            return math.nextafter(math.log1p(float(above) * (1 + _ROUNDING)), math.inf)
        log = math.log(self.ratio.numerator) - math.log(self.ratio.denominator)
        return log * (1 + _ROUNDING) + _ROUNDING

    @property
    def alpha(self) -> float:
        """alpha, rounded up."""
        most = (self.ratio - 1) / (self.ratio + 1)
        distance = min(Fraction(self.distance), most)
        return float(distance / (self.ratio - 1)) * (1 + _ROUNDING)


def shuffled_epsilon(randomizer: Randomizer, n: int, delta: float) -> float:
    """Return an epsilon such that n shuffled messages are (epsilon, delta)-private.

    Neighbouring crowds have the same size, and one person's answer differs.

    Parameters
    ----------
    randomizer : Randomizer
        The same for everybody.
    n : int
        Messages that are shuffled together, at least 1.
    delta : float
        In [1e-30, 1).

    Returns
    -------
    float
        At least 0, and at most the local epsilon, at which delta is 0. Rounded up.

    Raises
    ------
    InvalidParameter
        An argument is outside its interval.
    """
    check_crowd(n, delta)
    low, high = 0.0, randomizer.epsilon
    above, below = _surplus(randomizer, n, low, delta), -math.inf
    if above <= 0:
        return low
    while high - low > _PRECISION * high:
        # where the logarithm would be 0 if it were straight between the two ends
        part = 0.5 if below == -math.inf else above / (above - below)
        middle = low + min(max(part, 0.02), 0.98) * (high - low)
        surplus = _surplus(randomizer, n, middle, delta)
        if surplus > 0:
            low, above = middle, surplus
        else:
            high, below = middle, surplus if surplus > -_FAR else -math.inf
    return high


def _surplus(randomizer: Randomizer, n: int, epsilon: float, delta: float) -> float:
    """Return ln(divergence/delta)."""
    bound = divergence(randomizer, n, epsilon, left_out=delta)
    return math.log(bound / delta) if bound > 0 else -math.inf


def check_crowd(n: object, delta: object) -> None:
    """Refuse a crowd below 1 and a delta outside [1e-30, 1)."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InvalidParameter(
            f"n is {n!r}; it must be an integer of at least 1, the reports that are shuffled "
            "together",
            field="n",
        )
    if isinstance(delta, bool) or not isinstance(delta, float | int) or not DELTA_MIN <= delta < 1:
        raise InvalidParameter(
            f"delta is {delta!r}, outside (0, 1); give a probability well below 1/n, such as 1e-6, "
            f"and at least {DELTA_MIN:g}",
            field="delta",
        )


def divergence(randomizer: Randomizer, n: int, epsilon: float, *, left_out: float = 1e-9) -> float:
    """Return an upper bound of sup_A (Pr0[A] - e^epsilon Pr1[A]); 0 from ln(ratio) on.

    Parameters
    ----------
    randomizer : Randomizer
        The same for everybody.
    n : int
        Messages, at least 1; above `N_MAX` the bound is that of `N_MAX`.
    epsilon : float
        At least 0.
    left_out : float
        Size of the divergence that matters, in (0, 1); tails a good deal smaller are not resolved,
        and are added whole.
    """
    n = min(n, N_MAX)
    inverse = float(1 / randomizer.ratio)
    alpha = randomizer.alpha
    if epsilon >= randomizer.epsilon:
        return 0.0
    # 1 - e/p, e - 1/p and e - 1, with their digits next to an epsilon of 0; the first rounded up
    gap, rest = float(1 - 1 / randomizer.ratio), math.expm1(epsilon)
    up, down = max(gap - rest * inverse, 0.0) + _ROUNDING * gap, rest + gap
    # p = q: a pair has probability 2 alpha; B and G times q, to stay within floats
    pair = min(2 * alpha, 1.0)
    third = max(inverse * (1 - alpha) - alpha, 0.0)
    # by Chernoff's bounds, outside of these is a small part of the divergence that matters
    small, mean = -math.log(left_out * _LEFT_OUT * inverse), n * pair
    first = max(math.floor(mean - math.sqrt(2 * small * mean)), 1)
    last = min(math.ceil(mean + small / 3 + math.sqrt(small**2 / 9 + 2 * small * mean)), n)
    # below the first block, where a message of the first kind gives at most `up`
    total = float(_below(np.array(first - 1.0), n, pair)) * up * (first - 1) / n
    # above the last: E[C; C > last] = n pair Pr[C' >= last], C' of n - 1
    total += up * pair * float(_at_least(np.array(float(last)), np.array(n - 1.0), pair))
    edges = np.unique(np.linspace(first, last + 1, _PAIR_BLOCKS + 1).astype(np.int64))
    low, high = edges[:-1].astype(np.float64), edges[1:].astype(np.float64) - 1
    chance = _between(edges - 1, n, pair)
    others = third / max(1 - pair, third, 1e-300)
    # the count of the third kind in n - high messages, rounded down to the start of a block; where
    # blocks start does not matter for the bound, and below the second one by Chernoff is little
    middle = (n - high) * others
    reach = math.sqrt(-2 * math.log(left_out * _LEFT_OUT))
    places = np.linspace(-reach, reach, _REST_BLOCKS)
    starts = np.floor((middle[:, None] + np.sqrt(middle)[:, None] * places).clip(min=0))
    starts = np.concatenate([np.zeros((len(middle), 1)), starts], axis=1)
    reached = _at_least(starts, (n - high)[:, None], others)
    weight = reached - np.concatenate([reached[:, 1:], np.zeros((len(low), 1))], axis=1)
    # up N - down (C - N) - rest M in terms of C - N, which keeps its digits where e is huge
    gained, lost = up * low[:, None], rest * starts * (low / high)[:, None]
    limit = (gained - lost + _ROUNDING * (gained + lost)) / (up + down)
    term = (up + down) * (high / low)[:, None] * _excess(low[:, None], limit) / n
    total += float(chance @ (weight.clip(min=0) * term).sum(axis=1))
    return total / inverse * (1 + MARGIN)


def _excess(trials: Array, limit: Array) -> Array:
    """Return E[(s - N)_+] of N binomial with chance 1/2 and a limit s, with a margin upwards."""
    inside = limit > 0
    whole = np.where(inside, np.minimum(np.floor(limit), trials), 0.0)
    # by symmetry N <= j is as likely as N >= trials - j
    below = np.where(inside, _half(trials - whole, trials), 0.0)
    before = np.where(inside, _half(trials - whole, np.maximum(trials - 1, 0)), 0.0)
    gain, cost = limit * below, trials / 2 * before
    margin = MARGIN * (gain + cost)
    return np.asarray(np.where(inside, np.maximum(gain - cost, 0.0) + margin, 0.0))


def _half(least: Array, trials: Array) -> Array:
    """Return Pr[N >= least] of N binomial with chance 1/2."""
    return _at_least(least, trials, 0.5)


def _at_least(least: Array, trials: Array, chance: float) -> Array:
    # slow to import, and a server starts without it
    from scipy.special import betainc

    some = (least > 0) & (least <= trials)
    a, b = np.where(some, least, 1.0), np.where(some, trials - least + 1, 1.0)
    tail = betainc(a, b, chance)
    return np.asarray(np.where(least <= 0, 1.0, np.where(some, tail, 0.0)))


def _between(edges: npt.NDArray[np.int64], n: int, chance: float) -> Array:
    """Return Pr[edges[i] < N <= edges[i + 1]], from the nearer tail."""
    at = edges.astype(np.float64)
    below = np.where(at < 0, 0.0, _below(at, n, chance))
    above = _at_least(at + 1, np.full(at.shape, float(n)), chance)
    return np.asarray(
        np.where(at[1:] < n * chance, np.diff(below), -np.diff(above)).clip(min=0) + 1e-300
    )


def _below(at: Array, n: int, chance: float) -> Array:
    from scipy.special import betaincc

    k = np.clip(at, 0, n - 1)
    return np.asarray(np.where(at < n, betaincc(k + 1, n - k, chance), 1.0))
