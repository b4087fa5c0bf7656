"""The likelihood of records: a sum over what they do not show, and its derivatives.

With c the combination of perturbed predictors, y the outcome and g the values in clear, a row has

    P(row) = sum over y, c of  P(c | g) P(y | c, g) P(record | y, c),

in which the last factor is known exactly, P(y | c, g) is the outcome's model with parameters b, and
P(c | g) a multinomial logit with parameters a. Its logarithm's gradient is the expectation of the
complete data's score s given the row, and (Louis, JRSS B 1982) its information is

    E[-d2 | row] - E[s s' | row] + E[s | row] E[s | row]'.

The first two are summed over rows that are alike in clear; the last over rows that are alike in
all, a part at a time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers, Unit
from hushpoll_analysis.regression.outcomes import Family
from hushpoll_analysis.regression.sum_kernels import multiply, multiply_whole
from hushpoll_analysis.regression.sums import Kinds, Slopes, Sums
from hushpoll_analysis.regression.terms.design import Design

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")
_Summed = TypeVar("_Summed")

_MOST_THREADS = 8
CELLS = 1 << 20
"""Numbers of eight bytes that a part of the rows takes in each array."""
_WIDEST = 1 << 62
"""Places that an int64 numbers."""
_WHOLE = 1 << 16
"""Numbers of a table of patterns by outcomes and combinations that is kept."""
_RUNS = 16
"""Runs of parts, each summed by itself: so many whatever the machine, so that sums are the same."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are alike in all that the model reads, sorted by their group in clear."""

    group: Places
    """int64[R], group in clear."""
    outcome: Places | None
    """int64[R], category of the outcome, the reference 0; None if it is perturbed."""
    patterns: tuple[Places, ...]
    """int64[R], the pattern of each unit's record; the outcome's own unit is the last, if it is
    alone."""
    weight: Array
    """f64[R], sums of the rows' weights, and `square` of their squares."""
    square: Array
    cluster: Places | None
    """Which were drawn together, from 0."""


