"""The sums over rows that make a log-likelihood, its gradient and its information.

A row's score is, for each of M linear predictors, u_j(g) times a sum over combinations of v_j(c),
and, for each combination but the first, z(g) times its chance. So the rows that are alike in clear
need one matrix of W x W numbers, W = M D + C - 1, with D the distinct columns of v: it is spread to
the q x q parameters once for each group, and not once for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from hushpoll_analysis.regression.sum_kernels import hold, products

if TYPE_CHECKING:
    from hushpoll_analysis.regression.likelihood import Likelihood
    from hushpoll_analysis.regression.terms.design import Design

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


_SPARSE = 0.2
"""Share of products of columns in clear that are not 0, below which they are kept as sparse."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """The log-likelihood with its derivatives."""

    value: float
    gradient: Array
    """f64[q], by all parameters, the outcome's first."""
    complete: Array | None = None
    """f64[q, q], information of the data with nothing hidden."""
    observed: Array | None = None
    """f64[q, q], information of the rows."""
    crossed: Array | None = None
    """f64[q, q], sum over rows, or clusters of rows, of the products of their weighted scores."""


class Kinds:
    """What a design's columns have in common.

    `table` f64[C, D] are the distinct columns of v, `of` int64[p] the one that each column has,
    `products` f64[C, D * D] those of two of them, `alike` the kinds by the numbers in clear that
    they stand beside, and `upper` the places of the upper triangle of combinations but the first.
    """

    def __init__(self, design: Design) -> None:
        self._z = design.z
        table, of = np.unique(design.v, axis=1, return_inverse=True)
        self.table = np.ascontiguousarray(table, np.float64)
        self.of = np.asarray(of, np.int64).ravel()
        self.products = (table[:, :, None] * table[:, None, :]).reshape(len(table), -1)
        self.alike = _alike(design.u, self.of, self.table.shape[1])
        self.upper = np.triu_indices(len(design.v) - 1)
        self.pairs = np.triu_indices(design.z.shape[1])

    @cached_property
    def _products(self) -> Any:
        """Products of two columns in clear, [G, r (r + 1) / 2], if few of them are not 0."""
        one, two = self.pairs
        sparse = csr_array(self._z)
        filled = np.diff(sparse.indptr).astype(np.float64)
        if (filled * (filled + 1) / 2).sum() > _SPARSE * len(one) * max(len(self._z), 1):
            return None
        number = np.zeros((self._z.shape[1],) * 2, np.int64)
        number[one, two] = np.arange(len(one))
        rows, places, values = [], [], []
        for size in np.unique(filled.astype(np.int64)):
            chosen = np.flatnonzero(filled == size)
            at = sparse.indptr[chosen][:, None] + np.arange(size)
            low, high = np.triu_indices(size)
            column, value = sparse.indices[at], sparse.data[at]
            rows.append(np.repeat(chosen, len(low)))
            places.append(number[column[:, low], column[:, high]].ravel())
            values.append((value[:, low] * value[:, high]).ravel())
        parts = [np.concatenate(one) for one in (values, rows, places)]
        return csr_array((parts[0], (parts[1], parts[2])), shape=(len(self._z), len(one)))

    def mixed(self, groups: slice, upper: Array) -> Array:
        """Return f64[r (r + 1) / 2, U]: products of columns in clear, summed with f64[g, U]."""
        known = self._products
        if known is not None:
            return np.asarray(known[groups].T @ upper)
        one, two = self.pairs
        z = self._z[groups]
        return (z[:, one] * z[:, two]).T @ upper


@dataclass(frozen=True, eq=False)
class _Alike:
    """Kinds of columns that stand beside the same numbers in clear."""

    kinds: Places
    """int64[E]"""
    u: Places
    """int64[S], a column of u for each of their numbers in clear."""
    columns: Places
    """int64[E, S], the design's column of each kind and number."""


def _alike(u: Array, of: Places, kinds: int) -> list[_Alike]:
    """Return the kinds by the numbers in clear that they stand beside."""
    seen: dict[bytes, int] = {}
    numbers = [seen.setdefault(column.tobytes(), len(seen)) for column in u.T]
    by_numbers: dict[tuple[int, ...], list[int]] = {}
    own = [
        sorted(np.flatnonzero(of == kind), key=lambda one: numbers[one]) for kind in range(kinds)
    ]
    for kind, columns in enumerate(own):
        by_numbers.setdefault(tuple(int(numbers[one]) for one in columns), []).append(kind)
    return [
        _Alike(np.array(found), np.array(own[found[0]]), np.array([own[kind] for kind in found]))
        for found in by_numbers.values()
    ]


