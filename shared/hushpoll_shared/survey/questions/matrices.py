"""Matrices: questions with one scale, shown as the rows of a table under a question of its own.

A matrix changes what respondents and readers see, and nothing of what is randomised: its rows, the
items, are attributes like others, alone or in blocks. A draft has one attribute with `items`
(:mod:`hushpoll_shared.drafts.attributes`). What is published are the items as attributes, and an
entry of `matrices` that says which of them stand together, and what is asked of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject, members_of
from hushpoll_shared.spelling.text import check_texts, show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.named_lists import NamedList
from hushpoll_shared.survey.questions.presentation import Shuffle, read_shuffle
from hushpoll_shared.survey.questions.selects import Selection

NEEDED: Final = ("name", "attributes")
KEYS: Final = (*NEEDED, "question", "shuffle")
"""Fields of an entry of `matrices` in a published survey."""

SHARED: Final = ("role", "categories", "missing", "scale", "ends", "help", "section", "ask_if")
"""What the items of a matrix have in common."""

SHARED_WORDS: Final = ("categories", "missing", "help", "ends")
"""What a translation of them has in common."""

_LIST: Final = NamedList(
    "matrices",
    "a list of matrices",
    "resolve the manifest again",
    "a mapping with a name and a list of attributes",
    "attributes",
    "names of attributes",
)


@dataclass(frozen=True)
class Matrix:
    """Which attributes of a survey are the items of one matrix."""

    name: str
    """No attribute and no other matrix has it, and a block of that name has exactly its items."""
    attributes: tuple[str, ...]
    """Its items in order, two or more that stand next to each other."""
    question: str | None = None
    """What is asked of all items; None where it is asked by its name."""
    shuffle: Shuffle | None = None
    """Whether a device draws the order in which it shows the items."""

    def to_dict(self) -> JsonMembers:
        """Return the entry as JSON, without what is absent."""
        return members_of(self, *KEYS)


def read_matrices(value: object) -> tuple[Matrix, ...]:
    """Read the list `matrices` of a published survey."""
    return tuple(
        _matrix(entry, items, where)
        for where, entry, items in _LIST.entries(value, known=KEYS, needed=NEEDED, filled=True)
    )


def _matrix(entry: JsonObject, items: tuple[str, ...], where: str) -> Matrix:
    question = entry.get("question")
    check_texts(entry, "question", where=f"{where}.")
    text = None if question is None else str(question)
    return Matrix(str(entry["name"]), items, text, read_shuffle(entry.get("shuffle"), where=where))


def check_matrices(
    matrices: Sequence[Matrix],
    attributes: Sequence[Attribute],
    *,
    selects: Sequence[Selection],
    blocks: Mapping[str, Sequence[str]],
    draws: Sequence[str],
) -> None:
    """Refuse matrices whose items are not questions with one scale that stand together.

    An option of a select-all is no item; `blocks` has the questions of every block of several,
    `draws` the names of draws.
    """
    taken = {
        **dict.fromkeys(draws, "a draw"),
        **dict.fromkeys((select.name for select in selects), "a select-all"),
        **dict.fromkeys((attribute.name for attribute in attributes), "an attribute"),
    }
    owners = {name: select.name for select in selects for name in select.attributes}
    for matrix in matrices:
        where = f"matrices[{matrix.name}]"
        if matrix.name in taken:
            raise refusal_of(f"{where}.name")(
                f"is {show(matrix.name)}, the name of {taken[matrix.name]}; names of matrices, "
                "attributes, select-alls and draws differ: rename the matrix"
            )
        taken[matrix.name] = "another matrix"
        block = blocks.get(matrix.name)
        if block is not None and tuple(block) != matrix.attributes:
            raise refusal_of(f"{where}.name")(
                f"is {show(matrix.name)}, the name of a block of other questions; a block of that "
                "name has the items of the matrix in order: rename one of them"
            )
        if matrix.shuffle is not None:
            matrix.shuffle.check(f"{where}.shuffle", len(matrix.attributes), "items")
        _check_items(matrix, attributes, owners)
        owners |= dict.fromkeys(matrix.attributes, matrix.name)


def _check_items(
    matrix: Matrix, attributes: Sequence[Attribute], owners: Mapping[str, str]
) -> None:
    field = f"matrices[{matrix.name}].attributes"
    for name in matrix.attributes:
        if name in owners:
            raise refusal_of(field)(
                f"has {show(name)}, which is a part of {owners[name]} too; an item is in one "
                "matrix, and is no option of a select-all: take it out of one of them"
            )
    places = {attribute.name: place for place, attribute in enumerate(attributes)}
    first = places.get(matrix.attributes[0], 0) if matrix.attributes else 0
    items = attributes[first : first + len(matrix.attributes)]
    if len(items) < 2 or tuple(item.name for item in items) != matrix.attributes:
        raise refusal_of(field)(
            f"is {show(list(matrix.attributes))}; the items of a matrix are two or more attributes "
            "that stand next to each other, each once and in order: correct the names, or put the "
            "questions next to each other"
        )
    for item in items:
        _check_item(item, items[0], matrix)


def _check_item(item: Attribute, first: Attribute, matrix: Matrix) -> None:
    where = f"attributes[{item.name}]"
    for key in SHARED:
        if getattr(item, key) != getattr(first, key):
            raise refusal_of(f"{where}.{key}")(
                f"differs from that of {first.name}, and both are items of the matrix "
                f"{matrix.name}; its items have the same answers and stand together: give them the "
                "same, or ask the question outside the matrix"
            )
    if item.ask_if is not None and item.ask_if.router in matrix.attributes:
        raise refusal_of(f"{where}.ask_if")(
            f"names {item.ask_if.router}, an item of the same matrix; a matrix is asked as a "
            "whole: ask the follow-up outside the matrix"
        )
    for key, has in (
        ("question", item.question is None),
        ("number", item.number is not None),
        ("role", item.role == "target"),
        ("shuffle", item.shuffle is not None),
    ):
        if has:
            raise InvalidParameter(
                f"{where} is an item of the matrix {matrix.name}, which has a text as its question "
                "and one of some categories as its answer, is not the target, and shows its "
                f"answers like the others: correct {key}, or ask the question outside the matrix",
                field=f"{where}.{key}",
            )


def matrix_of(matrices: Sequence[Matrix], name: str) -> Matrix | None:
    """Return the matrix that an attribute is an item of, if it is one."""
    return next((matrix for matrix in matrices if name in matrix.attributes), None)
