"""Answers to select-alls: a list of options becomes an answer to each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.text import normalized, show
from hushpoll_shared.survey.questions.selects import OPTION, Selection


def spread_answers(
    answers: Mapping[str, Any], selects: Sequence[Selection], texts: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return answers with those to select-alls as answers to their options.

    Parameters
    ----------
    answers : mapping of str to answer
        A list of options for a select-all; else `OPTION` for each of its options, as a file of
        records has them.
    selects : sequence of Selection
        All of the survey's.
    texts : mapping of str to (str or None)
        The text of each option, by its name.

    Raises
    ------
    InvalidParameter
        Naming the question, never an answer: no list, an option that is unknown or named twice, or
        answers to the question and to its options.
    """
    spread = dict(answers)
    for select in selects:
        if select.name not in answers:
            if not any(name in answers for name in select.attributes):
                raise InvalidParameter(
                    f"{select.name} has no answer; give a list of its options, "
                    + (
                        "which is empty where none applies"
                        if select.at_least == 0
                        else f"{select.limits()} of them"
                    ),
                    field=select.name,
                )
            continue
        if any(name in answers for name in select.attributes):
            raise InvalidParameter(
                f"the answers have {select.name} and some of its options; give the list of options "
                f"for {select.name} alone",
                field=select.name,
            )
        del spread[select.name]
        chosen = _selection_in(answers[select.name], select, texts)
        spread |= {name: OPTION[name in chosen] for name in select.attributes}
    return spread


def _selection_in(value: object, select: Selection, texts: Mapping[str, str | None]) -> set[str]:
    if isinstance(value, str | Mapping) or not isinstance(value, list | tuple | set | frozenset):
        raise InvalidParameter(
            f"the answer to {select.name} (of type {type(value).__name__}) is no list; give a list "
            f"of its options, such as [{show(texts[select.attributes[0]])}]",
            field=select.name,
        )
    names = {texts[name]: name for name in select.attributes}
    chosen: set[str] = set()
    for one in value:
        text = str(one) if type(one) is int else one
        name = names.get(text) if isinstance(text, str) else None
        if name is None and isinstance(text, str):
            name = names.get(str(normalized(text)))
        if name is None or name in chosen:
            shown = ", ".join(show(texts[other]) for other in select.attributes[:12])
            fault = "is none of its options" if name is None else "is there twice"
            raise InvalidParameter(
                f"the answer to {select.name} has an entry that {fault}; its options are {shown}"
                + (", ..." if len(select.attributes) > 12 else "")
                + ": name each at most once",
                field=select.name,
            )
        chosen.add(name)
    return chosen
