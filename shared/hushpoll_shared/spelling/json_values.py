"""Values that JSON can hold, for documents whose members are not known beforehand.

A document of a known form is a frozen dataclass, or a ``TypedDict`` where it is read as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypeAlias, Union, get_args, get_origin

JsonValue: TypeAlias = Union[
    bool, int, float, str, "Sequence[JsonValue]", "Mapping[str, JsonValue]", None
]
"""A value of JSON; reading further into it takes a check of what it is."""

JsonObject: TypeAlias = Mapping[str, JsonValue]
"""An object of JSON, to read."""

JsonMembers: TypeAlias = dict[str, JsonValue]
"""An object of JSON in the making; its members' own members are not changed any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the API's document says of a member of a ``TypedDict``, beside its description."""

    pattern: str | None = None
    example: str | None = None
    default: object = None
    """Of one that may be missing, where that is not null."""


def type_of(hint: Any) -> Any:
    """Return the type of a document's member, without what is declared beside it."""
    while get_origin(hint) in (Annotated, NotRequired):
        hint = get_args(hint)[0]
    return hint


def members_of(source: object, *names: str) -> JsonMembers:
    """Return those of some fields of an object that are not None, as JSON."""
    values = {name: getattr(source, name) for name in names}
    return {name: _as_json(value) for name, value in values.items() if value is not None}


def _as_json(value: Any) -> JsonValue:
    if isinstance(value, tuple):
        # a domain has thousands of categories
        return [one if isinstance(one, str) else _as_json(one) for one in value]
    if isinstance(value, bool | int | float | str):
        return value
    members: JsonValue = value.to_dict()
    return members
