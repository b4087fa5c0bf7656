"""Values of every type that an answer can have, for servers that tests script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import (
    Any,
    Final,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)  # fmt: skip

from hushpoll_shared.querying.documents import alternatives
from hushpoll_shared.spelling.json_values import type_of
from hushpoll_shared.wire.documents.jobs import JobDocument

_PLAIN: Final[dict[Any, Any]] = {float: 0.5, int: 7, bool: True}


def value_of(hint: Any, text: str = "x") -> Any:
    """Return JSON of a type, with `text` wherever any text is possible."""
    kind = type_of(alternatives(type_of(hint))[0][0])
    origin, inner = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return {name: value_of(member, text) for name, member in kind.__annotations__.items()}
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return {one.name: value_of(hints[one.name], text) for one in fields(kind)}
    if origin in (tuple, list, Sequence):
        return [value_of(inner[0], text)]
    if origin in (dict, Mapping):
        return {text: value_of(inner[1], text)}
    if origin is Literal:
        return inner[0]
    return text if kind is str else _PLAIN.get(kind, {})


def job_document(job_id: str, state: str, **members: Any) -> dict[str, Any]:
    """Return a job as a server tells it, with the members that every job has."""
    required = JobDocument.__required_keys__
    whole = {name: member for name, member in value_of(JobDocument).items() if name in required}
    return whole | {"id": job_id, "state": state, "parameters": {}, **members}
