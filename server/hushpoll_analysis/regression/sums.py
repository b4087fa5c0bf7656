"""The sums over rows that make a log-likelihood, its gradient and its information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from hushpoll_analysis.regression.likelihood import Likelihood

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_WIDE = 200
"""Parameters from which products of scores are summed in single precision, at half the time."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """The log-likelihood with its derivatives.

    Attributes
    ----------
    value : float
        Log-likelihood.
    gradient : f64[q]
        By all parameters, the outcome's first.
    complete : f64[q, q] or None
        Information of the data with nothing hidden.
    observed : f64[q, q] or None
        Information of the rows.
    crossed : f64[q, q] or None
        Sum over rows, or clusters of rows, of the products of their weighted scores.
    """

    value: float
    gradient: Array
    complete: Array | None = None
    observed: Array | None = None
    crossed: Array | None = None


class Sums:
    """The sums over parts of the rows.

    Parameters
    ----------
    of : Likelihood
        Whose rows they are.
    derivatives : int
        0, 1 or 2.
    observed, crossed : bool
        Whether the observed information, and the products of scores, are summed.
    """

    def __init__(self, of: Likelihood, derivatives: int, observed: bool, crossed: bool) -> None:
        self.of, self.derivatives = of, derivatives
        self.observed, self.crossing = observed and derivatives > 1, crossed
        self.m, self.p, self.r = of.family.predictors, of.p, of.r
        self.free = self.m * self.p
        q = self.free + (of.c - 1) * self.r
        self.value, self.gradient = 0.0, np.zeros(q)
        second = q if derivatives > 1 else 0
        self.complete, self.lost = np.zeros((second, second)), np.zeros((second, second))
        self.means = np.zeros((second, second))
        self.crossed = np.zeros((q, q) if crossed else (0, 0))
        cluster = of.rows.cluster
        self.clusters = None
        if crossed and cluster is not None:
            self.clusters = np.zeros((int(cluster.max(initial=-1)) + 1, q))

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
        outcome = None if table.outcome is None else table.outcome[rows]
        likely = of.record_likelihood(rows)
        chance = joint[place] * likely if outcome is None else joint[place, outcome] * likely[:, 0]
        sums = chance.reshape(len(place), -1).sum(axis=1)
        if not (sums > 0).all():
            return False
        weight = table.weight[rows]
        self.value += float(weight @ np.log(sums))
        if not self.derivatives:
            return True
        chance /= sums.reshape(-1, *[1] * (chance.ndim - 1))
        weighted = chance * weight.reshape(-1, *[1] * (chance.ndim - 1))
        begins = of.starts[groups] - rows.start
        size = np.add.reduceat(weight, begins)
        if outcome is None:
            held = np.add.reduceat(weighted, begins, axis=0)
        else:
            keys, begins = np.unique(place * of.y + outcome, return_index=True)
            held = np.zeros((len(joint) * of.y, of.c))
            held[keys] = np.add.reduceat(weighted, begins, axis=0)
            held = held.reshape(joint.shape)
        self._gradient(groups, held, shares, size, first)
        if self.derivatives > 1:
            self._information(groups, held, shares, size, first, second)
        if self.crossing or self.observed:
            self._rows(groups, rows, place, outcome, chance, shares, first)
        return True

    def join(self, other: Sums) -> None:
        """Add the sums over other rows."""
        self.value += other.value
        self.gradient += other.gradient
        if self.derivatives > 1:
            self.complete += other.complete
            self.lost += other.lost
            self.means += other.means
        if self.clusters is not None and other.clusters is not None:
            self.clusters += other.clusters
        elif self.crossing:
            self.crossed += other.crossed

    def _gradient(
        self, groups: slice, held: Array, shares: Array, size: Array, first: Array
    ) -> None:
        u, z, v = self.of.design.u[groups], self.of.design.z[groups], self.of.design.v
        for m in range(self.m):
            pulled = np.einsum("gyc,gcy->gc", held, first[..., m])
            self.gradient[m * self.p : (m + 1) * self.p] += (u * (pulled @ v)).sum(axis=0)
        if self.r:
            apart = held.sum(axis=1) - size[:, None] * shares
            self.gradient[self.free :] += (apart[:, 1:].T @ z).ravel()

    def _information(
        self,
        groups: slice,
        held: Array,
        shares: Array,
        size: Array,
        first: Array,
        second: Array,
    ) -> None:
        u, z, v = self.of.design.u[groups], self.of.design.z[groups], self.of.design.v
        p, r, free = self.p, self.r, self.free
        within = held.sum(axis=1)
        for c in range(self.of.c):
            x = u * v[c]
            for m in range(self.m):
                for other in range(m, self.m):
                    bend = (held[:, :, c] * second[:, c, :, m, other]).sum(axis=1)
                    score = first[:, c, :, m] * first[:, c, :, other]
                    one, two = slice(m * p, m * p + p), slice(other * p, other * p + p)
                    full = x.T @ (x * bend[:, None])
                    self.complete[one, two] += full
                    lost = (held[:, :, c] * score).sum(axis=1)
                    gone = x.T @ (x * lost[:, None])
                    self.lost[one, two] += gone
                    if other > m:
                        self.complete[two, one] += full.T
                        self.lost[two, one] += gone.T
                if c and r and self.observed:
                    pulled = (held[:, :, c] * first[:, c, :, m]).sum(axis=1)
                    mixed = x.T @ (z * pulled[:, None])
                    one, two = slice(m * p, m * p + p), slice(free + (c - 1) * r, free + c * r)
                    self.lost[one, two] += mixed
                    self.lost[two, one] += mixed.T
            if c and r:
                two = slice(free + (c - 1) * r, free + c * r)
                self.complete[two, two] += z.T @ (z * (size * shares[:, c])[:, None])
                self.lost[two, two] += z.T @ (z * within[:, c][:, None])
        if r:
            kind: Any = np.float32 if len(self.gradient) >= _WIDE else np.float64
            root: Any = (np.sqrt(size)[:, None] * shares[:, 1:]).astype(kind)
            wide: Any = root[:, :, None] * z.astype(kind)[:, None, :]
            wide = wide.reshape(len(z), -1)
            self.complete[free:, free:] -= wide.T @ wide

    def _rows(
        self,
        groups: slice,
        rows: slice,
        place: Places,
        outcome: Places | None,
        chance: Array,
        shares: Array,
        first: Array,
    ) -> None:
        of = self.of
        u, z, v = of.design.u[groups], of.design.z[groups], of.design.v
        width = self.free + (of.c - 1) * self.r
        found = np.empty((len(place), width), np.float32 if width >= _WIDE else np.float64)
        for m in range(self.m):
            if outcome is None:
                pulled = np.einsum("ryc,rcy->rc", chance, first[..., m][place])
            else:
                pulled = chance * first[place, :, outcome, m]
            found[:, m * self.p : (m + 1) * self.p] = u[place] * (pulled @ v)
        if self.r:
            within = chance.sum(axis=1) if outcome is None else chance
            # E[s] with the part that does not depend on the record left out, see `result`
            wide = within[:, 1:, None] * z[place][:, None, :]
            found[:, self.free :] = wide.reshape(len(place), -1)
        if self.observed:
            scaled = found * np.sqrt(of.rows.weight[rows])[:, None].astype(found.dtype)
            self.means += scaled.T @ scaled
        if not self.crossing:
            return
        if self.r:
            apart = shares[:, 1:, None] * z[:, None, :]
            found[:, self.free :] -= apart.reshape(len(apart), -1)[place]
        if self.clusters is None:
            self.crossed += found.T @ (found * of.rows.square[rows][:, None])
        else:
            assert of.rows.cluster is not None  # noqa: S101  (__init__ looked)
            np.add.at(self.clusters, of.rows.cluster[rows], found * of.rows.weight[rows][:, None])

    def result(self) -> Slopes:
        """Return the sums in the family's own parameters."""
        of = self.of
        if not self.derivatives:
            return Slopes(self.value, np.zeros(of.size))
        rest = (of.c - 1) * self.r
        jacobian = np.zeros((self.free + rest, of.size))
        jacobian[: self.free, : of.outcome_size] = of.constraint
        jacobian[self.free :, of.outcome_size :] = np.eye(rest)
        gradient = jacobian.T @ self.gradient
        crossed = None
        if self.crossing:
            whole = self.crossed if self.clusters is None else self.clusters.T @ self.clusters
            crossed = np.asarray(jacobian.T @ whole @ jacobian)
        if self.derivatives < 2:
            return Slopes(self.value, gradient, crossed=crossed)
        complete = jacobian.T @ self.complete @ jacobian
        if not self.observed:
            return Slopes(self.value, gradient, complete, crossed=crossed)
        observed = jacobian.T @ (self.complete - self.lost + self.means) @ jacobian
        return Slopes(self.value, gradient, complete, observed, crossed)
