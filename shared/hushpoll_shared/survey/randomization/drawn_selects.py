"""Select-alls beside draws: a question is a block of a draw, or its options are a draw of its own.

The draw of a question's own has the question's name and all of its options in order, each a yes/no
block. Options are in no other draw: what a device sends of one question is decided in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from hushpoll_protocols import K_MAX, InvalidParameter
from hushpoll_shared.survey.protection import total_epsilon
from hushpoll_shared.survey.questions.selects import MOST_OPTIONS, SelectAll, Selection, subsets
from hushpoll_shared.survey.randomization.draws import Draw


def check_drawn_selects(draws: Sequence[Draw], selects: Sequence[Selection]) -> None:
    """Refuse draws that have some options of a select-all, or have its name and other blocks.

    Raises
    ------
    InvalidParameter
        Naming the draw.
    """
    for draw in draws:
        for select in selects:
            own = draw.name == select.name
            inside = set(select.attributes).intersection(draw.blocks)
            if own == bool(inside) and (not own or draw.blocks == select.attributes):
                continue
            path = f"draws[{draw.name}].blocks"
            raise InvalidParameter(
                f"{path} and the select-all {select.name} do not fit: its options are drawn in a "
                f"draw named {select.name}, which has all of them in order and nothing else: "
                "rename the draw, or name the question and not its options",
                field=path,
            )


def epsilon_of_question(budget: Mapping[str, Decimal], select: Selection) -> Decimal:
    """Return the epsilon of a select-all as a whole: of its block, its draw, or all its options.

    Parameters
    ----------
    budget : mapping of str to Decimal
        The epsilon of every block outside draws and of every draw. A question in a draw with others
        has none, since the draw has it.
    select : Selection
        The question, which is randomised.
    """
    entries = (select.name, *select.attributes)
    return total_epsilon(budget[name] for name in entries if name in budget)


def check_sizes_in_draws(questions: Sequence[SelectAll], draws: Sequence[Draw]) -> None:
    """Refuse a draft with a select-all in a draw whose selections are too many for one block.

    Raises
    ------
    InvalidParameter
        Naming the question.
    """
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
