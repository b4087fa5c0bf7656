"""The design of a model: each column is a number of the row in clear, times one of a combination.

The perturbed predictors of a row have one of C combinations of answers. A column of the design is
x_j(g, c) = u_j(g) v_j(c): g the values in clear that rows share, c the combination. So nothing of
the size rows times combinations times columns is ever held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers, Unit
from hushpoll_analysis.regression.terms.coding import Column, Values, clear_values, columns_of
from hushpoll_analysis.regression.terms.formulas import FIELD, Factor, Formula, refuse_both_sides
from hushpoll_protocols.errors import InvalidParameter

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

MOST_COMBINATIONS = 256
"""Combinations of answers to the perturbed predictors."""
MOST_SATURATED = 256
"""Combinations of the columns in clear, of which each has a distribution of its own."""
LARGEST = 1e30
"""Value of a column, beyond which sums of products of products have no digits."""
_DEPENDENT = 1e-10
"""Share of a column's sum of squares that the columns before it must leave."""


@dataclass(frozen=True, eq=False)
class Hidden:
    """The combinations of answers that no record shows."""

    units: tuple[Unit, ...]
    """An axis each, in this order; the outcome's own unit, if it has others in its block, is
    one."""
    sizes: tuple[int, ...]
    """Combinations of answers to each unit's questions that are no outcome."""
    codes: Values
    """int64[C], the answer to each question in each combination."""
    names: tuple[str, ...]

    @property
    def combinations(self) -> int:
        """C."""
        return math.prod(self.sizes)


def hidden_of(formula: Formula, answers: Answers) -> Hidden:
    """Return the combinations of a formula's perturbed predictors, at most `MOST_COMBINATIONS`."""
    outcome = formula.outcome.variables[0]
    named = [answers.unit_of(name) for name in formula.predictors]
    own = answers.unit_of(outcome)
    if own is not None and len(own.questions) > 1:
        named.append(own)
    units = list({unit.name: unit for unit in named if unit is not None}.values())
    refuse_both_sides(formula)
    rests = [unit.combinations.apart(outcome) for unit in units]
    sizes = [places.shape[1] for _, places in rests]
    total = math.prod(sizes)
    if total > MOST_COMBINATIONS:
        listed = ", ".join(f"{unit.name} ({size})" for unit, size in zip(units, sizes, strict=True))
        raise InvalidParameter(
            f"the perturbed predictors have {total} combinations of answers: {listed}; a "
            f"regression takes {MOST_COMBINATIONS}: leave a predictor out, or ask it with fewer "
            "categories",
            field=FIELD,
        )
    codes: dict[str, Places] = {}
    names = [""] * total
    places = np.unravel_index(np.arange(total), sizes) if sizes else ()
    for unit, (rest, _), place in zip(units, rests, places, strict=True):
        for question in unit.questions:
            if question.name == outcome:
                continue
            code = rest[question.name][place]
            codes[question.name] = code
            for combination in range(total):
                text = f"{question.name}={question.domain[code[combination]]}"
                names[combination] += ("," if names[combination] else "") + text
    return Hidden(tuple(units), tuple(sizes), codes, tuple(names))


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of outcome and predictor model over groups of rows that are alike in clear."""

    columns: tuple[Column, ...]
    """The columns of the outcome's model."""
    mixing: tuple[Column, ...]
    """The columns of the model of the perturbed predictors given those in clear."""
    hidden: Hidden
    clear: Values
    """Columns in clear, a value for each of G groups."""
    group: Places
    """int64[n], the group of each row."""
    groups: int
    """G."""
    u: Array
    """f64[G, p], with `v` f64[C, p] the factors of the outcome's columns."""
    v: Array
    z: Array
    """f64[G, r], the columns of the other model; r = 0 where nothing is hidden."""
    mixing_names: tuple[str, ...]
    """The names of the columns of z."""

    def taken(self, rows: Places) -> Design:
        """Return the design of some of the rows."""
        kept, group = np.unique(self.group[rows], return_inverse=True)
        return replace(
            self,
            clear={name: values[kept] for name, values in self.clear.items()},
            hidden=replace(
                self.hidden, units=tuple(unit.taken(rows) for unit in self.hidden.units)
            ),
            group=group.astype(np.int64),
            groups=len(kept),
            u=self.u[kept],
            z=self.z[kept],
        )

    def clear_part(self, values: Values) -> Array:
        """Return u for other values in clear."""
        rows = len(next(iter(values.values()))) if values else self.groups
        parts = [one.values(values, rows, perturbed=False) for one in self.columns]
        return np.stack(parts, axis=1)

    def hidden_part(self, values: Values) -> Array:
        """Return v for other answers."""
        c = self.hidden.combinations
        return np.stack([one.values(values, c, perturbed=True) for one in self.columns], axis=1)


