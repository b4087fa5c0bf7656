"""Frozen dataclasses as JSON and back: members in the order of the fields, tuples as lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

_AS_THEY_ARE: Final = frozenset({str, int, bool})
_PLAIN: Final[Mapping[Any, frozenset[type]]] = {
    float: frozenset({float, int}), **{kind: frozenset({kind}) for kind in _AS_THEY_ARE},
}  # fmt: skip
"""By the type of a member, of which types JSON has it; a float must be finite as well."""
_Reader = Callable[[Any], Any]


def member(description: str, default: Any = MISSING, **more: str) -> Any:
    """Return a field with what the API's document says of it."""
    return field(default=default, metadata={"description": description, **more})


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
def _written(
    kind: type,
) -> tuple[tuple[str, ...], Callable[[Any], Any], tuple[str, ...], tuple[str, ...]]:
    """Return a dataclass's members, what takes them all, the numbers, and those to be written.

    A table may have a million rows, each with the same few members. Texts, whole numbers and
    switches are JSON as they are.
    """
    names, hints = tuple(one.name for one in fields(kind)), get_type_hints(kind)
    types = {name: set(alternatives(hints[name])[0]) for name in names}
    numbers = tuple(name for name in names if types[name] == {float})
    others = tuple(n for n in names if n not in numbers and not types[n] <= _AS_THEY_ARE)
    taken: Callable[[Any], Any] = attrgetter(*names)
    return names, taken if len(names) > 1 else lambda value: (taken(value),), numbers, others


def read_members(kind: type, document: Mapping[str, object], *without: str) -> dict[str, Any]:
    """Return the fields of a dataclass, but for some, from the members of a document.

    A member whose field has a default may be missing: results that were kept before have none.
    """
    members = {}
    for name, (read, plain, may_be_missing) in _readers(kind).items():
        if name in without or (may_be_missing and name not in document):
            continue
        value: Any = document[name]
        found = type(value)
        if found not in plain or (found is float and not math.isfinite(value)):
            value = read(value)
        members[name] = value
    return members


@cache
def _readers(kind: type) -> dict[str, tuple[_Reader, frozenset[type], bool]]:
    """Return what reads each member, the types that are read already, whether it has a default."""
    hints = get_type_hints(kind)
    return {
        one.name: (_reader(hint), _plain(hint), one.default is not MISSING)
        for one, hint in ((one, hints[one.name]) for one in fields(kind))
    }


def _plain(hint: Any) -> frozenset[type]:
    kinds, optional = alternatives(hint)
    plain = _PLAIN.get(kinds[0], frozenset()) if len(kinds) == 1 else frozenset()
    return plain | {NoneType} if plain and optional else plain


def alternatives(hint: Any) -> tuple[tuple[Any, ...], bool]:
    """Return the types of a hint but None, and whether None is one of them."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(one for one in kinds if one is not NoneType), NoneType in kinds


def words_of(kind: Any) -> tuple[Any, ...]:
    """Return what a Literal may be; nothing of another type."""
    return get_args(kind) if get_origin(kind) is Literal else ()


def _reader(hint: Any) -> _Reader:
    kinds, optional = alternatives(hint)
    if len(kinds) != 1:  # the field `about`, which `Result.read` reads
        return lambda value: value
    inner = _of_kind(kinds[0])
    return (lambda value: None if value is None else inner(value)) if optional else inner


def _of_kind(kind: Any) -> _Reader:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is tuple:
        item = _reader(inner[0])
        return lambda value: tuple(item(one) for one in _checked(value, list))
    if origin is Mapping:
        name, item = map(_reader, inner)
        return lambda value: {name(a): item(b) for a, b in _checked(value, Mapping).items()}
    if is_dataclass(kind) and isinstance(kind, type):
        return lambda value: kind(**read_members(kind, _checked(value, Mapping)))
    if words_of(kind):
        return lambda value: _chosen(value, inner)
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
