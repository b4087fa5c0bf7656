"""The pairs of questions that a draft marks: those whose relation the survey is to tell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show

FIELD: Final = "pairs"
MOST_PAIRS: Final = 20
"""Each has a verdict in the launch plan, whenever the draft is looked at."""


def read_pairs(value: object) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a draft's JSON.

    Raises
    ------
    InvalidParameter
        If it is no list of pairs of names.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InvalidParameter(
            f"pairs is {show(value)}; it must be a list of pairs, such as [[smoker, gender]]",
            field=FIELD,
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
                    field=FIELD,
                )
    return tuple(pairs)


def check_pairs(pairs: Sequence[tuple[str, str]], names: Collection[str]) -> None:
    """Refuse pairs that a survey with these attributes cannot have.

    Raises
    ------
    InvalidParameter
        For too many, an attribute that does not exist, one with itself, or a pair that is there
        twice, in either order.
    """
    if len(pairs) > MOST_PAIRS:
        raise InvalidParameter(
            f"pairs has {len(pairs)} entries; a draft marks at most {MOST_PAIRS}: keep those that "
            "are the survey's question",
            field=FIELD,
        )
    seen: dict[frozenset[str], int] = {}
    for place, pair in enumerate(pairs):
        for name in pair:
            if name not in names:
                raise InvalidParameter(
                    f"pairs[{place}] names {show(name)}, and no attribute has this name; name one "
                    f"of {', '.join(list(names)[:12])}",
                    field=FIELD,
                )
        both = frozenset(pair)
        if len(both) < 2:
            raise InvalidParameter(
                f"pairs[{place}] names {show(pair[0])} twice; name two different attributes",
                field=FIELD,
            )
        if both in seen:
            raise InvalidParameter(
                f"pairs[{place}] is pairs[{seen[both]}] again; mark each pair once", field=FIELD
            )
        seen[both] = place
