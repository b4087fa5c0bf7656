"""Rows of a survey's records: the columns in clear, and the records of questions and blocks."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.records.joint_groups import joint_groups
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of,
    with_unasked,
)
from hushpoll_analysis.regression.combinations import combinations_of
from hushpoll_analysis.regression.outcomes import LINEAR, LOGIT, MULTINOMIAL, ORDERED
from hushpoll_analysis.regression.terms.coding import scores_of
from hushpoll_analysis.regression.terms.design import MOST_COMBINATIONS
from hushpoll_analysis.regression.terms.formulas import (
    FIELD,
    Formula,
    is_scored,
    read_formula,
    refuse_both_sides,
)
from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.nearest import remedy_for
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED


def checked_formula(
    published: Published, formula: str | Formula, *, family: str | None = None
) -> Formula:
    """Return a formula that a survey's records can answer, before any record is read."""
    read = read_formula(formula) if isinstance(formula, str) else formula
    attributes = {name: _attribute(published, name) for name in read.variables}
    outcome = read.outcome.variables[0]
    if _is_rounded(attributes[outcome]) and read.outcome.tree is None:
        raise InvalidParameter(
            f"{outcome} is a number that is randomised: records have an anchor beside the number "
            f"in its place, whose mean alone is known; write score({outcome}) for the outcome",
            field=FIELD,
        )
    for name in read.predictors:
        if _is_rounded(attributes[name]):
            raise InvalidParameter(
                f"{name} is a number that is randomised: records have an anchor beside the number "
                "in its place, which would bias slopes; ask it with categories, or take it as the "
                f"outcome, score({name})",
                field=FIELD,
            )
    refuse_both_sides(read)
    for factor in (read.outcome, *(factor for term in read.terms for factor in term)):
        if factor.reference is not None:
            _check_reference(attributes[factor.variables[0]], factor.reference)
        for name in factor.variables if factor.tree is not None else ():
            scores_of(name, attributes[name].domain, factor.text)
    _check_family(attributes[outcome], read, family)
    _check_combinations(published, outcome, read.predictors)
    _refuse_apart(published, read.variables)
    return read


def readers_formula(groups: ClearGroups, formula: str, *, family: str | None = None) -> Formula:
    """Return a formula as a reader without the right to export may ask for it.

    Its categories and references are those of the groups that are shown. Whether its attributes in
    clear may be combined is known of the records alone (:func:`answers_of`).
    """
    read = read_formula(formula)
    for name in read.variables:
        groups.require(name, field=FIELD)
    return checked_formula(groups.shown, read, family=family)


def _attribute(published: Published, name: str) -> PublishedAttribute:
    names = [one.name for one in published.attributes]
    if name in names:
        return published.attribute(name)
    raise InvalidParameter(
        f"the formula names {show(name)}, which is no attribute of {published.name}"
        f"{remedy_for(name, names)}",
        field=FIELD,
    )


def _check_family(outcome: PublishedAttribute, read: Formula, family: str | None) -> None:
    followed = NOT_ASKED in outcome.domain
    if family == LOGIT and len(outcome.domain) != 2 and read.outcome.tree is None:
        raise InvalidParameter(
            f"{outcome.name} has {len(outcome.domain)} answers, and a logit takes 2; give the "
            f"family {MULTINOMIAL if followed else 'multinomial or ordered'}",
            field="family",
        )
    if family == ORDERED and followed:
        raise InvalidParameter(
            f"{outcome.name} has the answer {show(NOT_ASKED)}, which has no place in an order; "
            f"give the family {MULTINOMIAL}",
            field="family",
        )
    numbers = all(map(is_decimal, outcome.domain))
    if family == LINEAR and read.outcome.tree is None and not numbers:
        raise InvalidParameter(
            f"{outcome.name} has answers that are no numbers, and the family linear takes numbers; "
            "give the family logit, multinomial or ordered",
            field="family",
        )


def _check_reference(attribute: PublishedAttribute, reference: str) -> None:
    if reference not in attribute.domain:
        raise InvalidParameter(
            f"C({attribute.name}) names the reference {show(reference)}, which is no category of "
            f"{attribute.name}{remedy_for(reference, attribute.domain)}",
            field=FIELD,
        )


