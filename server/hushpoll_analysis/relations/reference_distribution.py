"""What a statistic of two attributes is under independence, given the support counts of each.

Respondents are drawn independently. So if the attributes are independent, every pairing of the
first attribute's records with those of the second was as likely as the one that was observed,
whatever the protocols, the shares and their number: the test is exact if the supports are known,
since the statistic then has the law that random pairings give it (Pitman, JRSS Supplement 4, 1937).
The support counts stay as they are in each pairing, and with them every estimate of one attribute.

Where every record supports one category, pairings are tables with the observed margins, which are
drawn cell by cell (hypergeometric) or by pairing, whichever is cheaper. Elsewhere supports are
drawn given the counts, as below, and then paired.

Drawing stops at the `ENOUGH`-th table whose statistic is at least the observed one, and the p-value
is `ENOUGH` over the tables drawn; where so many are not found, it is one more than were found over
one more than were drawn. Either is a valid p-value (Besag and Clifford, Biometrika 78, 1991).

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

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import JointCounts
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

    The frequency of the truth is f64[k], at least 0 and sums to 1. No law is in clear; of sets, a
    record names a category as often as it supports combinations.
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


ENOUGH = 200
"""Tables at least as far from independence, after which no more are drawn."""

TABLES = 9_999
"""Drawn at most, unless more are asked for."""

FEWEST = 999
"""Drawn where each is so costly that `WORK` allows no more."""

WORK = 1 << 29
"""Steps of the inner loops for one pair of attributes, about a second."""

_BATCH = 500
"""Tables for which supports are drawn once."""

_CELLS = 1 << 21
"""Cells, or random words, held at a time."""

_SHUFFLED = 1 << 14
"""Records up to which each table has a shuffle of its own; of more, several share one, shifted."""

_HYPERGEOMETRIC = 60
"""Steps that drawing one cell takes."""

_EQUAL = 1 - 1e-9
"""A statistic above this part of the observed one is as large, but for rounding."""


def generator_of(key: str, n: int, *tables: Places) -> np.random.Generator:
    """Return the generator that a key, the number of records and their counts decide alone."""
    digest = hashlib.sha256(f"{key} {n}".encode())
    for cells in tables:
        digest.update(np.ascontiguousarray(cells, "<i8").tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest()[:16], "little"))


@dataclass(frozen=True, slots=True)
class DrawnPValue:
    """The p-value of a statistic by drawn tables."""

    p_value: float
    """In (0, 1]."""
    tables: int
    """That were drawn."""


@dataclass(frozen=True, slots=True)
class PairingTest:
    """A statistic ``sum((left (J - E) right')^2)/n`` of joint counts J, E being n pi_1 pi_2'."""

    counts: JointCounts
    laws: tuple[AnyLaw | None, AnyLaw | None]
    """None in clear."""
    frequencies: tuple[Array, Array]
    """f64[k1] and f64[k2], estimated, at least 0 and summing to 1."""
    left: Array
    """f64[r1, k1]; `right` is f64[r2, k2]."""
    right: Array

    def statistics(self, tables: Array) -> Array:
        """Return the statistics f64[...] of joint counts [..., k1, k2]."""
        expected = np.outer(self.counts.first, self.counts.second) / self.counts.n
        projected = self.left @ (tables - expected) @ self.right.T
        return np.asarray(np.square(projected).sum(axis=(-2, -1)) / self.counts.n)

    def p_value(self, key: str, *, most: int = TABLES) -> DrawnPValue:
        """Draw tables, which the key and the counts alone decide, until the p-value is known."""
        observed = float(self.statistics(self.counts.both.astype(np.float64))) * _EQUAL
        found = drawn = 0
        counts = self.counts
        rng = generator_of(key, counts.n, counts.first, counts.second, counts.both)
        for statistics in self._batches(rng, most):
            larger = np.flatnonzero(statistics >= observed)
            if found + len(larger) >= ENOUGH:
                drawn += int(larger[ENOUGH - found - 1]) + 1
                return DrawnPValue(ENOUGH / drawn, drawn)
            found += len(larger)
            drawn += len(statistics)
        return DrawnPValue((found + 1) / (drawn + 1), drawn)

    def _batches(self, rng: np.random.Generator, most: int) -> Iterator[Array]:
        cells = self.left.shape[0] * self.left.shape[1] * self.right.shape[1]
        by_cell = _HYPERGEOMETRIC * self.counts.both.size
        sizes = 1.0
        for law in self.laws:
            oracle = oracle_of(law)
            if oracle is not None and not is_partition(law):
                sizes *= float(oracle.q) * oracle.k + float(oracle.p - oracle.q)
        by_pairing = int(self.counts.n * (4 + sizes))
        known = all(map(is_partition, self.laws))
        cost = min(by_cell, by_pairing) if known else by_pairing
        tables = min(most, max(WORK // (cost + cells), FEWEST))
        step = max(1, min(_BATCH, _CELLS // self.counts.both.size))
        for start in range(0, tables, _BATCH):
            batch = min(_BATCH, tables - start)
            if known and by_cell <= by_pairing:
                drawn = self._cell_by_cell(batch, step, rng)
            else:
                drawn = self._paired(batch, step, rng)
            for part in drawn:
                yield self.statistics(part.astype(np.float64))

    def _cell_by_cell(self, tables: int, step: int, rng: np.random.Generator) -> Iterator[Places]:
        rows, columns = self.counts.first, self.counts.second
        for start in range(0, tables, step):
            number = min(step, tables - start)
            drawn = np.zeros((number, len(rows), len(columns)), np.int64)
            left = np.tile(columns, (number, 1))
            for row, people in enumerate(rows.tolist()):
                wanted = np.full(number, people)
                rest = left.sum(axis=1)
                for column in range(len(columns)):
                    rest -= left[:, column]
                    drawn[:, row, column] = rng.hypergeometric(left[:, column], rest, wanted)
                    wanted -= drawn[:, row, column]
                left -= drawn[:, row]
            yield drawn

    def _paired(self, tables: int, step: int, rng: np.random.Generator) -> Iterator[Places]:
        # It needs numba, which is slow to import.
        from hushpoll_analysis.relations.pairing_kernels import count_pairings

        counts, n = self.counts, self.counts.n
        sides = [
            draw_supports(law, support, n, frequency, rng)
            for law, support, frequency in zip(
                self.laws, (counts.first, counts.second), self.frequencies, strict=True
            )
        ]
        order = np.arange(n)
        each = max(1, n // _SHUFFLED)
        step = max(1, min(step, _CELLS * each // n))
        for start in range(0, tables, step):
            number = min(step, tables - start)
            shuffles = -(-number // each)
            drawn = np.zeros((shuffles * each, *counts.both.shape), np.int64)
            words = rng.integers(0, 1 << 32, (shuffles, n), np.uint32)
            shifts = rng.integers(0, n, len(drawn))
            count_pairings(
                sides[0].starts,
                sides[0].categories,
                sides[1].starts,
                sides[1].categories,
                order,
                words,
                shifts,
                drawn,
            )
            yield drawn[:number]
