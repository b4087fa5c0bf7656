"""Supports of records, drawn so that they have the support counts that were observed.

The support counts alone do not say which categories one record supports together. Where every
record supports one category (in clear, GRR, SS of size 1) they do. Elsewhere the supports are drawn
from the protocol's law at the estimated frequencies, given the counts:

- Where the size of the support varies, indicators of one record are independent given the truth.
  Of the t_v records whose truth is v some x support v, and c_v - x of the others do; x has Fisher's
  noncentral hypergeometric law (Fog, Communications in Statistics 37, 2008).
- Where every support has one size above 1, records are drawn by the protocol itself. Of a category
  that too many support, randomly chosen records support one that too few do instead. The counts of
  the drawn records are off by about their standard errors, so few records change.

The categories of a question in a block are sets of combinations. What a record supports of each set
depends on the set of its truth alone, so combinations are drawn whose truths are the first of each.
Each has its part of the set's count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.marginals import (
    AnyLaw,
    Marginal,
    UnevenSets,
    members_of,
    oracle_of,
)

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Supports:
    """Categories that each record supports: ``categories[starts[i]:starts[i + 1]]`` of record i."""

    starts: Places
    categories: Places

    @classmethod
    def of_partition(cls, counts: Places) -> Supports:
        """Return those of records that support one category each."""
        n = int(counts.sum())
        return cls(np.arange(n + 1), np.repeat(np.arange(len(counts)), counts))

    @classmethod
    def of_pairs(cls, records: Places, categories: Places, n: int) -> Supports:
        """Return those of pairs of a record and a category, in any order."""
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(records, minlength=n), out=starts[1:])
        return cls(starts, categories[np.argsort(records, kind="stable")])

    @property
    def size(self) -> float:
        """Mean number of categories that a record supports."""
        return len(self.categories) / (len(self.starts) - 1)


def is_partition(law: AnyLaw | None) -> bool:
    """Return whether every record supports one category, so that counts are all there is."""
    oracle = oracle_of(law)
    return oracle is None or oracle.names_one_value


def draw_supports(
    law: AnyLaw | None,
    counts: Places,
    n: int,
    frequency: Array,
    rng: np.random.Generator,
) -> Supports:
    """Draw supports of n records that have these support counts.

    Parameters
    ----------
    law : FrequencyOracle, Marginal, UnevenSets or None
        None in clear. Of sets, a record names a category as often as it supports combinations.
    counts : int64[k]
        Support counts, which the drawn records have too.
    n : int
        Records.
    frequency : f64[k]
        Of the truth, at least 0 and summing to 1.
    rng : numpy.random.Generator
        Source of randomness.
    """
    if law is None or is_partition(law):
        return Supports.of_partition(counts)
    if isinstance(law, Marginal | UnevenSets):
        return _of_sets(law, counts, n, frequency, rng)
    oracle = law
    # As many records of each truth as expected, each rounded up or down at random.
    ends = np.floor(np.minimum(np.cumsum(frequency), 1.0) * n + rng.random()).astype(np.int64)
    ends = np.minimum(ends, n)
    ends[-1] = n
    truths = np.diff(ends, prepend=0)
    if oracle.support_size is None:
        return _independent(oracle, counts, n, truths, rng)
    return _of_one_size(oracle, counts, truths, rng)


def _of_sets(
    law: Marginal | UnevenSets, counts: Places, n: int, frequency: Array, rng: np.random.Generator
) -> Supports:
    sizes = np.array(members_of(law, law.k))
    starts = np.cumsum(sizes) - sizes
    truths, each = np.zeros(law.oracle.k), np.zeros(law.oracle.k, np.int64)
    truths[starts] = frequency
    for size in np.unique(sizes).tolist():
        alike = sizes == size
        places = starts[alike, None] + np.arange(size)
        each[places] = _of_members(law.oracle, truths[places], counts[alike], n)
    drawn = draw_supports(law.oracle, each, n, truths, rng)
    return Supports(drawn.starts, np.repeat(np.arange(law.k), sizes)[drawn.categories])


def _of_members(oracle: FrequencyOracle, truths: Array, counts: Places, n: int) -> Places:
    """Return support counts int64[sets, m] of the values of sets, whose counts they sum to."""
    p, q = float(oracle.p), float(oracle.q)
    expected = n * (q + (p - q) * truths)
    surplus = counts - expected.sum(axis=1)
    # from the sums of whole sets down, so that each set has its count to the last record
    even = surplus[:, None] / truths.shape[1]
    ends = np.rint(np.cumsum(expected + even, axis=1)).astype(np.int64)
    each = np.clip(np.diff(ends, axis=1, prepend=0), 0, n)
    while (left := counts - each.sum(axis=1)).any():
        step = np.sign(left)[:, None]
        able = (each + step >= 0) & (each + step <= n) & (step != 0)
        places = np.flatnonzero(left)
        each[places, able[places].argmax(axis=1)] += np.sign(left[places])
    return np.asarray(each)


def _independent(
    oracle: FrequencyOracle, counts: Places, n: int, truths: Places, rng: np.random.Generator
) -> Supports:
    odds = float(oracle.p * (1 - oracle.q) / (oracle.q * (1 - oracle.p)))
    records, first = [], 0
    for count, truth in zip(counts.tolist(), truths.tolist(), strict=True):
        matches = _matches(count, truth, n, odds, rng)
        own = rng.choice(truth, matches, replace=False, shuffle=False) + first
        others = rng.choice(n - truth, count - matches, replace=False, shuffle=False)
        records += [own, others + truth * (others >= first)]
        first += truth
    categories = np.repeat(np.arange(len(counts)), counts)
    return Supports.of_pairs(np.concatenate(records), categories, n)


def _matches(count: int, truth: int, n: int, odds: float, rng: np.random.Generator) -> int:
    """Draw how many of the `count` records that support a category have it as their truth."""
    # scipy is slow to import
    from scipy.special import gammaln

    least, most = max(0, count - (n - truth)), min(count, truth)
    if least == most:
        return least
    x = np.arange(least, most + 1)
    chance = x * np.log(odds)
    for place, total in ((x, truth), (count - x, n - truth)):
        chance = chance - gammaln(place + 1) - gammaln(total - place + 1)
    chance = np.exp(chance - chance.max())
    return int(rng.choice(x, p=chance / chance.sum()))


def _of_one_size(
    oracle: FrequencyOracle, counts: Places, truths: Places, rng: np.random.Generator
) -> Supports:
    # They need numba, which is slow to import.
    from hushpoll_protocols.kernels import indicators, perturb

    drawn = perturb(oracle, np.repeat(np.arange(len(truths)), truths), rng)
    supported = indicators(oracle, drawn).astype(bool)
    surplus = supported.sum(axis=0) - counts
    while surplus.any():
        many, few = (int(rng.choice(np.flatnonzero(side))) for side in (surplus > 0, surplus < 0))
        able = np.flatnonzero(supported[:, many] & ~supported[:, few])
        if not len(able):  # then a third category takes the surplus first
            few = int(rng.choice(np.flatnonzero(~supported[supported[:, many]].all(axis=0))))
            able = np.flatnonzero(supported[:, many] & ~supported[:, few])
        moved = min(len(able), int(surplus[many]), max(1, -int(surplus[few])))
        chosen = rng.choice(able, moved, replace=False)
        supported[chosen, many], supported[chosen, few] = False, True
        surplus[many] -= moved
        surplus[few] += moved
    records, categories = np.nonzero(supported)
    return Supports.of_pairs(records, categories, len(supported))