class Likelihood:
    """The log-likelihood of rows, as a function of the parameters.

    The outcome is the unit that has it, or its categories in clear, int64[n], the reference 0;
    `order` int64[Y] has its code in its domain, of each category of the family. `prior` is the
    precision of a normal prior of the mixing's parameters about 0, by the mean squared logit that
    each combination's have; 0 for none.
    """

    def __init__(
        self,
        design: Design,
        family: Family,
        answers: Answers,
        outcome: Unit | Places,
        name: str,
        order: Places,
    ) -> None:
        self.design, self.family = design, family
        self.name, self._order = name, order
        hidden = design.hidden
        self.units = hidden.units
        self.own: Unit | None = None
        clear = None
        if isinstance(outcome, Unit):
            if all(unit.name != outcome.name for unit in self.units):
                self.units = (*self.units, outcome)
            self.own = next(unit for unit in self.units if unit.name == outcome.name)
        else:
            clear = outcome
        self.c, self.y = hidden.combinations, len(family.domain)
        self.p, self.r = len(family.columns), design.z.shape[1]
        self.constraint = family.constraint
        self.outcome_size = self.constraint.shape[1]
        self.size = self.outcome_size + (self.c - 1) * self.r
        self.n = answers.n
        self.prior = 0.0
        self.rows = self._grouped(answers, clear)
        self.starts = np.searchsorted(self.rows.group, np.arange(design.groups + 1))

    @property
    def convex(self) -> bool:
        """Whether nothing is hidden, so that there is one maximum."""
        return not self.units

    @cached_property
    def kinds(self) -> Kinds:
        """What the design's columns have in common."""
        return Kinds(self.design)

    @cached_property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.rows.weight.sum())

    @cached_property
    def group_sizes(self) -> Array:
        """Weights of the rows of each group in clear, f64[G]."""
        found = np.bincount(self.rows.group, self.rows.weight, self.design.groups)
        return np.asarray(found, np.float64)

    def _grouped(self, answers: Answers, clear: Places | None) -> Rows:
        keys = [] if clear is None else [clear]
        keys += [unit.places for unit in self.units]
        if answers.clusters is not None:
            keys.append(answers.clusters)
        place, wide = self.design.group, max(self.design.groups, 1)
        for key in keys:
            size = int(key.max(initial=0)) + 1
            if wide * size > _WIDEST:
                distinct, place = np.unique(place, return_inverse=True)
                wide = len(distinct)
            place, wide = place * size + key, wide * size
        # sorted by group, since it was the first key
        _, first, place = np.unique(place, return_index=True, return_inverse=True)
        weights = np.ones(answers.n) if answers.weights is None else answers.weights
        found = len(first)
        return Rows(
            self.design.group[first],
            None if clear is None else clear[first],
            tuple(unit.places[first] for unit in self.units),
            np.asarray(np.bincount(place, weights, found), np.float64),
            np.asarray(np.bincount(place, weights**2, found), np.float64),
            None if answers.clusters is None else answers.clusters[first],
        )

    @cached_property
    def _codes(self) -> tuple[Places, ...]:
        """The answer to each unit, int64[Y or 1, C], of each outcome and combination."""
        hidden, found = self.design.hidden, []
        y = self.y if self.own is not None else 1
        axes = np.unravel_index(np.arange(self.c), hidden.sizes or (1,))
        for place, unit in enumerate(self.units):
            _, whole = unit.combinations.apart(self.name)
            if unit is self.own:
                whole = whole[self._order]
            if place < len(hidden.units):
                whole = whole[:, axes[place]]
            found.append(np.ascontiguousarray(np.broadcast_to(whole, (y, self.c))))
        return tuple(found)

    def record_likelihood(self, rows: slice) -> Array:
        """Return f64[R, Y or 1, C]: the likelihood of records; 1 where the outcome is in clear."""
        shape = (rows.stop - rows.start, self.y if self.own is not None else 1, self.c)
        likely = np.ones(shape)
        flat = likely.reshape(len(likely), -1)
        for number, (unit, places) in enumerate(zip(self.units, self.rows.patterns, strict=True)):
            known, whole = unit.patterns, self._tables[number]
            if whole is not None:
                multiply_whole(flat, whole, places[rows])
            else:
                codes = self._codes[number]
                multiply(likely, known.table, places[rows], codes, known.low, known.rise)
        return likely

    @cached_property
    def _tables(self) -> tuple[Array | None, ...]:
        """Of each unit with few patterns, their likelihoods of outcomes and combinations."""
        found: list[Array | None] = []
        for unit, codes in zip(self.units, self._codes, strict=True):
            known = unit.patterns
            whole = None
            if len(known.table) * codes.size <= _WHOLE:
                whole = np.ascontiguousarray(known.low + known.rise * known.table[:, codes.ravel()])
            found.append(whole)
        return tuple(found)

    def split(self, parameters: Array) -> tuple[Array, Array]:
        """Return the coefficients f64[M, p] of the outcome and f64[C - 1, r] of the mixing."""
        b = (self.constraint @ parameters[: self.outcome_size]).reshape(-1, self.p)
        return b, parameters[self.outcome_size :].reshape(self.c - 1, self.r)

    def shares(self, mixing: Array, z: Array) -> Array:
        """Return ln P(c | g), f64[G, C]."""
        if self.c == 1:
            return np.zeros((len(z), 1))
        eta = np.concatenate([np.zeros((len(z), 1)), z @ mixing.T], axis=1)
        eta -= eta.max(axis=1, keepdims=True)
        return np.asarray(eta - np.log(np.exp(eta).sum(axis=1, keepdims=True)))

    def linear(self, b: Array, u: Array) -> Array:
        """Return the linear predictors, f64[G, C, M]."""
        v = self.design.v
        return np.stack([(u * row) @ v.T for row in b], axis=-1)

    def _parts(self) -> Iterator[tuple[slice, slice]]:
        """Yield groups and their rows, so many that no array is large."""
        m = self.family.predictors
        width = m * self.kinds.table.shape[1] + self.c - 1
        each_group = max(self.c * self.y * max(m * m, 2), width**2 if self.units else 1)
        each_row = self.c * (self.y if self.own is not None else 1)
        groups, lo = self.design.groups, 0
        while lo < groups:
            hi = min(groups, lo + max(1, CELLS // each_group))
            most = int(self.starts[lo]) + max(1, CELLS // each_row)
            hi = max(lo + 1, min(hi, int(np.searchsorted(self.starts, most, "right")) - 1))
            yield slice(lo, hi), slice(int(self.starts[lo]), int(self.starts[hi]))
            lo = hi

    def value(self, parameters: Array) -> float:
        """Return the log-likelihood."""
        return self.at(parameters, derivatives=0).value

    def at(
        self,
        parameters: Array,
        *,
        derivatives: int = 2,
        complete: bool = True,
        observed: bool = True,
        crossed: bool = False,
    ) -> Slopes:
        """Return the log-likelihood with its gradient and information.

        Parameters f64[q] are the outcome's, then the mixing's. `derivatives` is 0 for the value
        alone, 1 for the gradient, too, and 2 for the information, of complete data and observed as
        asked; `crossed` sums the products of the scores, which a sandwich needs.
        """
        b, mixing = self.split(parameters)
        total = Sums(self, derivatives, complete=complete, observed=observed, crossed=crossed)

        def run(parts: Sequence[tuple[slice, slice]]) -> Sums | None:
            sums = Sums(self, derivatives, complete=complete, observed=observed, crossed=crossed)
            for groups, rows in parts:
                u, z = self.design.u[groups], self.design.z[groups]
                log_shares = self.shares(mixing, z)
                log_y, first, second = self.family.evaluate(self.linear(b, u))
                joint = np.exp(np.moveaxis(log_y, 2, 1) + log_shares[:, None, :])
                if not sums.add(groups, rows, joint, np.exp(log_shares), first, second):
                    return None
            return sums

        parts = list(self._parts())
        step = -(-len(parts) // _RUNS)
        runs = [parts[place : place + step] for place in range(0, len(parts), max(step, 1))]
        for sums in _mapped(run, iter(runs)):
            if sums is None:
                return Slopes(-np.inf, np.zeros(self.size))
            total.join(sums)
        return self._held(parameters, total.result())

    def crossed(self, parameters: Array) -> Array:
        """Return f64[q, q]: the products of the weighted scores, summed over rows or clusters."""
        return required_sums(self.at(parameters, derivatives=1, crossed=True).crossed)

    def observed_and_crossed(self, parameters: Array) -> tuple[Array, Array]:
        """Return f64[q, q] each: the observed information, and what :meth:`crossed` returns."""
        found = self.at(parameters, complete=False, crossed=True)
        return required_sums(found.observed), required_sums(found.crossed)

    def expected(self, even: Sequence[Array] | None = None) -> tuple[Array, Array]:
        """Return the expected information of the rows, and of complete data, f64[q, q] each.

        Nothing depends on anything, and all answers are alike. What a record tells of two answers
        (:meth:`Patterns.even_products`) then stands between their scores, and it is the same for
        all rows of one law: a matrix over outcomes and combinations, spread to each group in clear.

        `even` f64[k, k] of each unit takes the place of what its records tell of two answers.
        """
        origin = np.zeros(self.size)
        origin[: self.outcome_size] = self.family.start(np.full(self.y, 1 / self.y))
        b, _ = self.split(origin)
        _, first, _ = self.family.evaluate(self.linear(b, self.design.u[:1]))
        kinds, m = self.kinds.table, self.family.predictors
        width = m * kinds.shape[1] + self.c - 1
        score = np.zeros((self.y, self.c, width))
        pulled = np.moveaxis(first[0], 0, 1)  # [Y, C, M]
        score[:, :, : m * kinds.shape[1]] = (
            pulled[:, :, :, None] * kinds[None, :, None, :]
        ).reshape(self.y, self.c, -1)
        score[:, np.arange(1, self.c), m * kinds.shape[1] + np.arange(self.c - 1)] = 1.0
        score[:, :, m * kinds.shape[1] :] -= 1 / self.c
        flat = score.reshape(-1, width)
        whole = Sums(self, 2, complete=True, observed=False, crossed=False)
        seen = Sums(self, 2, complete=True, observed=False, crossed=False)
        for rows in self._asked_alike():
            told, weight = self._told(rows, even), self.rows.weight[rows]
            sizes = np.bincount(self.rows.group[rows], weight, self.design.groups)
            for groups, _ in self._parts():
                for sums, matrix in ((seen, flat.T @ told @ flat), (whole, flat.T @ flat)):
                    spread = sizes[groups, None, None] * matrix
                    required_sums(sums.complete).add(groups, spread / len(flat))
        return required_sums(seen.result().complete), required_sums(whole.result().complete)

    def _told(self, rows: Places, even: Sequence[Array] | None) -> Array:
        """Return f64[Y C, Y C]: Y C times the mean product of two chances given a record."""
        size, weight = self.y * self.c, self.rows.weight[rows]
        told = np.full((size, size), 1 / size)
        for place, unit in enumerate(self.units):
            code = np.broadcast_to(self._codes[place], (self.y, self.c)).ravel()
            patterns = self.rows.patterns[place][rows]
            products = unit.patterns.even_products(patterns, weight)
            if even is not None and not unit.patterns.says_nothing(patterns):
                products = even[place]
            told *= unit.k**2 * products[np.ix_(code, code)]
        if self.own is None:
            outcome = np.repeat(np.arange(self.y), self.c)
            told *= self.y * (outcome[:, None] == outcome)
        return told

    def _asked_alike(self) -> Iterator[Places]:
        """Yield the rows of which the same units were asked, and by the same laws."""
        place = np.zeros(len(self.rows.group), np.int64)
        for unit, pattern in zip(self.units, self.rows.patterns, strict=True):
            known = unit.patterns
            if known.unasked is not None:
                place = 2 * place + (pattern == known.unasked)
            if known.law is not None:
                place = (int(known.law.max()) + 1) * place + known.law[pattern]
        for one in np.unique(place):
            yield np.flatnonzero(place == one)

    def _held(self, parameters: Array, found: Slopes) -> Slopes:
        """Return slopes with those of the prior of the perturbed predictors' model."""
        if not self.prior or not self.r:
            return found
        size, mixing = self.outcome_size, self.split(parameters)[1]
        pull = self.prior * mixing @ self._spread_in_clear
        gradient = found.gradient.copy()
        value = found.value - float((pull * mixing).sum()) / 2
        if len(gradient):
            gradient[size:] -= pull.ravel()

        def more(matrix: Array | None) -> Array | None:
            if matrix is None:
                return None
            matrix = matrix.copy()
            for start in range(size, self.size, self.r):
                part = slice(start, start + self.r)
                matrix[part, part] += self.prior * self._spread_in_clear
            return matrix

        return replace(
            found,
            value=value,
            gradient=gradient,
            complete=more(found.complete),
            observed=more(found.observed),
        )

    @cached_property
    def _spread_in_clear(self) -> Array:
        """Mean products of the columns in clear, f64[r, r]."""
        z = self.design.z
        sizes = self.group_sizes
        return np.asarray((z * sizes[:, None]).T @ z / sizes.sum(), np.float64)


def required_sums(summed: _Summed | None) -> _Summed:
    """Return what sums were asked for, so that they have it."""
    if summed is None:
        raise ValueError("these sums were not asked for it; name it where they are made")
    return summed


def _mapped(work: Callable[[_Part], _Found], parts: Iterator[_Part]) -> Iterator[_Found]:
    """Yield the work on each part, in their order, on as many threads as there are processors."""
    first, second = next(parts, None), next(parts, None)
    threads = min(len(os.sched_getaffinity(0)), _MOST_THREADS)
    if first is None:
        return
    if second is None or threads == 1:
        yield work(first)
        for one in chain([] if second is None else [second], parts):
            yield work(one)
        return
    # a pool per call: one kept between calls would have lost its threads in a forked child
    with ThreadPoolExecutor(threads, thread_name_prefix="hushpoll-regression") as pool:
        flying = deque((pool.submit(work, first), pool.submit(work, second)))
        for one in parts:
            flying.append(pool.submit(work, one))
            if len(flying) > threads:
                yield flying.popleft().result()
        while flying:
            yield flying.popleft().result()


def spread(
    units: Sequence[Unit], parts: Sequence[Array], own: str | None, outcome: str, order: Places
) -> Array:
    """Return f64[R, Y or 1, C]: the product of numbers f64[R, k] of each unit.

    Units are in the order of the combinations' axes; `own` is the one that has the outcome, whose
    codes int64[Y] are in the order wanted.
    """
    whole: Any = np.ones((1, 1, 1))
    for unit, part in zip(units, parts, strict=True):
        n = len(part)
        shaped = part[:, None, :]
        if unit.name == own:
            _, places = unit.combinations.apart(outcome)
            shaped = part[:, places[order]]
        whole = (whole[:, :, :, None] * shaped[:, :, None, :]).reshape(
            n, max(whole.shape[1], shaped.shape[1]), -1
        )
    return np.asarray(whole)
