"""The model of a regression: its family, outcome, design and likelihood, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.answers import Answers, Categories, Numbers, Unit
from hushpoll_analysis.regression.fitting import Maximum
from hushpoll_analysis.regression.inference import Covariance
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.outcomes import (
    FAMILIES,
    LINEAR,
    LOGIT,
    MULTINOMIAL,
    ORDERED,
    family_of,
)
from hushpoll_analysis.regression.outcomes import Coefficient as Parameter
from hushpoll_analysis.regression.terms.coding import coded
from hushpoll_analysis.regression.terms.design import LARGEST, Design, design_of
from hushpoll_analysis.regression.terms.formulas import FIELD, Formula
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

_MOST_CATEGORIES: Final = 100
"""Categories of an outcome."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model and what it was made of."""

    formula: Formula
    answers: Answers
    family: str
    design: Design
    likelihood: Likelihood
    start: Array
    outcome: Unit | Places
    order: Places

    @classmethod
    def of(
        cls, formula: Formula, answers: Answers, family: str, *, saturated: bool = False
    ) -> Model:
        """Return the model of a family; refuses an outcome that it cannot have."""
        name = formula.outcome.variables[0]
        levels, place = domain_of(formula, answers)
        if family == ORDERED and formula.outcome.reference is not None:
            raise InvalidParameter(
                f"{formula.outcome.text} names a reference, and an ordered outcome has none; "
                "leave it out",
                field=FIELD,
            )
        design = design_of(formula, answers, saturated=saturated)
        shares = np.full(len(levels), 1 / len(levels))
        unit = answers.unit_of(name)
        outcome: Unit | Places
        if unit is None:
            column = answers.clear[name]
            codes = (
                column.codes
                if isinstance(column, Categories)
                else np.searchsorted(np.unique(column.values), column.values)
            )
            outcome = place[codes]
            counts = np.bincount(outcome, answers.weights, len(levels))
            if not (counts > 0).all():
                raise InvalidParameter(
                    f"no row has the outcome {name} = {levels[int(np.argmin(counts))]}; leave the "
                    "category out, or merge it with another",
                    field=FIELD,
                )
            shares = counts / counts.sum()
        else:
            outcome = unit
        model = family_of(family, levels, design.columns)
        order = np.argsort(place)
        likelihood = Likelihood(design, model, answers, outcome, name, order)
        start = np.zeros(likelihood.size)
        start[: likelihood.outcome_size] = model.start(shares)
        return cls(formula, answers, family, design, likelihood, start, outcome, order)

    def taken(self, rows: Places) -> Likelihood:
        """Return the likelihood of some of the rows."""
        outcome = self.outcome
        return Likelihood(
            self.design.taken(rows),
            self.likelihood.family,
            self.answers.taken(rows),
            outcome.taken(rows) if isinstance(outcome, Unit) else outcome[rows],
            self.likelihood.name,
            self.order,
        )


def family_for(family: str | None, formula: Formula, answers: Answers) -> str:
    """Return the family of a formula, that asked for or the one of the outcome; refuses others."""
    factor = formula.outcome
    if family is not None and family not in FAMILIES:
        raise InvalidParameter(
            f"family is {show(family)}; give one of {', '.join(FAMILIES)}", field="family"
        )
    if factor.tree is not None:
        if family not in (None, LINEAR):
            raise InvalidParameter(
                f"the outcome {factor.text} is a computed number, which has the family linear; "
                "name a column, or C(column)",
                field="family",
            )
        return LINEAR
    column = answers.clear.get(factor.variables[0])
    numbers = isinstance(column, Numbers) and not factor.as_categories
    if isinstance(column, Numbers) and np.abs(column.values).max(initial=0) > LARGEST:
        raise InvalidParameter(
            f"the outcome {factor.text} has values above {LARGEST:g}; divide or correct them",
            field=FIELD,
        )
    if isinstance(column, Numbers) and column.values.size and not np.ptp(column.values):
        raise InvalidParameter(
            f"the outcome {factor.text} is {column.values[0]:g} in all rows, and nothing depends "
            "on anything then; give rows that differ in it, or another outcome",
            field=FIELD,
        )
    if numbers and family is None:
        assert isinstance(column, Numbers)  # noqa: S101  (numbers says so)
        return LOGIT if len(np.unique(column.values)) == 2 else LINEAR
    if family == LINEAR:
        return LINEAR
    number = len(domain_of(formula, answers)[0])
    if family == LOGIT and number != 2:
        raise InvalidParameter(
            f"the outcome {factor.text} has {number} categories, and a logit takes 2; give the "
            "family multinomial or ordered",
            field="family",
        )
    return family or (LOGIT if number == 2 else MULTINOMIAL)


def domain_of(formula: Formula, answers: Answers) -> tuple[tuple[str, ...], Places]:
    """Return the outcome's categories, the reference first, and the place of each code."""
    factor = formula.outcome
    column = answers.clear.get(factor.variables[0])
    if isinstance(column, Numbers) and not factor.as_categories:
        levels = tuple(f"{value:g}" for value in np.unique(column.values))
        found = levels, np.arange(len(levels))
    else:
        one = coded(factor, answers)
        assert one.levels is not None  # noqa: S101  (a column of categories has them)
        assert one.order is not None  # noqa: S101
        found = one.levels, one.order
    if not 2 <= len(found[0]) <= _MOST_CATEGORIES:
        raise InvalidParameter(
            f"the outcome {factor.text} has {len(found[0])} categories, and a model takes 2 to "
            f"{_MOST_CATEGORIES}; group them, or give the family linear",
            field=FIELD,
        )
    return found


def refuse_flat(model: Model, maximum: Maximum, known: Covariance) -> None:
    """Refuse a model of which the records cannot tell a coefficient, naming its term."""
    likelihood, size = model.likelihood, model.likelihood.outcome_size
    flat = np.flatnonzero(known.flat[:size])
    if not len(flat):
        return
    family = likelihood.family
    found = [family.coefficients[int(place)] for place in flat]
    # an intercept is named where no slope is flat
    found.sort(key=lambda one: one.column is None or not family.columns[one.column].parts)
    apart = found[0] if likelihood.convex else _separating(model, found)
    one = found[0] if apart is None else apart
    column = None if one.column is None else family.columns[one.column]
    term = column.term if column is not None else "threshold"
    name = model.formula.outcome.variables[0]
    if maximum.infinite and apart is not None:
        raise InvalidParameter(
            f"the term {term} separates the outcome {name}: without end, the larger the "
            f"coefficient of {one.name}, the likelier the rows; leave the term out, or merge "
            "categories",
            field=FIELD,
        )
    if not maximum.infinite:
        raise InvalidParameter(
            f"the records cannot tell the coefficient of {one.name}, of the term {term}: they are "
            "as likely with any value of it; leave the term out, or merge categories",
            field=FIELD,
        )


def _separating(model: Model, flat: Sequence[Parameter]) -> Parameter | None:
    """Return a flat coefficient of a column in clear, of an outcome in clear; None if none is.

    Where others are perturbed, their noise may be why the likelihood has no maximum.
    """
    clear, columns = model.answers.clear, model.likelihood.family.columns
    if model.formula.outcome.variables[0] not in clear:
        return None
    for one in flat:
        parts = () if one.column is None else columns[one.column].parts
        if parts and all(name in clear for part, _ in parts for name in part.factor.variables):
            return one
    return None
