"""A second line of a survey's guarantee: what a trusted shuffler would add to the local epsilon.

The randomizer is that of the whole record, a product over the perturbed attributes. Two answers may
differ in all of them, so the ratio is the product of the protocols' likelihood ratios. Per
attribute, the likelihoods of a record under two answers v and v' are equal unless its support holds
one of the two, and the chance that it holds v and not v' is larger under v by p - q. So p - q is
the total variation distance; for hashes, whose collisions have a chance of 1/g at least, it is a
bound. The distance of whole records follows from the law of the log-ratio, a sum of independent
terms that are ln L, 0 or -ln L; where it has too many values they are rounded up, and the distance
with them.

Of a draw a device sends s of d blocks, chosen without looking at the answers, and says which. Given
the choice the record is that of a survey with the chosen blocks alone. So a bound of the ratio is
the largest over the choices; two answers' records differ only given the choice, so their distance
is at most the mean over the choices. Choices of blocks with the same ratios and distances count as
one; where there are more than `_CHOICES` kinds, the distance is that which the ratio allows.

Values in clear are seen whatever a shuffler does. Only reports with the same values in clear hide
each other, so n is their number, the crowd.

The bound says how hard a shuffled crowd is to tell from one where a person answered otherwise.

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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle, format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published

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
    """The parameters of a randomizer that the bound needs; p = q = `ratio`."""

    ratio: Fraction
    """Bound of Pr[z | x]/Pr[z | x'] over all records z and answers; above 1."""
    distance: Fraction | float
    """Bound of the total variation distance of two answers' records, in (0, 1]; what exceeds (ratio
    - 1)/(ratio + 1), which no two laws with this ratio do, counts as that."""

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

    It is at least 0, and at most the local epsilon, at which delta is 0; rounded up. Refuses n
    below 1 and a delta outside [1e-30, 1).
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

    Above `N_MAX` messages the bound is that of `N_MAX`. Tails a good deal smaller than `left_out`,
    the size of the divergence that matters, are not resolved, and are added whole.
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


DELTA: Final = 1e-6
"""Taken where none is given."""

_VALUES: Final = 1 << 14
"""How many values of the log-ratio are kept apart."""

_GRID: Final = 1 << 15
_CHOICES: Final = 256
"""Kinds of choices of a device, of which the distances are computed one by one."""

_UP: Final = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class ShuffleGuarantee:
    """What holds of a crowd's shuffled reports, beside the local epsilon and never instead of it.

    Attributes
    ----------
    local_epsilon : str
        What the survey charges each respondent; it needs no shuffler.
    crowd : int
        Reports with the same values in clear that are shuffled together.
    clear : tuple of str
        Attributes that leave in clear.
    delta : float
        In (0, 1).
    epsilon : float
        Of the perturbed answers, in [0, local epsilon], rounded up to 4 places.
    """

    local_epsilon: str
    crowd: int
    clear: tuple[str, ...]
    delta: float
    epsilon: float

    @property
    def sentence(self) -> str:
        """What an analyst may say of it."""
        reports, are = ("report", "is") if self.crowd == 1 else ("reports", "are")
        crowd = f"{self.crowd:,} shuffled {reports}" + (
            f" with the same values of {', '.join(self.clear)}, which leave in clear,"
            if self.clear
            else ""
        )
        kept = (
            f"The local epsilon stays {self.local_epsilon}: it holds against everybody, with or "
            "without a shuffler."
        )
        condition = (
            "If a trusted shuffler (one that removes order, time and sender) stands between "
            "devices and server"
        )
        if self.epsilon >= float(self.local_epsilon):
            return f"{condition}, {crowd} {are} too few for it to add anything. {kept}"
        return (
            f"{condition}, {crowd} {are} together ({self.epsilon:.4f}, {self.delta:g})-private for "
            f"each respondent's perturbed answers. This line rests on that shuffler; the survey's "
            f"own server is none, because it sees each report arrive. {kept}"
        )

    def to_dict(self) -> JsonMembers:
        """Return the guarantee as the API and ``--json`` give it."""
        return {**to_json(self), "sentence": self.sentence}


def shuffle_guarantee(
    published: Published, n: int, *, delta: float = DELTA, crowd: int | None = None
) -> ShuffleGuarantee:
    """Return what a trusted shuffler would add to a survey's local epsilon.

    Assumptions: the shuffler removes order, time and sender of every report, and is honest; at
    least `crowd` reports have the values in clear of the respondent in question, and their devices
    follow the protocols. Answers may be any. It is about one version: a person who answers two
    versions spends both.

    Parameters
    ----------
    published : Published
        The survey.
    n : int
        Reports, at least 1.
    delta : float
        In [1e-30, 1).
    crowd : int, optional
        Of the n, those with the same values in clear; by default n divided by the number of
        combinations of values in clear, as if all were equally frequent.

    Raises
    ------
    InvalidParameter
        If n, delta or crowd is outside its interval, or no attribute is perturbed.
    """
    check_crowd(n, delta)
    if not published.perturbed:
        raise InvalidParameter(
            f"survey {published.name} perturbs no attribute, so there is nothing that a shuffler "
            "could strengthen; give an attribute the role sensitive",
            field="attributes",
        )
    clear = [attribute for attribute in published.attributes if attribute.oracle is None]
    if crowd is None:
        crowd = max(n // math.prod(attribute.k for attribute in clear), 1)
    elif isinstance(crowd, bool) or not isinstance(crowd, int) or not 1 <= crowd <= n:
        raise InvalidParameter(
            f"crowd is {crowd!r}, outside [1, {n}]; give how many of the {n} reports have the same "
            "values in clear",
            field="crowd",
        )
    local = published.epsilon
    epsilon = math.ceil(_epsilon(_choices(published), crowd, float(delta)) * 10_000) / 10_000
    return ShuffleGuarantee(
        format_epsilon(local),
        crowd,
        tuple(attribute.name for attribute in clear),
        float(delta),
        min(epsilon, float(local)),
    )


Choices = tuple[tuple[Fraction, tuple[FrequencyOracle, ...]], ...]
"""What a device may send: the chance of each kind of choice, and its protocols."""


@lru_cache(maxsize=256)
def _epsilon(choices: Choices, crowd: int, delta: float) -> float:
    return shuffled_epsilon(drawn_randomizer(choices), crowd, delta)


def _choices(published: Published) -> Choices:
    """Return what a device of a survey may send of its randomised answers."""
    oracles = {block.name: block.oracle for block in published.blocks}
    drawn = {name for draw in published.draws for name in draw.blocks}
    always = tuple(oracle for name, oracle in oracles.items() if name not in drawn)
    choices: Choices = ((Fraction(1), always),)
    for draw in published.draws:
        kinds = _kinds([oracles[name] for name in draw.blocks], draw.answer)
        choices = tuple(
            (chance * share, (*chosen, *more))
            for chance, chosen in choices
            for share, more in kinds
        )
    return choices


def _kinds(oracles: Sequence[FrequencyOracle], answer: int) -> Choices:
    """Return the kinds of choices of so many of the blocks, with the chance of each."""
    alike: dict[tuple[Fraction, Fraction], list[FrequencyOracle]] = {}
    for oracle in oracles:
        key = oracle.likelihood_ratio, Fraction(oracle.p - oracle.q)
        alike.setdefault(key, []).append(oracle)
    begun: list[tuple[int, int, tuple[FrequencyOracle, ...]]] = [(1, 0, ())]
    for group in alike.values():
        begun = [
            (ways * math.comb(len(group), more), size + more, (*chosen, *group[:more]))
            for ways, size, chosen in begun
            for more in range(min(len(group), answer - size) + 1)
        ]
    whole = math.comb(len(oracles), answer)
    return tuple((Fraction(ways, whole), one) for ways, size, one in begun if size == answer)


def drawn_randomizer(choices: Choices) -> Randomizer:
    """Return the parameters of the randomizer of records of which parts are drawn."""
    if len(choices) > _CHOICES:
        ratios = (
            math.prod((oracle.likelihood_ratio for oracle in oracles), start=Fraction(1))
            for _, oracles in choices
        )
        return Randomizer(max(ratios), 1)
    of_each = [(chance, record_randomizer(oracles)) for chance, oracles in choices]
    if len(of_each) == 1:
        return of_each[0][1]
    distance = sum(float(chance) * float(one.distance) for chance, one in of_each) * _UP
    return Randomizer(max(one.ratio for _, one in of_each), min(distance, 1.0))


def record_randomizer(oracles: Sequence[FrequencyOracle]) -> Randomizer:
    """Return the parameters of a whole record's randomizer."""
    ratio = math.prod((oracle.likelihood_ratio for oracle in oracles), start=Fraction(1))
    if len(oracles) == 1:
        return Randomizer(ratio, oracles[0].p - oracles[0].q)
    losses: Array = np.zeros(1)
    chances: Array = np.ones(1)
    step = sum(math.log(oracle.likelihood_ratio) for oracle in oracles) / _GRID
    for oracle in oracles:
        likelihood = oracle.likelihood_ratio
        rare = float((oracle.p - oracle.q) / (likelihood - 1))
        frequent = rare * float(likelihood)
        log = math.log1p(float(likelihood - 1))
        losses = np.concatenate([losses + log, losses, losses - log])
        chances = np.concatenate(
            [chances * frequent, chances * max(1 - rare - frequent, 0.0), chances * rare]
        )
        if len(losses) > _VALUES:
            losses = np.ceil(losses / step) * step
        losses, place = np.unique(losses, return_inverse=True)
        chances = np.bincount(place, weights=chances).astype(np.float64)
    distance = float(chances @ -np.expm1(-np.maximum(losses, 0.0))) * _UP
    return Randomizer(ratio, min(distance, 1.0))
