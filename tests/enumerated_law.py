"""The law of a record as a table, and what it can make a person believe: sums, not formulas.

A `Row` is the likelihood of one record for every answer. The groups of a hash that hold no answer
are one row with their number, so that a hash into 65,536 groups is a handful of rows.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from hushpoll_protocols import FrequencyOracle, MalformedRecord
from hushpoll_protocols.oracles.local_hashing import bucket

MOST_ENUMERATED = 5
"""Answers of which every set is asked about; of more, every pair of answers and some sets."""

Weights = Sequence[int]
Facts = Sequence[tuple[Weights, Weights]]


@dataclass(frozen=True)
class Row:
    """One record, or `number` records that have the same likelihoods."""

    likelihood: tuple[Fraction, ...]
    support: tuple[int, ...]
    number: int = 1


Table = list[Row]


def tables(oracle: FrequencyOracle, seeds: int = 12) -> list[Table]:
    """Return the law: one table, or for local hashing one for each of some hashes."""
    if not hasattr(oracle, "g"):
        return [[_row(oracle, record) for record in _records(oracle)]]
    rng = random.Random(7)
    drawn = [
        _hashed(oracle, oracle.g, rng.getrandbits(64), rng.getrandbits(64)) for _ in range(seeds)
    ]
    return sorted(drawn, key=len, reverse=True)


def _records(oracle: FrequencyOracle) -> Iterator[bytes]:
    for values in product(range(256), repeat=oracle.record_size):
        try:
            oracle.check(bytes(values))
        except MalformedRecord:
            continue
        yield bytes(values)


def _hashed(oracle: FrequencyOracle, groups: int, a: int, b: int) -> Table:
    reached = {bucket(a, b, value, groups) for value in range(oracle.k)}
    empty = next((y for y in range(groups) if y not in reached), None)
    seed = (a | b << 64).to_bytes(16, "little")
    found = [_row(oracle, seed + y.to_bytes(2, "little")) for y in reached]
    if empty is not None:
        number = groups - len(reached)
        found.append(_row(oracle, seed + empty.to_bytes(2, "little"), number))
    return found


def _row(oracle: FrequencyOracle, record: bytes, number: int = 1) -> Row:
    law = tuple(oracle.probability(record, value) for value in range(oracle.k))
    return Row(law, oracle.support(record), number)


def pairs(first: Table, second: Table) -> Table:
    """Return the law of two records, drawn independently given the two answers."""
    return [
        Row(tuple(x * y for x in one.likelihood for y in other.likelihood), ())
        for one in first
        for other in second
    ]


def extremes(table: Table, facts: Facts) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest Pr[z | fact] / Pr[z | not fact] over records and facts.

    Parameters
    ----------
    table : list of Row
        The law.
    facts : sequence of pairs of weights
        How the answers are distributed where a fact holds, and where it does not.
    """
    least, most = Fraction(1), Fraction(1)
    for row in table:
        # A factor that all likelihoods of a record share cancels; integers are fast.
        scale = math.lcm(*(one.denominator for one in row.likelihood))
        law = [one.numerator * (scale // one.denominator) for one in row.likelihood]
        for fact, other in facts:
            yes = sum(map(int.__mul__, law, fact)) * sum(other)
            no = sum(map(int.__mul__, law, other)) * sum(fact)
            if yes * most.denominator > no * most.numerator:
                most = Fraction(yes, no)
            if yes * least.denominator < no * least.numerator:
                least = Fraction(yes, no)
    return least, most


def facts_about(size: int) -> Facts:
    """Return what may be asked about an answer out of `size`: weights where it holds, and not.

    The facts are every single answer against every other, every set of answers against the rest
    with equal and with unequal weights, and facts that are only correlated with the answer.
    """
    rng = random.Random(3)
    found: list[tuple[Weights, Weights]] = []
    for a, b in product(range(size), repeat=2):
        if a != b:
            found.append((_only(a, size), _only(b, size)))
    sets: Iterable[int] = range(1, 2**size - 1)
    if size > MOST_ENUMERATED:
        sets = [rng.randrange(1, 2**size - 1) for _ in range(20)]
    for chosen in sets:
        inside = [chosen >> value & 1 for value in range(size)]
        for weights in ([1] * size, [rng.randint(1, 50) for _ in range(size)]):
            found.append(
                (
                    [w * i for w, i in zip(weights, inside, strict=True)],
                    [w * (1 - i) for w, i in zip(weights, inside, strict=True)],
                )
            )
    for _ in range(5):
        correlated = [[rng.randint(1, 50) for _ in range(size)] for _ in range(2)]
        found.append((correlated[0], correlated[1]))
    return found


def after(prior: Fraction, ratio: Fraction) -> Fraction:
    """Return the belief after a record of this likelihood ratio (Bayes)."""
    return prior * ratio / (prior * ratio + 1 - prior)


def _only(at: int, size: int) -> Weights:
    return [int(value == at) for value in range(size)]
