"""What a statistic of two attributes is under independence, given the support counts of each.

Respondents are drawn independently. So if the attributes are independent, every pairing of the
first attribute's records with those of the second was as likely as the one that was observed,
whatever the protocols, the shares and their number: the test is exact if the supports are known,
since the statistic then has the law that random pairings give it (Pitman, JRSS Supplement 4, 1937).
The support counts stay as they are in each pairing, and with them every estimate of one attribute.

Where every record supports one category, pairings are tables with the observed margins, which are
drawn cell by cell (hypergeometric) or by pairing, whichever is cheaper. Elsewhere supports are
drawn given the counts (:mod:`hushpoll_analysis.relations.drawn_supports`) and then paired.

Drawing stops at the `ENOUGH`-th table whose statistic is at least the observed one, and the p-value
is `ENOUGH` over the tables drawn; where so many are not found, it is one more than were found over
one more than were drawn. Either is a valid p-value (Besag and Clifford, Biometrika 78, 1991).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.relations.drawn_supports import draw_supports, is_partition
from hushpoll_protocols.estimation.marginals import AnyLaw, oracle_of

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

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


@dataclass(frozen=True, slots=True)
class Drawn:
    """The p-value of a statistic by drawn tables.

    Attributes
    ----------
    p_value : float
        In (0, 1].
    tables : int
        That were drawn.
    """

    p_value: float
    tables: int


@dataclass(frozen=True, slots=True)
class PairingTest:
    """A statistic ``sum((left (J - E) right')^2)/n`` of joint counts J, E being n pi_1 pi_2'.

    Attributes
    ----------
    counts : JointCounts
        Observed.
    laws : two of FrequencyOracle, Marginal, UnevenSets or None
        Of either attribute; None in clear.
    frequencies : (f64[k1], f64[k2])
        Estimated, at least 0 and summing to 1.
    left, right : f64[r1, k1], f64[r2, k2]
        See above.
    """

    counts: JointCounts
    laws: tuple[AnyLaw | None, AnyLaw | None]
    frequencies: tuple[Array, Array]
    left: Array
    right: Array

    def statistics(self, tables: Array) -> Array:
        """Return the statistics f64[...] of joint counts [..., k1, k2]."""
        expected = np.outer(self.counts.first, self.counts.second) / self.counts.n
        projected = self.left @ (tables - expected) @ self.right.T
        return np.asarray(np.square(projected).sum(axis=(-2, -1)) / self.counts.n)

    def p_value(self, key: str, *, most: int = TABLES) -> Drawn:
        """Draw tables until the p-value is known well enough.

        Parameters
        ----------
        key : str
            The tables depend on it and on the counts alone, so a result can be repeated.
        most : int
            Tables at most.
        """
        observed = float(self.statistics(self.counts.both.astype(np.float64))) * _EQUAL
        found = drawn = 0
        for statistics in self._batches(self._generator(key), most):
            larger = np.flatnonzero(statistics >= observed)
            if found + len(larger) >= ENOUGH:
                drawn += int(larger[ENOUGH - found - 1]) + 1
                return Drawn(ENOUGH / drawn, drawn)
            found += len(larger)
            drawn += len(statistics)
        return Drawn((found + 1) / (drawn + 1), drawn)

    def _generator(self, key: str) -> np.random.Generator:
        counts = self.counts
        digest = hashlib.sha256(f"{key} {counts.n}".encode())
        for cells in (counts.first, counts.second, counts.both):
            digest.update(np.ascontiguousarray(cells, "<i8").tobytes())
        return np.random.default_rng(int.from_bytes(digest.digest()[:16], "little"))

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
