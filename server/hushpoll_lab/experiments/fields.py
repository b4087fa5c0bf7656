"""Fields of an experiment's configuration, read alike from YAML and from the command line.

A list may be written as one text with commas, and seeds as ranges, so that a flag and a line of
YAML mean the same. Each function raises InvalidParameter for another value, and names the field,
the value and the remedy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from hushpoll_protocols import format_epsilon, parse_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import number_of
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.spelling.text import show

SEEDS_END = 2**31
SEEDS_AT_MOST = 10_000
_RANGE = re.compile("([0-9]{1,10})(?:-([0-9]{1,10}))?", re.ASCII)


def items(value: object, field: str, example: str) -> list[Any]:
    """Return the items, at least one and all different, of a list or of a text with commas."""
    if isinstance(value, str):
        value = read_list(value, field=field) if value.strip() else []
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list | tuple):
        raise InvalidParameter(
            f"{field} is {show(value)}; it must be a list, such as {example}", field=field
        )
    if not value:
        raise InvalidParameter(
            f"{field} is empty; give at least one, such as {example}", field=field
        )
    for at, item in enumerate(value):
        if item in value[:at]:
            raise InvalidParameter(f"{field} has {show(item)} twice; remove one", field=field)
    return list(value)


def columns(value: object, field: str) -> tuple[str, ...]:
    """Return names of columns."""
    return tuple(column(name, field) for name in items(value, field, "gender, age"))


def column(value: object, field: str) -> str:
    """Return the name of one column."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidParameter(
            f"{field} is {show(value)}; it must name a column of the data", field=field
        )
    return value.strip()


def choices(value: object, field: str, allowed: Collection[str]) -> tuple[str, ...]:
    """Return names out of a set, in the set's order."""
    listed = ", ".join(allowed)
    chosen = items(value, field, listed)
    for name in chosen:
        if name not in allowed:
            raise InvalidParameter(
                f"{field} has {show(name)}; each must be one of {listed}", field=field
            )
    return tuple(name for name in allowed if name in chosen)


def epsilons(value: object, field: str = "epsilons") -> tuple[str, ...]:
    """Return epsilons in their one spelling, ascending; each in [1e-6, 64]."""
    numbers = sorted(parse_epsilon(item, field) for item in items(value, field, "0.5, 1, 4"))
    for number, following in pairwise(numbers):
        if number == following:
            raise InvalidParameter(
                f"{field} has {format_epsilon(number)} twice; remove one", field=field
            )
    return tuple(map(format_epsilon, numbers))


def seeds(value: object, field: str = "seeds") -> tuple[int, ...]:
    """Return seeds, ascending, from numbers and ranges such as ``0-19``, both ends included.

    Each is a whole number in [0, 2^31); there are at most 10,000, all different.
    """
    numbers: list[int] = []
    for item in items(value, field, "0-19"):
        numbers.extend(_seed_range(item, field))
        if len(numbers) > SEEDS_AT_MOST:
            raise InvalidParameter(
                f"{field} {show(value)} are more than {SEEDS_AT_MOST}; give fewer", field=field
            )
    for number, times in Counter(numbers).items():
        if times > 1:
            raise InvalidParameter(f"{field} has {number} twice; remove one", field=field)
    return tuple(sorted(numbers))


def _seed_range(item: object, field: str) -> Sequence[int]:
    match = None if isinstance(item, bool | float) else _RANGE.fullmatch(str(item))
    if match is None:
        raise InvalidParameter(
            f"{field} has {show(item)}; each must be a whole number in [0, {SEEDS_END}), or a "
            "range such as 0-19",
            field=field,
        )
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    if last < first or last >= SEEDS_END:
        raise InvalidParameter(
            f"{field} has {show(item)}; a range goes up and stays in [0, {SEEDS_END})", field=field
        )
    if last - first >= SEEDS_AT_MOST:
        raise InvalidParameter(
            f"{field} has {show(item)}, more than {SEEDS_AT_MOST} seeds; give fewer", field=field
        )
    return range(first, last + 1)


def share(value: object, field: str = "test_size") -> float:
    """Return a share of the rows, in the open interval (0, 1)."""
    number = number_of(value)
    if number is None or not 0 < number < 1:
        raise InvalidParameter(
            f"{field} is {show(value)}; it must be a number in (0, 1), such as 0.2", field=field
        )
    return number


def choice(value: object, field: str, allowed: Collection[str]) -> str:
    """Return one name out of a set."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidParameter(
            f"{field} is {show(value)}; it must be one of {', '.join(allowed)}", field=field
        )
    return value


def flag(value: object, field: str) -> bool:
    """Return whether something is so."""
    if not isinstance(value, bool):
        raise InvalidParameter(f"{field} is {show(value)}; it must be true or false", field=field)
    return value
