"""Frozen dataclasses as JSON and back: members in the order of the fields, tuples as lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

_AS_THEY_ARE: Final = frozenset({str, int, bool, float})
Names = tuple[str, ...]


def told(description: str, **more: str) -> Any:
    """Return a field with what the API's document says of it."""
    return field(metadata={"description": description, **more})


def to_json(value: Any) -> Any:
    """Return a value as JSON; a number that is nan or infinite is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [to_json(one) for one in value]
    if isinstance(value, Mapping):
        return {name: to_json(one) for name, one in value.items()}
    if is_dataclass(value):
        kind: Any = type(value)
        names, values_of, numbers, others = _written(kind)
        document = dict(zip(names, values_of(value), strict=True))
        for name in numbers:
            number = document[name]
            if number is not None and not math.isfinite(number):
                document[name] = None
        for name in others:
            document[name] = to_json(document[name])
        return document
    return value


@cache
def _written(kind: type) -> tuple[Names, Callable[[Any], Iterable[Any]], Names, Names]:
    """Return a dataclass's members, what takes them all at once, its numbers, and the others.

    A table may have a million rows, each with the same few members. Texts, whole numbers and
    switches are JSON as they are.
    """
    names, hints = _names(kind), get_type_hints(kind)
    kinds = {name: set(alternatives(hints[name])[0]) for name in names}
    numbers = tuple(name for name in names if kinds[name] == {float})
    others = tuple(name for name in names if not kinds[name] <= _AS_THEY_ARE)
    taken: Callable[[Any], Any] = attrgetter(*names)
    return names, taken if len(names) > 1 else lambda value: (taken(value),), numbers, others


def read_members(
    kind: type, document: Mapping[str, Any], *, without: Collection[str] = ()
) -> dict[str, Any]:
    """Return the fields of a dataclass from the members of a document.

    A member whose field has a default may be missing: results that were kept before have none.

    Raises
    ------
    KeyError, TypeError, ValueError
        If another member is missing, or one is of another type.
    """
    later = _with_default(kind)
    return {
        name: read(document[name])
        for name, read in _readers(kind).items()
        if name not in without and (name in document or name not in later)
    }


@cache
def _with_default(kind: type) -> frozenset[str]:
    return frozenset(one.name for one in fields(kind) if one.default is not MISSING)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


@cache
def _readers(kind: type) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(kind)
    return {name: _reader(hints[name]) for name in _names(kind)}


def alternatives(hint: Any) -> tuple[tuple[Any, ...], bool]:
    """Return the types of a hint but None, and whether None is one of them."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(one for one in kinds if one is not NoneType), NoneType in kinds


def _reader(hint: Any) -> Callable[[Any], Any]:
    kinds, optional = alternatives(hint)
    if len(kinds) != 1:  # the field `about`, which `Result.read` reads
        return lambda value: value
    inner = _of_kind(kinds[0])
    if optional:
        return lambda value: None if value is None else inner(value)
    return inner


def _of_kind(kind: Any) -> Callable[[Any], Any]:
    if get_origin(kind) is tuple:
        item = _reader(get_args(kind)[0])
        return lambda value: tuple(item(one) for one in _checked(value, list))
    if is_dataclass(kind) and isinstance(kind, type):
        return lambda value: kind(**read_members(kind, _checked(value, Mapping)))
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return lambda value: _chosen(value, choices)
    if isinstance(get_origin(kind), type):
        return lambda value: _checked(value, get_origin(kind))
    return lambda value: _checked(value, kind)


def _checked(value: Any, kind: Any) -> Any:
    if kind is float and type(value) is int:
        return value
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    if kind is float and not math.isfinite(value):
        raise ValueError(f"{value} is no number of a result")
    return value


def _chosen(value: Any, choices: tuple[Any, ...]) -> Any:
    if value not in choices:
        raise ValueError(f"{value!r:.60} is none of {', '.join(map(str, choices))}")
    return value
