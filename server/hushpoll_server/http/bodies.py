"""Bodies of requests: how large they may be, and declared parameters as pydantic's models.

A body is parsed and checked on one thread of the web process, and other requests wait for their
turn of the interpreter meanwhile. So a request that names a few things has little room.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from hushpoll_server.config.settings import Settings
from hushpoll_shared.jobs.analyses import Weight
from hushpoll_shared.jobs.collecting import Remind
from hushpoll_shared.jobs.job import Job
from hushpoll_shared.querying.documents import alternatives
from hushpoll_shared.querying.query import Parameter, Request, parameters_of
from hushpoll_shared.spelling.json_values import JsonMembers

SMALL_BYTES: Final = 2**16
# 65,536 cells of several attributes, by their names, in margins, strata and weights.
DESIGN_BYTES: Final = 2**22
# Address, name and language of a person who is invited; the texts of the mails in all languages.
PERSON_BYTES: Final = 512
TEXTS_BYTES: Final = 2**20


class BodySize(Enum):
    """What a body describes, as the attribute ``BODY`` of its model says."""

    SMALL = auto()
    DESIGN = auto()
    MANIFEST = auto()
    PEOPLE = auto()

    def most(self, settings: Settings) -> int:
        """Return the largest body, in bytes; never more than that of any request."""
        match self:
            case BodySize.SMALL:
                size = SMALL_BYTES
            case BodySize.DESIGN:
                size = DESIGN_BYTES
            case BodySize.MANIFEST:
                # JSON that spells other letters by escapes takes about twice as many bytes.
                size = 2 * settings.max_manifest_bytes + SMALL_BYTES
            case BodySize.PEOPLE:
                size = settings.max_tokens * PERSON_BYTES + TEXTS_BYTES
        return min(size, settings.max_body_bytes)


_LARGE: Final = {Remind: BodySize.PEOPLE, Weight: BodySize.DESIGN}


class Parameters(BaseModel):
    """Parameters of a request: unknown members are refused."""

    model_config = ConfigDict(extra="forbid")

    def as_json(self) -> JsonMembers:
        """Return them as JSON, without those that were not given."""
        return self.model_dump(exclude_none=True)


def model_of(kind: type[Request]) -> type[Parameters]:
    """Return the model of a job's parameters, or of a part of them."""
    hashable: Any = kind  # to mypy, a class with instances that have a hash is none that has one
    return _made(hashable)


@cache
def _made(kind: type[Request]) -> type[Parameters]:
    name, means = kind.__name__, kind.__doc__
    if issubclass(kind, Job):
        name, means = f"{kind.name.capitalize()}Parameters", kind.body
    hints = get_type_hints(kind, include_extras=True)
    members: dict[str, Any] = {
        one.name: (_model_hint(hints[one.name]), field_of(one)) for one in parameters_of(kind)
    }
    model = create_model(name, __base__=Parameters, __doc__=means, **members)
    for large, size in _LARGE.items():
        if issubclass(kind, large):
            model.BODY = size  # type: ignore[attr-defined]  # which `endpoint.read_model` reads
    return model


def field_of(one: Parameter) -> Any:
    """Return the field of a parameter, its default as the model has it."""
    default: Any = ... if one.required else one.default
    if one.spelling is not None and default not in (..., None):
        default = one.spelling.write(default)
    elif isinstance(default, tuple):
        default = list(default)
    given = {"default": default} if one.empty is None else {"default_factory": _maker(one.empty)}
    return Field(
        **given,
        ge=one.least,
        le=one.most,
        gt=one.above,
        lt=one.below,
        strict=one.strict or None,
        max_length=None if one.spelling is None else one.spelling.longest,
        description=one.means or None,
    )


def _maker(empty: Any) -> Any:
    if isinstance(empty, type) and issubclass(empty, Request):
        return lambda: model_of(empty).model_validate({})
    return list if empty is tuple else empty


def _model_hint(hint: Any) -> Any:
    """Return a type as pydantic takes it: lists for tuples, models for dataclasses."""
    if get_origin(hint) is Annotated:
        kind, size = get_args(hint)
        limits = Field(min_length=size.least, max_length=size.most, pattern=size.pattern)
        return Annotated[_model_hint(kind), limits]
    kinds, optional = alternatives(hint)
    if optional or len(kinds) > 1:
        made = _model_hint(kinds[0])
        for kind in kinds[1:]:
            made |= _model_hint(kind)
        return made | None if optional else made
    origin, inner = get_origin(hint), get_args(hint)
    if origin is tuple:
        return list[_model_hint(inner[0])]  # type: ignore[misc]  # made while running
    if origin is Mapping:
        return dict[_model_hint(inner[0]), _model_hint(inner[1])]  # type: ignore[misc]
    return model_of(hint) if isinstance(hint, type) and issubclass(hint, Request) else hint