def design_of(formula: Formula, answers: Answers, *, saturated: bool = False) -> Design:
    """Return the design of a formula.

    If `saturated`, each combination of values in clear has its own distribution of the perturbed
    predictors, in place of a multinomial logit on the terms in clear. It refuses columns that
    depend on each other, naming the term.
    """
    hidden = hidden_of(formula, answers)
    columns = tuple(columns_of(formula.terms, answers))
    if not columns:
        raise InvalidParameter(
            "the formula has no term; write 1 for an intercept alone", field=FIELD
        )
    mixing = tuple(columns_of(_clear_terms(formula, answers), answers))
    names = [name for name in formula.predictors if answers.unit_of(name) is None]
    group, first = _groups(clear_values(answers, names), answers.n)
    clear = {name: values[first] for name, values in clear_values(answers, names).items()}
    g, c = len(first), hidden.combinations
    u = np.stack([one.values(clear, g, perturbed=False) for one in columns], axis=1)
    v = np.stack([one.values(hidden.codes, c, perturbed=True) for one in columns], axis=1)
    for place, column in enumerate(columns):
        if np.abs(u[:, place]).max(initial=0) > LARGEST:
            raise InvalidParameter(
                f"the column {column.name} of the term {column.term} has values above "
                f"{LARGEST:g}; divide them, such as I({column.name}/1e6), or correct them",
                field=FIELD,
            )
    mixing_names: tuple[str, ...] = ()
    if c == 1:
        z = np.zeros((g, 0))
    elif saturated:
        if g > MOST_SATURATED:
            raise InvalidParameter(
                f"the columns in clear have {g} combinations, and a saturated model of the "
                f"perturbed predictors takes {MOST_SATURATED}; leave saturated out, or group the "
                "values",
                field="saturated",
            )
        z = np.eye(g)
        mixing_names = tuple(
            ",".join(f"{name}={values[place]:g}" for name, values in clear.items()) or "Intercept"
            for place in range(g)
        )
    else:
        z = np.stack([one.values(clear, g, perturbed=False) for one in mixing], axis=1)
        mixing_names = tuple(one.name for one in mixing)
    sizes = np.bincount(group, minlength=g).astype(np.float64)
    refuse_dependent(gram(u, v, sizes), columns)
    return Design(columns, mixing, hidden, clear, group, g, u, v, z, mixing_names)


def gram(u: Array, v: Array, sizes: Array) -> Array:
    """Return X'X, f64[p, p], over groups of a size and all combinations alike."""
    total = np.zeros((u.shape[1], u.shape[1]))
    for row in v:
        x = u * row
        total += x.T @ (x * sizes[:, None])
    return total / len(v)


def first_dependent(matrix: Array, least: float = _DEPENDENT) -> int | None:
    """Return the first row of a symmetric matrix that those before it determine; None without."""
    size = np.sqrt(np.diag(matrix))
    if not (size > 0).all():
        return int(np.argmin(size > 0))
    scaled = matrix / np.outer(size, size)
    lower = np.zeros_like(scaled)
    for place in range(len(scaled)):
        row = scaled[place, :place].copy()
        for before in range(place):
            row[before] -= lower[place, :before] @ lower[before, :before]
            row[before] /= lower[before, before]
            lower[place, before] = row[before]
        left = scaled[place, place] - row @ row
        if left < least:
            return place
        lower[place, place] = math.sqrt(left)
    return None


def refuse_dependent(matrix: Array, columns: Sequence[Column]) -> None:
    """Refuse a design in which a column follows from those before it, naming its term."""
    place = first_dependent(matrix)
    if place is not None:
        raise InvalidParameter(
            f"the column {columns[place].name} of the term {columns[place].term} follows from the "
            "columns before it in all rows (it is collinear, or no row has it); leave the term "
            "out, or merge categories",
            field=FIELD,
        )


def _clear_terms(formula: Formula, answers: Answers) -> list[tuple[Factor, ...]]:
    """Return the intercept, and of each term the factors in clear, each once."""
    found: dict[frozenset[str], tuple[Factor, ...]] = {frozenset(): ()}
    for term in formula.terms:
        clear = tuple(
            factor
            for factor in term
            if all(answers.unit_of(name) is None for name in factor.variables)
        )
        found.setdefault(frozenset(factor.text for factor in clear), clear)
    return list(found.values())


def _groups(values: Values, n: int) -> tuple[Places, Places]:
    """Return the group of each row, and the first row of each group."""
    group = np.zeros(n, np.int64)
    first = np.zeros(min(n, 1), np.int64)
    for column in values.values():
        distinct, codes = np.unique(column, return_inverse=True)
        joined = group * len(distinct) + codes
        _, first, group = np.unique(joined, return_index=True, return_inverse=True)
    return group.astype(np.int64), first.astype(np.int64)
