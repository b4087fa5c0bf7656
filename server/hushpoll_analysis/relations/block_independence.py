"""The test that two questions of one block are independent.

Let J be the estimated table, whose cells are sets of the block's combinations, f1 and f2 its
margins, and R = J - f1 f2'. If the questions are independent, R is M J to first order, with

    M = (I - f1 1') x (I - f2 1')

(x is Kronecker's product), and n times the covariance of R is M S M', S being the covariance matrix
of the cells' weights at the shares f1 f2'. So n R' (M S M')^+ R is chi-square with the rank of
M S M' degrees of freedom: (k1 - 1)(k2 - 1) where every answer is given. A dependence is seen
through S^+ as between questions that are randomised apart
(:mod:`hushpoll_analysis.relations.independence`).

Where the records that support a combination are few, the p-value comes from tables drawn under
independence: people at the estimated margins, and what the protocol makes of them. It is a
parametric bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 16).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import Side, debiased_means
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import cells_of as sets_of_cells
from hushpoll_analysis.relations import chi_square
from hushpoll_analysis.relations.reference_distribution import DrawnPValue, generator_of
from hushpoll_analysis.relations.whitening import whitening
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.marginals import AnyLaw, members_of, oracle_of
from hushpoll_protocols.estimation.projection import project_simplex
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.blocks import Block

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

MOST_CELLS: Final = 2048
"""A table has at most so many: its covariance matrix is decomposed."""

TABLES: Final = 999
"""Drawn, unless `WORK` allows fewer."""

FEWEST: Final = 199
WORK: Final = 1 << 28
"""Indicators that are drawn, about a second."""

_EQUAL: Final = 1 - 1e-9
"""A statistic above this part of the observed one is as large, but for rounding."""


@dataclass(frozen=True, slots=True)
class InBlock:
    """The evidence on two questions of one block."""

    law: AnyLaw
    """The law of the table's cells."""
    counts: JointCounts
    """The counts are in the order of the block."""
    frequencies: tuple[Array, Array]
    """f64[k1] and f64[k2], of either question, at least 0 and summing to 1."""
    root: Array
    """f64[rank, k1 k2], of (M S M')^+."""
    efficiency: tuple[float, float]
    """Which part of a dependence is seen, at most and at least."""
    statistic: float
    """X^2."""
    key: str
    """The tables depend on it and on the counts alone."""

    @classmethod
    def of(
        cls,
        published: Published,
        counts: JointCounts,
        attributes: tuple[PublishedAttribute, PublishedAttribute],
        block: Block,
    ) -> InBlock:
        """Return that of joint counts; refuses more than `MOST_CELLS` cells, or impossible ones."""
        first, second = attributes
        if counts.both.size > MOST_CELLS:
            raise InvalidParameter(
                f"{first.name} by {second.name} is a table of {counts.both.size} combinations that "
                f"are randomised together, and a test of independence takes at most {MOST_CELLS}; "
                "choose questions with fewer categories",
                field="b",
            )
        if block.place(first.name) > block.place(second.name):
            # the same tables are drawn, whichever is named first
            counts = JointCounts(counts.n, counts.second, counts.first, counts.both.T)
        law = law_of_table(block, *(one.name for one in _in_order(block, attributes)))
        if law is None:
            raise InvalidParameter(
                f"{first.name} and {second.name} always depend on each other, since some of their "
                "answers cannot be given together, as those of a follow-up and its router; ask for "
                "their cross-table, or for shares within groups",
                field="b",
            )
        estimated = cells_of(law, counts.both, counts.n)
        shares = project_simplex(estimated.sum(axis=1)), project_simplex(estimated.sum(axis=0))
        root, efficiency = _whitened(law, *shares)
        rest = rests(estimated[None])[0]
        statistic = counts.n * float(np.square(root @ rest.ravel()).sum())
        key = f"{published.digest} {block.name} {' '.join(sorted(one.name for one in attributes))}"
        return cls(law, counts, shares, root, efficiency, statistic, key)

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return len(self.root)

    @property
    def has_rare(self) -> bool:
        """Whether some cell expects too few records for the chi-square law."""
        return has_rare_cells(self.law, self.counts)

    def drawn(self) -> DrawnPValue:
        """Return the p-value by drawn tables."""
        n, shape = self.counts.n, self.counts.both.shape
        tables = max(FEWEST, min(TABLES, WORK // (n * self.law.k)))
        rng = generator_of(self.key, n, self.counts.both)
        people = np.outer(*self.frequencies).ravel()
        found = 0
        for _ in range(tables):
            drawn = drawn_counts(self.law, rng.multinomial(n, people), rng)
            rest = rests(cells_of(self.law, drawn.reshape(shape), n)[None])[0]
            found += n * float(np.square(self.root @ rest.ravel()).sum()) >= self.statistic * _EQUAL
        return DrawnPValue((found + 1) / (tables + 1), tables)


def law_of_table(block: Block, a: str, b: str) -> AnyLaw | None:
    """Return the law of the cells of two questions; None if nobody can be in some of them."""
    sizes, law = sets_of_cells(block, [a, b])
    return law if sizes.all() else None


def _in_order(
    block: Block, attributes: tuple[PublishedAttribute, PublishedAttribute]
) -> list[PublishedAttribute]:
    return sorted(attributes, key=lambda attribute: block.place(attribute.name))


def has_rare_cells(law: AnyLaw, counts: JointCounts) -> bool:
    """Return whether under independence few records support some combination, or lack it."""
    side, members = Side.of(law), np.reshape(members_of(law, law.k), counts.both.shape)
    n, shares = counts.n, cells_of(law, counts.both, counts.n)
    people = np.outer(*(project_simplex(shares.sum(axis=axis)) for axis in (1, 0)))
    elsewhere = np.broadcast_to(side.channel.elsewhere, law.k).reshape(people.shape)
    expected = n * (elsewhere + side.channel.gap * people)
    rarer = np.minimum(expected, n * members - expected) / members
    return bool(rarer.min() < chi_square.ENOUGH_TOGETHER)


def cells_of(law: AnyLaw, support: Places, n: int) -> Array:
    """Return the estimated table, f64[k1, k2], from its support counts."""
    side = Side.of(law)
    debiased = debiased_means(np.ravel(support), n, side)
    return side.law.frequencies(debiased).reshape(support.shape)


def rests(tables: Array) -> Array:
    """Return each table minus the product of its margins, f64[..., k1, k2]."""
    return np.asarray(
        tables - tables.sum(axis=-1, keepdims=True) * tables.sum(axis=-2, keepdims=True)
    )


def drawn_counts(law: AnyLaw, people: Places, rng: np.random.Generator) -> Places:
    """Draw the support counts int64[k] of people by their cells, int64[k]."""
    oracle, members = oracle_of(law), np.array(members_of(law, law.k))
    assert oracle is not None  # noqa: S101  (there is a law)
    n, p, q = int(people.sum()), float(oracle.p), float(oracle.q)
    if oracle.support_size is None:
        others = rng.binomial(n * members - people, q)
        return np.asarray(rng.binomial(people, p) + others)
    # it needs numba, which is slow to import
    from hushpoll_protocols.kernels import perturb, support_counts

    starts = np.cumsum(members) - members
    support = support_counts(oracle, perturb(oracle, np.repeat(starts, people), rng))
    return np.add.reduceat(support, starts)


def _whitened(law: AnyLaw, first: Array, second: Array) -> tuple[Array, tuple[float, float]]:
    """Return a root of (M S M')^+, and the largest and the smallest part that is seen."""
    people = np.outer(first, second).ravel()
    matrix = np.kron(
        np.eye(len(first)) - first[:, None] * np.ones(len(first)),
        np.eye(len(second)) - second[:, None] * np.ones(len(second)),
    )
    covariance = matrix @ WeightCovariances.of(law).over_population(people) @ matrix.T
    clear = matrix @ np.diag(people) @ matrix.T
    return whitening(covariance, clear)
