"""How the options of a select-all are selected in a synthetic population.

``population`` describes the question by the share of people to whom each option applies:

``selected: {Cannabis: 0.3, Cocaine: 0.05}``
    An option that is not named applies to nobody. With ``given: smokes`` there is such a mapping
    for each category of an earlier question.

Options apply independently, and people are those whose options are within the limits of the
question: where there are limits, shares are those before the others were left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from hushpoll_fleet.population.distributions import Conditional, finite
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.selects import SelectAll

MOST_DEPENDENT: Final = 16
"""Options of a question with limits, at most: each depends on those before it."""


def read_selections(
    question: SelectAll, model: object, earlier: Mapping[str, Attribute]
) -> list[Conditional]:
    """Return the distribution of each option, given those before it.

    Parameters
    ----------
    model : object
        The JSON or YAML value of its entry.
    earlier : mapping of str to Attribute
        Attributes before it.

    Raises
    ------
    InvalidParameter
        Naming the entry: another form, an unknown option or parent, a share outside [0, 1], or
        limits that nobody could keep.
    """
    where = f"population[{question.name}]"
    if not isinstance(model, Mapping) or not {"selected"} <= model.keys() <= {"selected", "given"}:
        raise InvalidParameter(
            f"{where} is {show(model)}; a select-all has selected, a mapping of options to shares "
            "in [0, 1], and may have given, the name of an earlier attribute",
            field=where,
        )
    parent = None
    if model.get("given") is not None:
        parent = earlier.get(model["given"]) if isinstance(model["given"], str) else None
        if parent is None:
            raise InvalidParameter(
                f"{where}.given is {show(model['given'])}; it is one of the attributes before it: "
                f"{', '.join(earlier) or 'there are none'}",
                field=f"{where}.given",
            )
    path, selected = f"{where}.selected", model["selected"]
    if parent is None:
        shares = _shares(question, selected, path)[np.newaxis]
    else:
        if not isinstance(selected, Mapping) or set(selected) != set(parent.domain):
            raise InvalidParameter(
                f"{path} has other keys than the categories of {parent.name}; give one mapping of "
                f"options to shares for each of {', '.join(parent.domain)}",
                field=path,
            )
        shares = np.stack(
            [_shares(question, selected[one], f"{path}.{one}") for one in parent.domain]
        )
    return _conditionals(question, shares, parent, where)


def _shares(question: SelectAll, value: object, path: str) -> np.ndarray:
    if not isinstance(value, Mapping):
        raise InvalidParameter(
            f"{path} is {show(value)}; give a mapping of options to shares in [0, 1]", field=path
        )
    found = np.zeros(len(question.categories))
    for key, share in value.items():
        text = str(key) if type(key) is int else key
        if text not in question.categories:
            raise InvalidParameter(
                f"{path} names {show(key)}, which is no option of {question.name}; its options are "
                f"{show(', '.join(question.categories))}",
                field=path,
            )
        number = finite(share, f"{path}.{text}")
        if not 0 <= number <= 1:
            raise InvalidParameter(
                f"{path}.{text} is {show(share)}; a share is in [0, 1]", field=f"{path}.{text}"
            )
        found[question.categories.index(str(text))] = number
    return found


def _conditionals(
    question: SelectAll, shares: np.ndarray, parent: Attribute | None, where: str
) -> list[Conditional]:
    """Return each option's distribution; `shares` has a row for each category of the parent."""
    options, m = question.options(), len(question.categories)
    above = () if parent is None else (parent,)
    if question.fewest == 0 and question.most == m:
        tables = np.stack([1 - shares, shares], axis=-1)
        return [
            Conditional(option, above, tables[:, place] if parent else tables[0, place])
            for place, option in enumerate(options)
        ]
    if m > MOST_DEPENDENT:
        raise InvalidParameter(
            f"{where}: {question.name} has limits and {m} options, of which at most "
            f"{MOST_DEPENDENT} can be described; give the respondents as a CSV file",
            field=where,
        )
    # Chance that a selection of some size so far ends within the limits, from the last option on.
    ends = np.zeros((m + 1, len(shares), m + 2))
    ends[m, :, question.fewest : question.most + 1] = 1
    for place in reversed(range(m)):
        share = shares[:, place, np.newaxis]
        ends[place, :, :-1] = (1 - share) * ends[place + 1, :, :-1] + share * ends[place + 1, :, 1:]
    if (ends[0, :, 0] == 0).any():
        raise InvalidParameter(
            f"{where}: nobody could select {question.selection.limits()} options with these "
            "shares; correct the shares",
            field=where,
        )
    found = []
    for place, option in enumerate(options):
        sizes = np.array([bin(number).count("1") for number in range(2**place)])
        share = shares[:, place, np.newaxis]
        more = share * ends[place + 1][:, sizes + 1]
        less = (1 - share) * ends[place + 1][:, sizes]
        whole = more + less
        # Where such a beginning is impossible, any distribution will do.
        chance = np.divide(more, whole, out=np.full_like(more, 0.5), where=whole > 0)
        table = np.stack([1 - chance, chance], axis=-1)
        shape = (*(one.k for one in above), *(2,) * place, 2)
        found.append(Conditional(option, (*above, *options[:place]), table.reshape(shape)))
    return found