def _refuse_apart(published: Published, names: Sequence[str]) -> None:
    """Refuse two questions that no device answers both, as one draw chooses among them."""
    for a, b in combinations(names, 2):
        if not published.share_answering([a, b]):
            draw = published.attribute(a).draw
            raise InvalidParameter(
                f"{a} and {b} are in the draw {draw}, of which no device answers both; no record "
                "tells how they go together. Leave one out, or let the draw answer more blocks",
                field=FIELD,
            )


def limits_of(attribute: PublishedAttribute) -> str | None:
    """Return what a regression cannot do with a question, in words; None: it can be either side."""
    return "as an outcome alone" if _is_rounded(attribute) else None


def _is_rounded(attribute: PublishedAttribute) -> bool:
    return attribute.oracle is not None and attribute.rounded


def _check_combinations(published: Published, outcome: str, predictors: Collection[str]) -> None:
    blocks = {question.name: block for block in published.blocks for question in block.questions}
    units: dict[str, int] = {}
    for name in predictors:
        if name in blocks:
            found, _ = combinations_of(blocks[name], {outcome, *predictors})
            units[blocks[name].name] = found.apart(outcome)[1].shape[1]
    total = math.prod(units.values())
    if total > MOST_COMBINATIONS:
        listed = ", ".join(f"{name} ({size})" for name, size in units.items())
        raise InvalidParameter(
            f"the perturbed predictors have {total:,} combinations of answers: {listed}; a "
            f"regression takes {MOST_COMBINATIONS}: leave a predictor out, or ask it with fewer "
            "categories",
            field=FIELD,
        )


def answers_of(
    records: Records,
    formula: str | Formula,
    *,
    weights: npt.NDArray[np.float64] | None = None,
    groups: ClearGroups | None = None,
) -> Answers:
    """Return what a formula reads of a survey's records.

    An attribute in clear with three or more categories that are all numbers is a column of numbers;
    any other attribute has categories. Questions of a block that the formula names come together.

    `weights` f64[n] are survey weights, positive, in the order of the records; `groups` is what the
    reader may see of attributes in clear: their groups take the place of categories, and must not
    leave few reports all together.
    """
    if groups is None:
        published = records.published
        read = checked_formula(published, formula)
    else:
        published = groups.shown
        read = readers_formula(groups, formula if isinstance(formula, str) else formula.text)
        in_clear = [name for name in read.variables if name in groups.places]
        drawn = [name for name in read.variables if published.attribute(name).draw is not None]
        if drawn and in_clear:
            raise InvalidParameter(
                f"{drawn[0]} is in a draw and {in_clear[0]} is answered in clear: how many of a "
                f"group answered it is not known to be {groups.smallest}. Readers without the "
                f"right to export ask for one without the other; {groups.remedy}",
                field=FIELD,
            )
        if len(in_clear) > 1:
            joint_groups(groups, records).require(in_clear, field=FIELD)
    clear: dict[str, Numbers | Categories] = {}
    units: dict[str, Unit] = {}
    for name in read.variables:
        attribute = published.attribute(name)
        if attribute.oracle is not None:
            own = attribute.block or name
            if own not in units:
                units[own] = _unit(records, name, read.variables)
            continue
        codes, domain = records.codes(name), attribute.domain
        if groups is not None:
            codes = groups.places[name][codes]
        if is_scored(domain):
            clear[name] = Numbers(name, np.array([float(one) for one in domain])[codes])
        else:
            clear[name] = Categories(name, codes, domain)
    if weights is not None:
        _check(weights, len(records))
    asked = [published.attribute(name) for name in read.variables]
    return Answers(
        len(records),
        clear,
        tuple(units.values()),
        weights,
        not_asked={one.name: NOT_ASKED for one in asked if NOT_ASKED in one.domain},
    )


def _unit(records: Records, name: str, names: Collection[str]) -> Unit:
    """Return what the records of a block say of its questions among `names`."""
    chosen = records.answering([name])
    field, block = next(
        (one, one.block)
        for one in chosen.published.layout.fields
        if one.block is not None and name in one.questions
    )
    found, cells = combinations_of(block, names)
    patterns, places = patterns_of(block.oracle, chosen.of_field(field), cells)
    if records.published.attribute(name).draw is not None:
        patterns, places = with_unasked(patterns, places, records.answer([name]))
    return Unit(field.name, found.questions, patterns, places, block.oracle, found.numbers, cells)


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