def _contracted(one: Array, two: Array, sums: Array, rows: Places, columns: Places) -> Array:
    """Return f64[E, S, F, T]: products of f64[g, S] and f64[g, T], summed with f64[g, E, F].

    The places in the sums, int64[E or 1, F] and int64[E, F or 1], are broadcast.
    """
    shape = np.broadcast_shapes(rows.shape, columns.shape)
    if shape == (1, 1):
        part = sums[:, rows[0, 0], columns[0, 0]]
        return np.asarray(((one * part[:, None]).T @ two)[None, :, None, :], np.float64)
    pairs = (one[:, :, None] * two[:, None, :]).reshape(len(one), -1)
    taken = sums[:, rows, columns].reshape(len(one), -1)
    found = (pairs.T @ taken).reshape(one.shape[1], two.shape[1], *shape)
    return np.asarray(found.transpose(2, 0, 3, 1), np.float64)


class Sums:
    """The sums over parts of a likelihood's rows, with as many derivatives (0, 1 or 2)."""

    def __init__(
        self,
        of: Likelihood,
        derivatives: int,
        *,
        complete: bool,
        observed: bool,
        crossed: bool,
    ) -> None:
        self.of, self.derivatives = of, derivatives
        self.observed = observed and derivatives > 1
        self.m, self.p, self.r = of.family.predictors, of.p, of.r
        self.free = self.m * self.p
        self.value, self.gradient = 0.0, np.zeros(self.free + (of.c - 1) * self.r)
        self.seen = _Spread(of) if self.observed and not of.convex else None
        wanted = derivatives > 1 and (complete or self.seen is None)
        self.complete = _Spread(of) if wanted else None
        cluster = of.rows.cluster
        self.crossed = _Spread(of) if crossed and cluster is None else None
        self.clusters = None
        if crossed and cluster is not None:
            self.clusters = np.zeros((int(cluster.max(initial=-1)) + 1, len(self.gradient)))

    def add(
        self,
        groups: slice,
        rows: slice,
        joint: Array,
        shares: Array,
        first: Array,
        second: Array,
    ) -> bool:
        """Add a part: joint chances f64[g, Y, C]; derivatives f64[g, C, Y, M (, M)]."""
        of, table = self.of, self.of.rows
        place = table.group[rows] - groups.start
        outcome = np.full(len(place), -1) if table.outcome is None else table.outcome[rows]
        likely = of.record_likelihood(rows)
        weight = table.weight[rows]
        held = np.zeros(joint.shape)
        joint = np.ascontiguousarray(joint)
        value = hold(place, outcome, likely, joint, weight, held)
        if not np.isfinite(value):
            return False
        self.value += value
        if not self.derivatives:
            return True
        u, z, v = of.design.u[groups], of.design.z[groups], of.design.v
        pulled = np.einsum("gyc,gcym->gcm", held, first)
        within = held.sum(axis=1)
        size = within.sum(axis=1)
        for m in range(self.m):
            self.gradient[m * self.p : (m + 1) * self.p] += (u * (pulled[:, :, m] @ v)).sum(axis=0)
        if self.r:
            self.gradient[self.free :] += ((within - size[:, None] * shares)[:, 1:].T @ z).ravel()
        slopes, kinds = np.ascontiguousarray(first), of.kinds.table

        def add_products(found: Array, center: Array, weight: Array) -> Array:
            products(place, outcome, likely, joint, slopes, kinds, center, weight, found)
            return found

        if self.derivatives > 1:
            full = self._complete(held, shares, size, second)
            if self.complete is not None:
                self.complete.add(groups, full, apart=True)
            if self.seen is not None:
                # E[s] with the part that does not depend on the record left out here and in `lose`
                self._lose(full, held, pulled, within, first)
                add_products(full, np.zeros_like(shares[:, 1:]), weight)
                self.seen.add(groups, full)
        if self.crossed is not None:
            width = self.m * kinds.shape[1] + of.c - 1
            squares, center = np.zeros((len(joint), width, width)), shares[:, 1:]
            add_products(squares, np.ascontiguousarray(center), table.square[rows])
            self.crossed.add(groups, squares)
        elif self.clusters is not None:
            self._add_clusters(groups, rows, likely, joint, shares, first)
        return True

    def join(self, other: Sums) -> None:
        """Add the sums over other rows."""
        self.value += other.value
        self.gradient += other.gradient
        for mine, theirs in (
            (self.complete, other.complete),
            (self.seen, other.seen),
            (self.crossed, other.crossed),
        ):
            if mine is not None and theirs is not None:
                mine.join(theirs)
        if self.clusters is not None and other.clusters is not None:
            self.clusters += other.clusters

    def _complete(self, held: Array, shares: Array, size: Array, second: Array) -> Array:
        """Return the information of complete data, f64[g, W, W], the upper triangle at least."""
        pairs, d = self.of.kinds.products, self.of.kinds.table.shape[1]
        width = self.m * d + self.of.c - 1
        found = np.zeros((len(held), width, width))
        bend = np.einsum("gyc,gcymn->gmnc", held, second)
        for m in range(self.m):
            for n in range(m, self.m):
                one, two = slice(m * d, (m + 1) * d), slice(n * d, (n + 1) * d)
                found[:, one, two] = (bend[:, m, n] @ pairs).reshape(-1, d, d)
        if self.r:
            free = self.m * d
            part = shares[:, 1:]
            found[:, free:, free:] = -(size[:, None] * part)[:, :, None] * part[:, None, :]
            diagonal = free + np.arange(self.of.c - 1)
            found[:, diagonal, diagonal] += size[:, None] * part
        return found

    def _lose(self, found: Array, held: Array, pulled: Array, within: Array, first: Array) -> None:
        """Take the expected products of complete data's scores from f64[g, W, W]."""
        kinds, pairs = self.of.kinds.table, self.of.kinds.products
        d = kinds.shape[1]
        free = self.m * d
        squares = np.einsum("gyc,gcym,gcyn->gmnc", held, first, first, optimize=True)
        for m in range(self.m):
            one = slice(m * d, (m + 1) * d)
            for n in range(m, self.m):
                two = slice(n * d, (n + 1) * d)
                found[:, one, two] -= (squares[:, m, n] @ pairs).reshape(-1, d, d)
            found[:, one, free:] -= pulled[:, None, 1:, m] * kinds.T[:, 1:]
        diagonal = free + np.arange(self.of.c - 1)
        found[:, diagonal, diagonal] -= within[:, 1:]

    def _add_clusters(
        self, groups: slice, rows: slice, likely: Array, joint: Array, shares: Array, first: Array
    ) -> None:
        """Add the weighted scores of rows to those of their clusters."""
        of, table = self.of, self.of.rows
        u, z, v = of.design.u[groups], of.design.z[groups], of.design.v
        place = table.group[rows] - groups.start
        chance = (
            joint[place] if table.outcome is None else joint[place, table.outcome[rows]][:, None]
        )
        chance = chance * likely
        chance /= chance.sum(axis=(1, 2), keepdims=True)
        found = np.empty((len(place), len(self.gradient)))
        for m in range(self.m):
            if table.outcome is None:
                pulled = np.einsum("ryc,rcy->rc", chance, first[..., m][place])
            else:
                pulled = chance[:, 0] * first[place, :, table.outcome[rows], m]
            found[:, m * self.p : (m + 1) * self.p] = u[place] * (pulled @ v)
        if self.r:
            apart = (chance.sum(axis=1) - shares[place])[:, 1:, None] * z[place][:, None, :]
            found[:, self.free :] = apart.reshape(len(place), -1)
        assert table.cluster is not None  # noqa: S101  (__init__ looked)
        assert self.clusters is not None  # noqa: S101
        np.add.at(self.clusters, table.cluster[rows], found * table.weight[rows][:, None])

    def result(self) -> Slopes:
        """Return the sums in the family's own parameters."""
        of = self.of
        if not self.derivatives:
            return Slopes(self.value, np.zeros(of.size))
        rest, constraint = (of.c - 1) * self.r, of.constraint
        gradient = np.concatenate(
            [constraint.T @ self.gradient[: self.free], self.gradient[self.free :]]
        )

        def own(matrix: Array) -> Array:
            found = np.empty((of.size, of.size))
            size, free = of.outcome_size, self.free
            found[:size, :size] = constraint.T @ matrix[:free, :free] @ constraint
            found[:size, size:] = constraint.T @ matrix[:free, free:]
            found[size:, :size] = found[:size, size:].T
            found[size:, size:] = matrix[free:, free:]
            assert matrix.shape == (free + rest, free + rest)  # noqa: S101
            return found

        crossed = None
        if self.clusters is not None:
            crossed = own(self.clusters.T @ self.clusters)
        elif self.crossed is not None:
            crossed = own(self.crossed.matrix())
        if self.derivatives < 2:
            return Slopes(self.value, gradient, crossed=crossed)
        complete = None if self.complete is None else own(self.complete.matrix())
        observed = None
        if self.observed and self.seen is not None:
            observed = own(self.seen.matrix())
        elif self.observed:
            observed = complete
        return Slopes(self.value, gradient, complete, observed, crossed)


