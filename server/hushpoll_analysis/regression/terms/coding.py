"""How the terms of a formula become columns: dummies against a reference, numbers, products.

Categories are coded so that no column repeats what the terms before it say, as R and patsy do: a
factor has dummies without its reference where the term without it is in the model, and all of them
elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers, Categories, Numbers
from hushpoll_analysis.regression.terms.formulas import FIELD, Factor, term_name
from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Values = Mapping[str, npt.NDArray[np.float64] | npt.NDArray[np.int64]]
"""By column: numbers, or codes of categories."""

MOST_LEVELS = 1_000
"""Categories of one factor."""


@dataclass(frozen=True)
class CodedFactor:
    """A factor with what it needs of its column."""

    factor: Factor
    perturbed: bool
    """Whether it reads perturbed questions."""
    levels: tuple[str, ...] | None = None
    """Its categories, the reference first; None for numbers."""
    order: Places | None = None
    """int64[k], which level each code is."""
    cuts: Array | None = None
    """f64[k], of C() of numbers: the numbers that are its categories."""
    scores: Mapping[str, Array] | None = None
    """Numbers of categories that a computation reads as numbers."""

    def part(self, values: Values, level: int | None) -> Array:
        """Return the numbers, or the dummy of a level, for each row of `values`."""
        if level is None:
            scores = self.scores or {}
            columns = {
                name: scores[name][values[name]]
                if name in scores
                else np.asarray(values[name], np.float64)
                for name in self.factor.variables
            }
            return self.factor.number(columns)
        codes = values[self.factor.variables[0]]
        if self.cuts is not None:
            codes = np.searchsorted(self.cuts, codes)
        assert self.order is not None  # noqa: S101  (a level is of categories)
        return np.asarray(self.order[codes.astype(np.int64)] == level, np.float64)


@dataclass(frozen=True)
class Column:
    """One column of the design: a product of parts, each of one factor."""

    name: str
    """As tables and messages name it."""
    term: str
    parts: tuple[tuple[CodedFactor, int | None], ...]
    """A factor, and the level of which it is the dummy."""

    @property
    def dummy(self) -> bool:
        """Whether it has no number."""
        return all(level is not None for _, level in self.parts)

    @property
    def perturbed(self) -> bool:
        """Whether it reads perturbed questions."""
        return any(coded.perturbed for coded, _ in self.parts)

    def values(self, values: Values, rows: int, *, perturbed: bool) -> Array:
        """Return the product of its parts in clear, or of its perturbed ones."""
        found = np.ones(rows)
        for coded, level in self.parts:
            if coded.perturbed == perturbed:
                found = found * coded.part(values, level)
        return found


def coded(factor: Factor, answers: Answers) -> CodedFactor:
    """Return a factor with its levels; refuses to compute with texts or of both kinds."""
    perturbed = {name: answers.unit_of(name) is not None for name in factor.variables}
    if factor.tree is None:
        (name,) = factor.variables
        column = answers.clear.get(name)
        if isinstance(column, Numbers) and not factor.as_categories:
            return CodedFactor(factor, False)
        cuts = None
        if isinstance(column, Numbers):
            cuts = np.unique(column.values)
            domain = tuple(f"{value:g}" for value in cuts)
        else:
            domain = column.domain if column is not None else answers.question(name).domain
        if len(domain) > MOST_LEVELS:
            raise InvalidParameter(
                f"{factor.text} has {len(domain)} categories, and a factor has at most "
                f"{MOST_LEVELS}; group them",
                field=FIELD,
            )
        order = list(domain)
        if factor.reference is not None:
            if factor.reference not in domain:
                raise InvalidParameter(
                    f"{factor.text} names the reference {show(factor.reference)}, which is no "
                    f"category of {name}: {', '.join(domain[:20])}",
                    field=FIELD,
                )
            order.remove(factor.reference)
            order.insert(0, factor.reference)
        places = np.array([order.index(level) for level in domain], np.int64)
        return CodedFactor(factor, perturbed[name], tuple(order), places, cuts)
    if len(set(perturbed.values())) > 1:
        raise InvalidParameter(
            f"{factor.text} computes with a perturbed question and a column in clear at once; "
            "write their product as a term, such as a:b",
            field=FIELD,
        )
    scores = {}
    for name in factor.variables:
        column = answers.clear.get(name)
        if not isinstance(column, Numbers):
            domain = column.domain if column is not None else answers.question(name).domain
            scores[name] = scores_of(name, domain, factor.text)
    return CodedFactor(factor, any(perturbed.values()), scores=scores)


def scores_of(name: str, domain: Sequence[str], text: str) -> Array:
    """Return the numbers that categories spell; refuses one that spells none."""
    for category in domain:
        if not is_decimal(category):
            raise InvalidParameter(
                f"{text} needs numbers, and {name} has the category {show(category)}; use the "
                "column itself, whose categories become dummies",
                field=FIELD,
            )
    return np.array([float(category) for category in domain])


def columns_of(terms: Sequence[tuple[Factor, ...]], answers: Answers) -> list[Column]:
    """Return the columns of terms, in order."""
    used: set[tuple[frozenset[str], frozenset[str]]] = set()
    columns: list[Column] = []
    for term in terms:
        factors = {factor.text: coded(factor, answers) for factor in term}
        categories = [text for text, one in factors.items() if one.levels is not None]
        numbers = frozenset(factors).difference(categories)
        new = [
            frozenset(part)
            for size in range(len(categories) + 1)
            for part in combinations(categories, size)
            if (numbers, frozenset(part)) not in used
        ]
        used.update((numbers, part) for part in new)
        for full in _joined(new):
            columns.extend(_products(term, factors, full))
    return columns


def _joined(parts: Sequence[frozenset[str]]) -> list[dict[str, bool]]:
    """Return which factors each part has, and whether with all dummies, in as few as possible."""
    found = [dict.fromkeys(sorted(part), False) for part in parts]
    merged = True
    while merged:
        merged = False
        for one, two in product(found, found):
            extra = [name for name in two if name not in one]
            same = all(two.get(name) == full for name, full in one.items())
            if len(extra) == 1 and same and not two[extra[0]]:
                two[extra[0]] = True
                found.remove(one)
                merged = True
                break
    return found


def _products(
    term: tuple[Factor, ...], factors: Mapping[str, CodedFactor], full: Mapping[str, bool]
) -> list[Column]:
    choices: list[list[tuple[str, CodedFactor, int | None]]] = []
    for text, one in factors.items():
        if one.levels is None:
            choices.append([(text, one, None)])
        elif text in full:
            mark = "" if full[text] else "T."
            choices.append(
                [
                    (f"{text}[{mark}{level}]", one, place)
                    for place, level in enumerate(one.levels)
                    if place or full[text]
                ]
            )
    return [
        Column(
            ":".join(name for name, _, _ in chosen) or "Intercept",
            term_name(term),
            tuple((one, level) for _, one, level in chosen),
        )
        for chosen in product(*choices)
    ]


def clear_values(answers: Answers, names: Sequence[str]) -> Values:
    """Return columns in clear: numbers, or codes."""
    found: dict[str, Array | Places] = {}
    for name in names:
        column = answers.clear[name]
        found[name] = column.codes if isinstance(column, Categories) else column.values
    return found
