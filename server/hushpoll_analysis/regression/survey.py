"""Rows of a survey's records: the columns in clear, and the records of questions and blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Question,
    Unit,
    patterns_of,
)
from hushpoll_analysis.regression.terms.formulas import Formula, read_formula
from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter


def answers_of(
    records: Records,
    formula: str | Formula,
    *,
    weights: npt.NDArray[np.float64] | None = None,
) -> Answers:
    """Return what a formula reads of a survey's records.

    An attribute in clear with three or more categories that are all numbers is a column of numbers;
    any other attribute has categories. A question that is randomised with others brings its block.

    Parameters
    ----------
    records : Records
        Of one survey.
    formula : str or Formula
        It names attributes.
    weights : f64[n], optional
        Survey weights, in the order of the records.

    Raises
    ------
    InvalidParameter
        For an attribute that the survey does not have, other weights than one for each record, or a
        weight that is not positive.
    """
    read = read_formula(formula) if isinstance(formula, str) else formula
    clear: dict[str, Numbers | Categories] = {}
    units: dict[str, Unit] = {}
    for name in read.variables:
        attribute = records.published.attribute(name, field="formula")
        if attribute.oracle is not None:
            field = next(
                field for field in records.published.layout.fields if name in field.questions
            )
            if field.name not in units:
                units[field.name] = _unit(records, field.name)
            continue
        codes, domain = records.codes(name), attribute.domain
        if len(domain) > 2 and all(is_decimal(category) for category in domain):
            clear[name] = Numbers(name, np.array([float(one) for one in domain])[codes])
        else:
            clear[name] = Categories(name, codes, domain)
    if weights is not None:
        _check(weights, len(records))
    return Answers(len(records), clear, tuple(units.values()), weights)


def _unit(records: Records, name: str) -> Unit:
    field = next(field for field in records.published.layout.fields if field.name == name)
    assert field.oracle is not None  # noqa: S101  (the attribute has one)
    block = field.block
    questions = [records.published.attribute(name)] if block is None else list(block.questions)
    patterns, places = patterns_of(field.oracle, records.of_field(field))
    return Unit(
        name,
        tuple(Question(question.name, question.domain) for question in questions),
        patterns,
        places,
    )


def _check(weights: npt.NDArray[np.float64], n: int) -> None:
    if len(weights) != n:
        raise InvalidParameter(
            f"there are {len(weights)} weights and {n} records; give one of each record, in their "
            "order",
            field="weights",
        )
    wrong = np.flatnonzero(~(weights > 0))
    if len(wrong):
        raise InvalidParameter(
            f"the weight of row {int(wrong[0]) + 1} is {weights[wrong[0]]:g}; a weight is positive",
            field="weights",
        )
