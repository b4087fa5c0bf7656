"""Select-alls beside blocks and draws: how what is published of them is randomised.

A question is a block, which may be one of a draw, or its options are blocks, in a draw of its own.
The draw of a question's own has the question's name and all of its options in order, each a yes/no
block. Options are in no other draw: what a device sends of one question is decided in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from hushpoll_protocols import K_MAX, InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.protected import Protected
from hushpoll_shared.survey.questions.selects import (
    MOST_OPTIONS,
    OPTION,
    SelectAll,
    Selection,
    option_name,
    subsets,
)
from hushpoll_shared.survey.randomization.blocks import Together
from hushpoll_shared.survey.randomization.budget import total_epsilon
from hushpoll_shared.survey.randomization.draws import Draw


def check_drawn_selects(draws: Sequence[Draw], selects: Sequence[Selection]) -> None:
    """Refuse draws that have some options of a select-all, or have its name and other blocks."""
    for draw in draws:
        for select in selects:
            own = draw.name == select.name
            inside = set(select.attributes).intersection(draw.blocks)
            if own == bool(inside) and (not own or draw.blocks == select.attributes):
                continue
            path = f"draws[{draw.name}].blocks"
            raise refusal_of(path)(
                f"and the select-all {select.name} do not fit: its options are drawn in a draw "
                f"named {select.name}, which has all of them in order and nothing else: rename the "
                "draw, or name the question and not its options"
            )


def epsilon_of_question(budget: Mapping[str, Decimal], select: Selection) -> Decimal:
    """Return the epsilon of a select-all as a whole: of its block, its draw, or all its options.

    A question in a draw with others has none, since the draw has it.
    """
    entries = (select.name, *select.attributes)
    return total_epsilon(budget[name] for name in entries if name in budget)


def check_sizes_in_draws(questions: Sequence[SelectAll], draws: Sequence[Draw]) -> None:
    """Refuse a draft with a select-all in a draw whose selections are too many for one block."""
    owners = {name: draw.name for draw in draws for name in draw.blocks}
    for question in questions:
        m = len(question.categories)
        if question.name in owners and (
            m > MOST_OPTIONS or subsets(m, question.fewest, question.most) > K_MAX
        ):
            raise InvalidParameter(
                f"{question.name} is in the draw {owners[question.name]}, where a select-all is "
                f"one block; its selections are too many for one, which has at most {MOST_OPTIONS} "
                f"options and {K_MAX} selections: take it out of the draw, so that its options can "
                "be drawn, or lower select.at_most",
                field=f"attributes[{question.name}].select",
            )


def check_selects(
    selects: Sequence[Selection], attributes: Sequence[Attribute], together: Sequence[Together]
) -> None:
    """Refuse select-alls whose options are not as they are published.

    That is a name that is taken, options of another form, or not next to each other, or in a block
    of another kind.
    """
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    blocks = {block.name: block for block in together}
    owners = {name: block.name for block in together for name in block.attributes}
    taken = set(places)
    for select in selects:
        where = f"selects[{select.name}]"
        if select.name in taken:
            raise refusal_of(f"{where}.name")(
                f"is {show(select.name)}, the name of an attribute or of another select-all; names "
                "differ: rename one of them"
            )
        taken.add(select.name)
        field = f"{where}.attributes"
        m = len(select.attributes)
        first = places.get(select.attributes[0], 0) if m else 0
        options = attributes[first : first + m]
        wanted = tuple(option_name(select.name, place) for place in range(m))
        if m < 2 or select.attributes != wanted or tuple(one.name for one in options) != wanted:
            raise refusal_of(field)(
                f"is {show(list(select.attributes))}; it is two or more attributes that stand next "
                f"to each other, named {option_name(select.name, 0)}, "
                f"{option_name(select.name, 1)} and so on: resolve the manifest again"
            )
        for option in options:
            _check_option(option, options[0].role)
        own = blocks.get(select.name)
        if (own is not None and own.attributes != wanted) or any(
            owners.get(name, select.name) != select.name for name in wanted
        ):
            raise InvalidParameter(
                f"{field}: the options of a select-all are in no block but one of its own name, "
                f"{select.name}, which has all of them in order: resolve the manifest again",
                field=field,
            )


def _check_option(option: Attribute, role: str) -> None:
    plain = replace(option, question=None, section=None)
    same = all(
        getattr(plain, key) is None
        for key in ("missing", "positive", "scale", "ask_if", "help", "ends", "shuffle")
    )
    if (
        option.categories != OPTION
        or option.question is None
        or not same
        or option.role == "target"
        or option.role != role
    ):
        raise refusal_of(f"attributes[{option.name}]")(
            "is an option of a select-all; it has a text as its question, the categories "
            f"{OPTION[0]} and {OPTION[1]}, and nothing else: resolve the manifest again"
        )


def with_limits(together: Sequence[Together], selects: Sequence[Selection]) -> tuple[Together, ...]:
    """Return the blocks, those of a select-all with their question."""
    own = {select.name: select for select in selects}
    for block in together:
        select = own.get(block.name)
        if select is None or len(select.attributes) != len(block.attributes):
            continue
        number = subsets(len(select.attributes), select.at_least, select.at_most)
        if len(select.attributes) > MOST_OPTIONS or number > K_MAX:
            where = f"together[{block.name}]"
            raise InvalidParameter(
                f"{where} has {len(select.attributes)} options and {number} selections within the "
                f"limits; a block has at most {MOST_OPTIONS} options and {K_MAX} selections: "
                "lower at_most, or resolve the manifest again",
                field=f"{where}.attributes",
            )
    return tuple(replace(block, select=own.get(block.name)) for block in together)


def units_of(sizes: Mapping[str, int], selects: Sequence[Selection]) -> dict[str, int]:
    """Return what a split divides epsilon over, with domain sizes.

    They are the blocks, in record order, but of a select-all whose options are randomised alone the
    question.
    """
    owners = {name: select.name for select in selects for name in select.attributes}
    return {owners.get(name, name): k for name, k in sizes.items()}


def parts_of(selects: Sequence[Selection], sizes: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the options of every select-all that are randomised alone, by the question's name."""
    return {
        select.name: select.attributes
        for select in selects
        if all(name in sizes for name in select.attributes)
    }


