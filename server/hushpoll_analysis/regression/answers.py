"""What a regression reads: columns in clear, and records with the law of each.

A record of a perturbed question, or of a block of several, is known by its likelihood under each
answer. By the protocols' law that takes two values, inside and outside the record's support
(:mod:`hushpoll_protocols.oracle`); by a table of a survey's own law it is a row of that table.
Records that say the same are one pattern.

Of a block of which a formula names some questions, a record is read for these alone: how many
combinations with each of their answers it supports. The protocols treat all combinations alike, so
the law of these numbers hangs on nothing else, and the others' answers need no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.combinations import Combinations, Question
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_protocols.oracle import FrequencyOracle
from hushpoll_shared.spelling.text import show

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

GROUPED: Final = 64
"""Most categories whose supports are compared with each other, as 64-bit numbers."""
_ROWS: Final = 1 << 18
_CELLS: Final = 1 << 26
"""Supports that are held at a time."""
_DRAWN: Final = 4_000
"""Records that say what counts of supports tell of two answers."""
ROUNDING: Final = 0.001 + 1e-9
"""By how much chances may miss 1, as published ones do; they are scaled to it."""
_TELLS: Final = 1e-9
"""Smallest singular value of a law, to its largest, that tells answers apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """What the distinct records say of a domain of k answers."""

    table: npt.NDArray[Any]
    """uint8[P, k] or f64[P, k]: supports, the share of a cell's combinations that is supported, or
    whatever the likelihood is linear in."""
    low: float
    """The likelihood is low + rise * table, up to a factor of each record."""
    rise: float
    shift: float = 0.0
    """D = (table - shift) / scale, whose expectation given the answer is the one-hot answer, for
    supports; for a law of a table D is `unbiased`."""
    scale: float | Array = 1.0
    unbiased: Array | None = None
    """f64[P, k]; see `shift`."""
    named: Places | None = None
    """int64[P], the answer that each record names, where it names one."""
    unasked: int | None = None
    """The pattern of rows of which the question was not asked, since a device drew others: it is as
    likely under each answer, and so its rows say nothing of it."""
    law: Places | None = None
    """int64[P], the law that each pattern belongs to, where groups of respondents have laws of
    their own."""
    even: Array | None = None
    """f64[k, k], what :meth:`even_products` returns of shares of cells."""

    def likelihood(self, places: Places) -> Array:
        """Return f64[n, k]: the likelihood of records, by their patterns, under each answer."""
        return np.asarray(self.low + self.rise * self.table[places], np.float64)

    def even_products(self, places: Places, weights: Array) -> Array:
        """Return f64[k, k]: the mean product of two answers' chances given a record, all alike.

        Of a protocol it hangs on how many answers records support, which tells nothing of answers;
        of a law it is computed from the law alone, and all records have the same one.
        """
        k = self.table.shape[1]
        if self.even is not None:
            return self.even
        if self.unbiased is not None:
            law = self.table
            if self.law is not None:
                law = law[self.law == self.law[places[0]]]
            chance = law.mean(axis=1)
            given = law[chance > 0] / (k * chance[chance > 0])[:, None]
            return np.asarray((given * chance[chance > 0][:, None]).T @ given, np.float64)
        of = self.table.sum(axis=1, dtype=np.int64)[places]
        sizes = np.bincount(of, weights, minlength=k + 1)
        support = np.arange(k + 1)
        high, low = self.low + self.rise, self.low
        total = support * high + (k - support) * low
        square = (support * high**2 + (k - support) * low**2) / np.maximum(total, 1e-300) ** 2
        told = (k * float(sizes @ square) / max(float(sizes.sum()), 1e-300) - 1) / (k - 1)
        return np.asarray(told * np.eye(k) / k + (1 - told) / k**2, np.float64)

    def says_nothing(self, places: Places) -> bool:
        """Whether all records are of rows of which the question was not asked."""
        return self.unasked is not None and bool((places == self.unasked).all())

    @property
    def of_protocol(self) -> bool:
        """Whether they are supports, and not rows of a law that is a table."""
        return self.unbiased is None

    @property
    def has_moments(self) -> bool:
        """Whether each record has a D: where groups have laws, each must tell answers apart."""
        return self.unbiased is None or bool(np.isfinite(self.unbiased).all())

    def debiased(self, places: Places) -> Array:
        """Return D, f64[n, k], of records by their patterns."""
        if self.unbiased is not None:
            return self.unbiased[places]
        return np.asarray((self.table[places] - self.shift) / self.scale, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One question, or a block of several, that is randomised as one value."""

    name: str
    questions: tuple[Question, ...]
    """The first one slowest."""
    patterns: Patterns
    places: Places
    """int64[n], the pattern of each row."""
    oracle: FrequencyOracle | None = None
    """The protocol that gave the records; None of a law that is a table."""
    numbers: Places | None = None
    """int64[K], the combinations of answers that can be, in mixed radix; None: all."""
    cells: Places | None = None
    """int64[k], the combination of each value of the oracle, where these are some questions of a
    block."""

    @property
    def combinations(self) -> Combinations:
        """Of the answers to its questions."""
        return Combinations(self.questions, self.numbers)

    @property
    def k(self) -> int:
        """Combinations of answers."""
        return self.combinations.k

    @property
    def asked_rows(self) -> npt.NDArray[np.bool_]:
        """Of which rows it was asked, bool[n]: of all, without draws."""
        unasked = -1 if self.patterns.unasked is None else self.patterns.unasked
        return np.asarray(self.places != unasked, np.bool_)

    def taken(self, rows: Places) -> Unit:
        """Return the records of some of the rows."""
        return replace(self, places=self.places[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """A column of numbers in clear, f64[n]."""

    name: str
    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A column of categories in clear: int64[n] codes of a domain."""

    name: str
    codes: Places
    domain: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The rows of a regression."""

    n: int
    clear: Mapping[str, Numbers | Categories]
    """Columns in clear."""
    units: tuple[Unit, ...] = ()
    """Perturbed questions and blocks."""
    weights: Array | None = None
    """f64[n], survey weights, positive."""
    clusters: Places | None = None
    """int64[n], which rows were drawn together."""
    dropped: int = 0
    """Rows that were left out, since a column of the formula was empty."""
    not_asked: Mapping[str, str] = field(default_factory=dict)
    """By follow-up, the category of the respondents who were not asked."""

    def unit_of(self, name: str) -> Unit | None:
        """Return the unit whose question has a name; None for a column in clear."""
        for unit in self.units:
            if any(question.name == name for question in unit.questions):
                return unit
        if name not in self.clear:
            known = [*self.clear, *(one.name for unit in self.units for one in unit.questions)]
            raise InvalidParameter(
                f"the formula names {show(name)}, and the columns are {', '.join(known[:20])}"
                f"{' ...' if len(known) > 20 else ''}",
                field="formula",
            )
        return None

    def question(self, name: str) -> Question:
        """Return a perturbed question by its name."""
        questions = (one for unit in self.units for one in unit.questions)
        return next(question for question in questions if question.name == name)

    def taken_at_face_value(self) -> Answers | None:
        """Return the rows as who ignores the randomisation reads them; None if nobody could."""
        clear = dict(self.clear)
        for unit in self.units:
            if unit.patterns.named is None:
                return None
            named, codes = unit.patterns.named[unit.places], unit.combinations.codes
            for question in unit.questions:
                column = codes[question.name][named]
                clear[question.name] = Categories(question.name, column, question.domain)
        return replace(self, clear=clear, units=())

    def asked_all(self) -> Answers:
        """Return the rows of which all questions were asked, of draws: others hang on chance."""
        if all(unit.patterns.unasked is None for unit in self.units):
            return self
        asked = np.logical_and.reduce([unit.asked_rows for unit in self.units])
        return self.taken(np.flatnonzero(asked))

    def taken(self, rows: Places) -> Answers:
        """Return some of the rows."""
        clear: dict[str, Numbers | Categories] = {
            name: Numbers(name, column.values[rows])
            if isinstance(column, Numbers)
            else Categories(name, column.codes[rows], column.domain)
            for name, column in self.clear.items()
        }
        return replace(
            self,
            n=len(rows),
            clear=clear,
            units=tuple(unit.taken(rows) for unit in self.units),
            weights=None if self.weights is None else self.weights[rows],
            clusters=None if self.clusters is None else self.clusters[rows],
        )


def patterns_of(
    oracle: FrequencyOracle, records: npt.NDArray[np.uint8], cells: Places | None = None
) -> tuple[Patterns, Places]:
    """Return the patterns of a protocol's records, and that of each record.

    `cells` int64[k] have the combination of answers to some questions of a block, 0..K-1, of each
    value. A record is then known by how many values of each it supports. Of n_f out of m_f these
    have, up to a factor of the record, the likelihood low + rise n_f / m_f under f, whatever the
    answers to the block's other questions are; by local hashing, on average over the hash
    functions.
    """
    one = oracle.names_one_value
    ratio = oracle.likelihood_ratio
    low, rise = (oracle.q, oracle.p - oracle.q) if one else (1 / ratio, 1 - 1 / ratio)
    kept: list[npt.NDArray[Any]] = []
    places, n = np.arange(len(records), dtype=np.int64), len(records)
    packed = np.zeros((n, 8), np.uint8)
    step = max(1, min(_ROWS, _CELLS // oracle.k))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        supports = indicators(oracle, np.ascontiguousarray(records[rows]))
        if one:
            places[rows] = supports.argmax(axis=1)
        elif cells is not None:
            kept.append(_counted(supports, cells))
        elif oracle.k <= GROUPED:
            bits = np.packbits(supports, axis=1)
            packed[rows, : bits.shape[1]] = bits
        else:
            kept.append(supports)
    sizes = np.ones(oracle.k) if cells is None else np.bincount(cells).astype(np.float64)
    k = len(sizes)
    table: npt.NDArray[Any]
    if one:
        table = np.eye(k, dtype=np.uint8) if cells is None else np.diag(1 / sizes)
        places = places if cells is None else cells[places]
    elif cells is not None:
        counts = np.concatenate(kept) if kept else np.zeros((0, k), np.int32)
        distinct, places = _distinct(counts)
        table = distinct / sizes
    elif oracle.k <= GROUPED:
        numbers, places = np.unique(packed.view(np.uint64)[:, 0], return_inverse=True)
        bits = np.ascontiguousarray(numbers[:, None]).view(np.uint8)
        table = np.unpackbits(bits, axis=1)[:, : oracle.k]
    else:
        table = np.concatenate(kept) if kept else np.zeros((0, oracle.k), np.uint8)
    difference = float(oracle.p - oracle.q)
    patterns = Patterns(
        table,
        float(low),
        float(rise),
        float(oracle.q),
        difference if cells is None else difference / sizes,
        named=np.arange(k) if one else None,
        even=None if cells is None else even_products_of_cells(oracle, cells),
    )
    return patterns, places.astype(np.int64)


def _counted(supports: npt.NDArray[np.uint8], cells: Places) -> npt.NDArray[np.int32]:
    """Return how many values of each cell records support, int32[n, K]."""
    order = np.argsort(cells, kind="stable")
    first = np.searchsorted(cells[order], np.arange(int(cells.max()) + 1))
    return np.add.reduceat(supports[:, order], first, axis=1, dtype=np.int32)


def _distinct(counts: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], Places]:
    """Return the distinct rows, and which of them each row is."""
    rows = np.ascontiguousarray(counts).view([("", np.int32)] * counts.shape[1])[:, 0]
    _, first, places = np.unique(rows, return_index=True, return_inverse=True)
    return counts[first], places.astype(np.int64)


def even_products_of_cells(oracle: FrequencyOracle, cells: Places) -> Array:
    """Return f64[K, K]: :meth:`Patterns.even_products` of even cells, by records drawn of them."""
    sizes = np.bincount(cells).astype(np.float64)
    k, low, rise = len(sizes), float(oracle.q), float(oracle.p - oracle.q)
    if oracle.names_one_value:
        likely = sizes[:, None] * (low + rise * np.diag(1 / sizes))
        weight = likely.sum(axis=1) / k
    else:
        rng = np.random.default_rng(20_263)
        order, first = np.argsort(cells, kind="stable"), np.cumsum(sizes) - sizes
        cell = rng.integers(0, k, _DRAWN)
        inside = np.minimum(rng.random(_DRAWN) * sizes[cell], sizes[cell] - 1)
        values = order[(first[cell] + np.floor(inside)).astype(np.int64)]
        step = max(1, _CELLS // oracle.k)
        records = perturb(oracle, values, rng)
        counts = [
            _counted(indicators(oracle, records[start : start + step]), cells)
            for start in range(0, _DRAWN, step)
        ]
        least = 1 / oracle.likelihood_ratio
        likely = float(least) + float(1 - least) * np.concatenate(counts) / sizes
        weight = np.full(_DRAWN, 1 / _DRAWN)
    given = likely / likely.sum(axis=1, keepdims=True)
    return np.asarray((given * weight[:, None]).T @ given, np.float64)


def with_unasked(
    patterns: Patterns, places: Places, asked: npt.NDArray[np.bool_]
) -> tuple[Patterns, Places]:
    """Return patterns with one more, of rows of which the question was not asked."""
    number, k = patterns.table.shape
    table = np.concatenate([patterns.table, np.zeros((1, k), patterns.table.dtype)])
    named = None if patterns.named is None else np.append(patterns.named, 0)
    whole = np.full(len(asked), number, np.int64)
    whole[asked] = places
    return replace(patterns, table=table, named=named, unasked=number), whole


def patterns_of_law(
    law: Array,
    recorded: Sequence[str],
    domain: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    field: str = "law",
) -> Patterns:
    """Return the patterns of a law as a table, one for each value that is recorded.

    The law f64[r, k] is P(recorded | true), a row for each recorded value; `groups` has the group
    of respondents that each row is of, where they have laws of their own, which then need only tell
    all true values apart together. It refuses, naming `field`, a column that does not sum to 1
    within `ROUNDING`, and a law that does not tell the true values apart.
    """
    names = [] if groups is None else sorted(set(groups))
    of = np.array([names.index(group) for group in groups or ()], np.int64)
    if groups is None:
        of = np.zeros(len(law), np.int64)
    law = np.array(law, np.float64)
    unbiased = np.full(law.shape, np.nan)
    for number, group in enumerate(names or [None]):
        mine = of == number
        law[mine] = _scaled(law[mine], domain, group, field)
        if _rank(law[mine]) == len(domain):
            unbiased[mine] = np.linalg.pinv(law[mine]).T
    if _rank(law) < len(domain):
        raise InvalidParameter(
            f"the law of {len(domain)} true and {len(set(recorded))} recorded values does not tell "
            "the true ones apart: one of its columns is a mixture of others; merge true values",
            field=field,
        )
    named = None
    if set(recorded) <= set(domain):
        named = np.array([list(domain).index(value) for value in recorded], np.int64)
    return Patterns(
        law, 0.0, 1.0, unbiased=unbiased, named=named, law=None if groups is None else of
    )


def _scaled(law: Array, domain: Sequence[str], group: str | None, field: str) -> Array:
    """Return a law whose columns sum to 1, of one whose columns do so but for rounding."""
    totals = law.sum(axis=0)
    turned = len(law) > 1 and bool((abs(law.sum(axis=1) - 1) <= ROUNDING).all())
    remedy = "; its rows do, so exchange rows and columns" if turned else ""
    where = "" if group is None else f" of the group {show(group)}"
    for value, total in zip(domain, totals, strict=True):
        if abs(total - 1) > ROUNDING:
            raise InvalidParameter(
                f"the law's column {show(value)}{where} sums to {total:.9g}; the chances of all "
                f"recorded values, given a true one, sum to 1{remedy}",
                field=field,
            )
    return np.asarray(law / totals, np.float64)


def _rank(law: Array) -> int:
    sizes = np.linalg.svd(law, compute_uv=False)
    return int((sizes >= _TELLS * sizes[0]).sum())