class _Spread:
    """Matrices of groups, spread to the parameters and summed."""

    def __init__(self, of: Likelihood) -> None:
        self.of, self.m = of, of.family.predictors
        d = of.kinds.table.shape[1]
        self.width = self.m * d + of.c - 1
        free, rest = self.m * of.p, (of.c - 1) * of.r
        self.outcome, self.between = np.zeros((free, free)), np.zeros((free, rest))
        self.mixing = np.zeros((len(of.kinds.pairs[0]), len(of.kinds.upper[0])))

    def add(self, groups: slice, sums: Array, *, apart: bool = False) -> None:
        """Add f64[g, W, W], of which the upper triangle is read.

        Nothing of the outcome's stands beside the mixing's where they are apart.
        """
        of, kinds = self.of, self.of.kinds
        u, z, d, p = of.design.u[groups], of.design.z[groups], kinds.table.shape[1], of.p
        free = self.m * d
        for m in range(self.m):
            for n in range(m, self.m):
                part = sums[:, m * d : (m + 1) * d, n * d : (n + 1) * d]
                for one in kinds.alike:
                    for two in kinds.alike:
                        low, high = np.meshgrid(one.kinds, two.kinds, indexing="ij")
                        if m == n:  # symmetric, and only the upper triangle is filled
                            low, high = np.minimum(low, high), np.maximum(low, high)
                        found = _contracted(u[:, one.u], u[:, two.u], part, low, high)
                        rows, columns = m * p + one.columns, n * p + two.columns
                        self.outcome[rows[:, :, None, None], columns] += found
            if of.r and not apart:
                rest = np.arange(free, sums.shape[2])
                for one in kinds.alike:
                    own = m * d + one.kinds[:, None]
                    found = _contracted(u[:, one.u], z, sums, own, rest[None, :])
                    # [kinds, columns of one, combinations, columns of z]
                    places = (m * p + one.columns).ravel()
                    self.between[places] += found.reshape(len(places), -1)
        if of.r:
            first, second = kinds.upper
            self.mixing += kinds.mixed(groups, sums[:, free + first, free + second])

    def join(self, other: _Spread) -> None:
        """Add the sums over other groups."""
        self.outcome += other.outcome
        self.between += other.between
        self.mixing += other.mixing

    def matrix(self) -> Array:
        """Return f64[q, q]."""
        of, p = self.of, self.of.p
        free, rest = self.between.shape
        found = np.zeros((free + rest, free + rest))
        for m in range(self.m):
            for n in range(m, self.m):
                part = self.outcome[m * p : (m + 1) * p, n * p : (n + 1) * p]
                found[m * p : (m + 1) * p, n * p : (n + 1) * p] = part
                found[n * p : (n + 1) * p, m * p : (m + 1) * p] = part.T
        found[:free, free:] = self.between
        found[free:, :free] = self.between.T
        if of.r:
            # [pairs of z, pairs of c]: two symmetric indices each, spread to four
            (s, t), (c, e) = of.kinds.pairs, of.kinds.upper
            whole = np.zeros((of.c - 1, of.r, of.c - 1, of.r))
            for one, two in ((s, t), (t, s)):
                for low, high in ((c, e), (e, c)):
                    whole[low[None, :], one[:, None], high[None, :], two[:, None]] = self.mixing
            found[free:, free:] = whole.reshape(rest, rest)
        return found