def check_uses(
    attributes: Sequence[Attribute],
    together: Sequence[Together],
    protected: Protected | None,
) -> None:
    """Refuse a select-all in a block, as a router, as protected, or with names that are taken."""
    questions = {one.name: one for one in attributes if isinstance(one, SelectAll)}
    if not questions:
        return
    for block in together:
        for name in questions.keys() & set(block.attributes):
            path = f"together[{block.name}].attributes"
            raise refusal_of(path)(
                f"has {name}, a select-all, whose options are a block of their own where that "
                "tells more: take it out of the block"
            )
    for attribute in attributes:
        if attribute.ask_if is not None and attribute.ask_if.router in questions:
            path = f"attributes[{attribute.name}].ask_if"
            raise refusal_of(path)(
                f"names {attribute.ask_if.router}, a select-all; a router has one answer: ask "
                "everybody, or ask a yes/no question before the follow-up"
            )
    if protected is not None and protected.attribute in questions:
        raise refusal_of("protected.attribute")(
            f"is {protected.attribute}, a select-all; groups are those of a question with one "
            "answer: name another attribute, or ask a yes/no question"
        )
    taken = {
        **dict.fromkeys((block.name for block in together), "a block"),
        **dict.fromkeys((one.name for one in attributes), "an attribute"),
    }
    for question in questions.values():
        for name in question.selection.attributes:
            if name in taken:
                raise InvalidParameter(
                    f"{taken[name]} of the survey is called {name}, as an option of the select-all "
                    f"{question.name} will be: rename one of them",
                    field=f"attributes[{question.name}].name",
                )
