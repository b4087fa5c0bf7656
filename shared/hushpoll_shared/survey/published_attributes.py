"""One attribute of a published survey, read as a device does: each claim is computed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hushpoll_protocols import (
    PROTOCOLS,
    FrequencyOracle,
    InvalidParameter,
    create,
    format_epsilon,
    parse_epsilon,
)
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.canonical import check_keys
from hushpoll_shared.spelling.decimals import check_canonical
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import check_name, is_name, show
from hushpoll_shared.survey.questions.attributes import TEXTS, PublishedAttribute, hex_thresholds
from hushpoll_shared.survey.questions.follow_ups import read_ask_if
from hushpoll_shared.survey.questions.number import read_number
from hushpoll_shared.survey.questions.presentation import read_ends, read_shuffle
from hushpoll_shared.survey.randomization.blocks import Together

_CLEAR_REQUIRED: Final = ("name", "role", "categories")
_CLEAR_KEYS: Final = frozenset({*_CLEAR_REQUIRED, *TEXTS, "ends", "shuffle"})
_PERTURBED_REQUIRED: Final = (*_CLEAR_REQUIRED, "protocol", "epsilon", "parameters", "thresholds")
LATER_KEYS: Final = ("ask_if", "number")
"""Fields of an attribute that only `BLOCKS_FORMAT` has."""
_PERTURBED_KEYS: Final = _CLEAR_KEYS | frozenset(_PERTURBED_REQUIRED)


def read_attribute(
    value: object, where: str, owners: Mapping[str, Together], later: bool
) -> PublishedAttribute:
    """Read one attribute of a published manifest; `where` is its path until its name is known.

    A question of a block of several, by `owners`, gets the block's oracle from the caller. Only a
    `later` format has follow-ups.
    """
    if not isinstance(value, Mapping):
        raise refusal_of(where)(f"is {show(value)}; it must be an object")
    if is_name(value.get("name")):
        where = f"attributes[{value['name']}]"
    # `protocol` is what tells the two kinds apart: a sensitive attribute without one is refused
    # below.
    owner = owners.get(value["name"]) if is_name(value.get("name")) else None
    perturbed = owner is None and (value.get("role") == "sensitive" or "protocol" in value)
    keys, required = (
        (_PERTURBED_KEYS, _PERTURBED_REQUIRED) if perturbed else (_CLEAR_KEYS, _CLEAR_REQUIRED)
    )
    check_keys(value, keys.union(LATER_KEYS) if later else keys, required, where=where)
    check_name(value["name"], field=f"{where}.name")
    check_no_null(value, where)
    if not isinstance(value["categories"], list | tuple):
        raise refusal_of(f"{where}.categories")(
            f"is {show(value['categories'])}; it must be a list of strings"
        )
    protocol = value.get("protocol")
    if owner is not None and value["role"] != "plain":
        protocol = owner.protocol
    declared = PublishedAttribute(
        name=value["name"],
        role=value["role"],
        categories=tuple(value["categories"]),
        protocol=protocol,
        block=None if owner is None else owner.name,
        ask_if=read_ask_if(value.get("ask_if"), where=where),
        number=read_number(value.get("number"), where=where, published=True),
        ends=read_ends(value.get("ends"), where=where),
        shuffle=read_shuffle(value.get("shuffle"), where=where),
        **{key: value.get(key) for key in TEXTS},
    )
    if not perturbed:
        return declared
    return replace(declared, oracle=checked_oracle(declared.protocol, declared.k, value, where))


def check_no_null(value: JsonObject, where: str) -> None:
    """Refuse a member that is null: what is absent has one spelling, which is to leave it out."""
    for key, inner in value.items():
        if inner is None:
            path = f"{where}.{key}" if where else key
            raise refusal_of(path)("is null; leave it out")


def checked_oracle(
    protocol: str | None, k: int, value: Mapping[str, Any], where: str
) -> FrequencyOracle:
    """Rebuild the oracle from what is declared and compare what is claimed of it."""
    epsilon = parse_epsilon(
        check_canonical(value["epsilon"], field=f"{where}.epsilon"), field=f"{where}.epsilon"
    )
    parameters = value["parameters"]
    known = PROTOCOLS[protocol].oracle.parameter_names if protocol else ()
    if not isinstance(parameters, Mapping) or not set(parameters) <= set(known):
        raise refusal_of(f"{where}.parameters")(
            f"is {show(parameters)}; {protocol} has {', '.join(known) or 'none'}: resolve the "
            "manifest again"
        )
    try:
        oracle = create(value["protocol"], k=k, epsilon=epsilon, **parameters)
    except InvalidParameter as error:
        path = f"{where}.parameters.{error.field}" if error.field in parameters else where
        raise InvalidParameter(f"{where}: {error}", field=path) from None
    for claim, computed in (
        ("parameters", dict(oracle.parameters)),
        ("thresholds", hex_thresholds(oracle)),
    ):
        if value[claim] != computed:
            raise refusal_of(f"{where}.{claim}")(
                f"is {show(value[claim])}, but {oracle.name} with k = {oracle.k} and epsilon = "
                f"{format_epsilon(epsilon)} gives {computed}; do not answer this survey"
            )
    return oracle
