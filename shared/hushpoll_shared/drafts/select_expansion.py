"""From a draft's select-all to the attributes, the block and the words that are published of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.questions.selects import SelectAll
from hushpoll_shared.survey.randomization.blocks import Together
from hushpoll_shared.survey.randomization.draws import Draw
from hushpoll_shared.survey.randomization.select_choice import APART, DRAWN, TOGETHER
from hushpoll_shared.survey.terms import MOST_ATTRIBUTES
from hushpoll_shared.survey.wording import Question, Translation

if TYPE_CHECKING:
    from hushpoll_shared.drafts.manifest import Manifest


def expansion(draft: Manifest, forms: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """Return the fields of a draft that change where select-alls become their options.

    `forms` has by name what each is published as, and of a draw over its options how many a device
    answers. One that is not named is yes/no questions apart, or, in a draw, a block.
    """
    drawn = {name for draw in draft.draws for name in draw.blocks}
    kinds = {
        one.name: forms.get(one.name, (TOGETHER if one.name in drawn else APART, 0))
        for one in draft.questions
        if one.perturbed
    }
    questions = {one.name: one for one in draft.questions}
    selections = {name: question.selection for name, question in questions.items()}
    blocks = [
        Together(name, selections[name].attributes, questions[name].protocol, selections[name])
        for name, (kind, _) in kinds.items()
        if kind == TOGETHER
    ]
    own_draws = [
        Draw(name, selections[name].attributes, answer)
        for name, (kind, answer) in kinds.items()
        if kind == DRAWN
    ]
    inside = {block.name for block in blocks}
    attributes = [
        option
        for attribute in draft.attributes
        for option in (
            [
                # The block has the protocol, and states it once.
                replace(one, protocol=None) if attribute.name in inside else one
                for one in attribute.options()
            ]
            if isinstance(attribute, SelectAll)
            else [attribute]
        )
    ]
    _check_number(len(attributes), draft.questions)
    return {
        "attributes": tuple(attributes),
        "selects": tuple(selections.values()),
        "together": (*draft.together, *blocks),
        "draws": (*draft.draws, *own_draws),
        "translations": tuple(
            _translated(translation, draft.questions) for translation in draft.translations
        ),
        "pairs": tuple(
            pair
            for first, second in draft.pairs
            for pair in product(*(_options(selections, name) for name in (first, second)))
        ),
    }


def _check_number(number: int, questions: Sequence[SelectAll]) -> None:
    """Refuse more questions than a survey may have, by the select-all with the most options."""
    if number > MOST_ATTRIBUTES:
        most = max(questions, key=lambda one: len(one.categories))
        where = f"attributes[{most.name}].categories"
        raise InvalidParameter(
            f"{where} has {len(most.categories)} options, and each of them is a question of the "
            f"results: with them the survey has {number}, and it has at most {MOST_ATTRIBUTES}: "
            "remove options, or leave select out, so that one answer is chosen",
            field=where,
        )


def _options(selections: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return selections[name].attributes if name in selections else (name,)


def _translated(translation: Translation, questions: Sequence[SelectAll]) -> Translation:
    """Return a translation with the words of each option, and what is asked of all."""
    words = {one.name: one for one in translation.questions}
    asked: dict[str, str] = {}
    helps: dict[str, str] = {}
    for question in questions:
        own = words.pop(question.name, Question(question.name))
        if own.question is not None:
            asked[question.name] = own.question
        if own.help is not None:
            helps[question.name] = own.help
        texts = own.categories or question.categories
        for name, text in zip(question.selection.attributes, texts, strict=True):
            words[name] = Question(name, text)
    return replace(
        translation,
        questions=tuple(words[name] for name in sorted(words)),
        selects=tuple(sorted(asked.items())),
        select_help=tuple(sorted(helps.items())),
    )
