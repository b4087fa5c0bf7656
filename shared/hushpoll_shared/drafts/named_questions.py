"""Names of questions in the other fields of a draft: blocks, draws, conditions and pairs.

A matrix stands for its items, and a select-all is published as its options. Who names the one where
the other is meant is told which name belongs there, in place of "no such question".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.matrices import Matrix
from hushpoll_shared.survey.questions.selects import SelectAll

Places = Iterable[tuple[str, object]]
"""Fields, and what they name."""


_PAIRS: Final = "pairs"
MOST_PAIRS: Final = 20
"""Each has a verdict in the launch plan, whenever the draft is looked at."""


def refuse_matrix_names(document: Mapping[Any, Any], matrices: Sequence[Matrix]) -> None:
    """Refuse a draft that names a matrix where one question or one block is named."""
    items = {matrix.name: matrix.attributes for matrix in matrices}
    blocks = {
        entry.get("name")
        for entry in entries(document.get("attributes"))
        if isinstance(entry, Mapping) and entry.get("together")
    }
    for field, name in _names_in_draws(document):
        if isinstance(name, str) and name in items and name not in blocks:
            raise InvalidParameter(
                f"{field} names {name}, a matrix whose items are randomised one by one; name its "
                f"items, {', '.join(items[name])}, or give the matrix together: true, so that they "
                "are one block",
                field=field,
            )
    for field, name in (*_of_one(document), *_in_blocks(document), *_routers(document)):
        if isinstance(name, str) and name in items:
            raise InvalidParameter(
                f"{field} names {name}, a matrix, and one question is named there; name its items, "
                f"which are questions: {', '.join(items[name])}",
                field=field,
            )


def refuse_option_names(document: Mapping[Any, Any], attributes: Sequence[Attribute]) -> None:
    """Refuse a draft that names an option of a select-all in a block, a draw or a condition."""
    own = {one.name for one in attributes}
    selects = {
        option: one.name
        for one in attributes
        if isinstance(one, SelectAll)
        for option in one.selection.attributes
        if option not in own
    }
    for places, remedy in (
        (_names_in_draws(document), "a select-all is drawn as a whole: name {0}"),
        (
            _in_blocks(document),
            "its options are a block of their own where that tells more: take it out of the block",
        ),
        (
            _routers(document),
            "a router has one answer: ask everybody, or ask a yes/no question before the follow-up",
        ),
    ):
        for field, name in places:
            if isinstance(name, str) and name in selects:
                select = selects[name]
                raise InvalidParameter(
                    f"{field} names {name}, an option of the select-all {select}; "
                    f"{remedy.format(select)}",
                    field=field,
                )


def _names_in_draws(document: Mapping[Any, Any]) -> Places:
    """Yield the names of blocks in draws."""
    for name in entries(document.get("always")):
        yield "always", name
    for entry in entries(document.get("draws")):
        for name in entries(entry.get("blocks") if isinstance(entry, Mapping) else None):
            yield f"draws[{entry.get('name')}].blocks"[:200], name


def _in_blocks(document: Mapping[Any, Any]) -> Places:
    """Yield the names of questions in blocks."""
    for entry in entries(document.get("together")):
        for name in entries(entry.get("attributes") if isinstance(entry, Mapping) else None):
            yield f"together[{entry.get('name')}].attributes"[:200], name


def _routers(document: Mapping[Any, Any]) -> Places:
    """Yield the names of routers."""
    for entry in entries(document.get("attributes")):
        routers = entry.get("ask_if") if isinstance(entry, Mapping) else None
        if isinstance(routers, Mapping):
            for name in routers:
                yield f"attributes[{entry.get('name')}].ask_if"[:200], name


def _of_one(document: Mapping[Any, Any]) -> Places:
    """Yield the names of questions that are compared or asked for in pairs."""
    protected = document.get("protected")
    if isinstance(protected, Mapping):
        yield "protected.attribute", protected.get("attribute")
    for entry in entries(document.get("pairs")):
        for name in entries(entry):
            yield "pairs", name


def entries(value: object) -> Sequence[Any]:
    """Return what a field lists; nothing if it has no list."""
    return value if isinstance(value, list | tuple) else ()


def read_pairs(value: object) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a draft's JSON, a list of pairs of names."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidParameter(
            f"pairs is {show(value)}; it must be a list of pairs, such as [[smoker, gender]]",
            field=_PAIRS,
        )
    pairs = []
    for place, pair in enumerate(value):
        match pair:
            case [str(a), str(b)]:
                pairs.append((a, b))
            case _:
                raise InvalidParameter(
                    f"pairs[{place}] is {show(pair)}; it must have the names of two attributes, "
                    "such as [smoker, gender]",
                    field=_PAIRS,
                )
    return tuple(pairs)


def check_pairs(pairs: Sequence[tuple[str, str]], names: Collection[str]) -> None:
    """Refuse more than `MOST_PAIRS`, a pair of one or of unknown questions, and a repetition."""
    if len(pairs) > MOST_PAIRS:
        raise InvalidParameter(
            f"pairs has {len(pairs)} entries; a draft marks at most {MOST_PAIRS}: keep those that "
            "are the survey's question",
            field=_PAIRS,
        )
    seen: dict[frozenset[str], int] = {}
    for place, pair in enumerate(pairs):
        for name in pair:
            if name not in names:
                raise InvalidParameter(
                    f"pairs[{place}] names {show(name)}, and no attribute has this name; name one "
                    f"of {', '.join(list(names)[:12])}",
                    field=_PAIRS,
                )
        both = frozenset(pair)
        if len(both) < 2:
            raise InvalidParameter(
                f"pairs[{place}] names {show(pair[0])} twice; name two different attributes",
                field=_PAIRS,
            )
        if both in seen:
            raise InvalidParameter(
                f"pairs[{place}] is pairs[{seen[both]}] again; mark each pair once", field=_PAIRS
            )
        seen[both] = place
