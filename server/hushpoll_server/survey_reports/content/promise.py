"""What a survey promised its respondents, in numbers: as pages, reports and the API say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from hushpoll_protocols.odds import odds_factor
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.option_texts import asked_text
from hushpoll_shared.survey.protection import (
    question_level,
    total_level,
)
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)

PROTOCOL_NAMES: Final = MappingProxyType(
    {
        "GRR": "generalised randomised response",
        "BLH": "binary local hashing",
        "OLH": "optimised local hashing",
        "RAPPOR": "basic one-time RAPPOR",
        "OUE": "optimised unary encoding",
        "SS": "subset selection",
        "THE": "thresholding with histogram encoding",
    }
)
"""Long names, as Wang et al. (USENIX Security 2017) and Ye and Barg (2018) give them."""


MOST_APART: Final = 12
"""Attributes of a survey whose guarantees have a row each."""
_GUARANTEE: Final = ("categories", "protocol", "epsilon", "odds_factor", "protection")


def promise_of(published: Published) -> JsonMembers:
    """Return a survey's guarantee: of all answers together, then of each attribute.

    It is ``epsilon``, the exact sum, as a decimal; ``odds_factor``, by which the odds of anything
    about a respondent can change at most, rounded up to a tenth; ``protection``, a level in words;
    ``attributes``, in the manifest's order, each with the same or, in clear, None.
    """
    total = total_epsilon(published.budget.values())
    return {
        "epsilon": f"{total:f}",
        "odds_factor": _odds(total),
        "protection": total_level(total).name.lower(),
        "attributes": [_attribute(published, attribute) for attribute in published.attributes],
    }


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A guarantee, and the questions that have it."""

    questions: tuple[str, ...]
    """A select-all is one, with the number of its options."""
    attribute: Mapping[str, object]
    """The first of its attributes in a promise; the others differ in name and text alone."""


def guarantees(
    published: Published, attributes: Sequence[Mapping[str, object]], names: Mapping[str, str]
) -> list[Guarantee]:
    """Return the guarantees of a promise's attributes, in the order of the questionnaire.

    Up to `MOST_APART` attributes have a guarantee each; of more, those of the same one share it.
    """
    if len(attributes) <= MOST_APART:
        return [Guarantee((names[str(one["name"])],), one) for one in attributes]
    selects = {name: select.name for select in published.selects for name in select.attributes}
    groups: dict[tuple[object, ...], list[Mapping[str, object]]] = {}
    for one in attributes:
        groups.setdefault(tuple(one[of] for of in _GUARANTEE), []).append(one)
    found = []
    for group in groups.values():
        called = [str(one["name"]) for one in group]
        asked = Counter(selects.get(name, name) for name in called)
        texts = (
            names[name] if number == 1 else f"{names[name]} ({number} ×)"
            for name, number in asked.items()
        )
        found.append(Guarantee(tuple(texts), group[0]))
    return found


def _attribute(published: Published, attribute: PublishedAttribute) -> JsonMembers:
    """Return what is promised of an attribute; a router's follow-ups tell about it, and count."""
    oracle, reach = attribute.oracle, published.reach.get(attribute.block or attribute.name)
    asked = None if attribute.question is None else asked_text(published, attribute.name)
    return {
        "name": attribute.name,
        "question": asked,
        "role": attribute.role,
        "categories": attribute.k,
        "protocol": None if oracle is None else oracle.name,
        "epsilon": None if oracle is None else f"{oracle.epsilon:f}",
        "realized_epsilon": None if oracle is None else f"{oracle.realized_epsilon:.4f}",
        "odds_factor": None if reach is None else _odds(reach),
        "protection": None if reach is None else question_level(reach).name.lower(),
    }


def _odds(epsilon: Decimal) -> float:
    """Return the factor by which odds can change at most, rounded up to a tenth."""
    return odds_factor(epsilon, 10) / 10
