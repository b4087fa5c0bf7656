"""The options of a select-all by their question, and by their texts, where a survey's are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.matrices import matrix_of
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)
from hushpoll_shared.survey.randomization.drawn_selects import epsilon_of_question

if TYPE_CHECKING:
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.survey.questions.selects import Selection

MOST_SHOWN = 12
"""Options that a refusal names, at most."""

TO_ANCHORS = " (rounded at random to anchors)"
ROUNDED = " (rounded at random to anchors; hushpoll ordered shows its mean)"


def options_of(published: Published, name: str) -> tuple[str, ...]:
    """Return the options of the select-all of this name; of another question its own name."""
    return next((one.attributes for one in published.selects if one.name == name), (name,))


def named_attributes(published: Published, names: Iterable[str]) -> tuple[str, ...]:
    """Return names of attributes, in which a select-all by its name stands for its options."""
    found = (option for name in names for option in options_of(published, name))
    return tuple(dict.fromkeys(found))


def question_names(published: Published, names: Iterable[str]) -> tuple[str, ...]:
    """Return the questions that attributes are of; the options of a select-all are of one."""
    selects = {option: one.name for one in published.selects for option in one.attributes}
    return tuple(dict.fromkeys(selects.get(name, name) for name in names))


def text_of(published: Published, option: str) -> str:
    """Return what an option says."""
    return published.attribute(option).question or option


def option_labels(published: Published) -> dict[str, str]:
    """Return what the options of select-alls are called: by question and text."""
    return {
        name: f"{select.name}: {text_of(published, name)}"
        for select in published.selects
        for name in select.attributes
    }


def asked_text(published: Published, name: str) -> str:
    """Return what is asked by an attribute; of an option or an item after its question's text."""
    text = text_of(published, name)
    matrix = matrix_of(published.matrices, name)
    if matrix is not None:
        return f"{matrix.question or matrix.name} {text}"
    for select in published.selects:
        if name in select.attributes:
            return f"{select.question or select.name} {text}"
    return text


def question_texts(published: Published) -> dict[str, str]:
    """Return what is asked by each attribute and each select-all, by its name, for a terminal.

    Of a number that devices round it says so, as the shares of the values that it is rounded to are
    not those of answers.
    """
    texts = {
        one.name: f"{asked_text(published, one.name)}{ROUNDED if one.rounded else ''}"
        for one in published.attributes
    }
    return texts | {select.name: select.question or select.name for select in published.selects}


def epsilon_of_options(published: Published, select: Selection) -> str | None:
    """Return the epsilon of all options of a select-all, or its block in a draw; None in clear."""
    blocks = {
        block.name: block.oracle.epsilon
        for name in select.attributes
        if (block := published.block_of(name)) is not None
    }
    if not blocks:
        return None
    of_question = epsilon_of_question(published.budget, select)
    return f"{(of_question or total_epsilon(blocks.values())).normalize():f}"


def said_of_options(published: Published, select: Selection) -> str:
    """Return the options of a select-all with their texts, as a refusal lists them."""
    return listed(
        [(name, text_of(published, name)) for name in select.attributes[:MOST_SHOWN]],
        len(select.attributes),
    )


def listed(options: Sequence[tuple[str, str]], number: int) -> str:
    """Return some of so many options as words: the name of each with its text."""
    words = ", ".join(f"{name} ({show(text)})" for name, text in options)
    return words if number == len(options) else f"{words} and {number - len(options)} more"
