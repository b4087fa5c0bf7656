"""What a published attribute claims of itself, recomputed from what it declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hushpoll_protocols import PROTOCOLS, InvalidParameter, create, format_epsilon, parse_epsilon
from hushpoll_shared.spelling.decimals import check_canonical
from hushpoll_shared.spelling.text import is_name, show
from hushpoll_shared.survey.attributes import PublishedAttribute, hex_thresholds
from hushpoll_shared.survey.drafts import check_keys

_CLEAR_REQUIRED: Final = ("name", "role", "categories")
_CLEAR_KEYS: Final = frozenset({*_CLEAR_REQUIRED, "missing", "question", "positive"})
_PERTURBED_REQUIRED: Final = (*_CLEAR_REQUIRED, "protocol", "epsilon", "parameters", "thresholds")
_PERTURBED_KEYS: Final = _CLEAR_KEYS | frozenset(_PERTURBED_REQUIRED)


def read_claims(value: object, where: str) -> PublishedAttribute:
    """Read one attribute of a published manifest.

    Parameters
    ----------
    value : object
        The JSON value.
    where : str
        Its path by position, for messages before its name is known.

    Raises
    ------
    InvalidParameter
        Naming the attribute: a key unknown or missing, a value outside its rules, a decimal not in
        its one spelling, or a parameter or threshold that is not what the protocol gives.
    """
    if not isinstance(value, Mapping):
        raise InvalidParameter(f"{where} is {show(value)}; it must be an object", field=where)
    if is_name(value.get("name")):
        where = f"attributes[{value['name']}]"
    # `protocol` is what tells the two kinds apart: a sensitive attribute without one is refused
    # below.
    perturbed = value.get("role") == "sensitive" or "protocol" in value
    keys, required = (
        (_PERTURBED_KEYS, _PERTURBED_REQUIRED) if perturbed else (_CLEAR_KEYS, _CLEAR_REQUIRED)
    )
    check_keys(value, keys, required, where=where)
    if not isinstance(value["categories"], list | tuple):
        raise InvalidParameter(
            f"{where}.categories is {show(value['categories'])}; it must be a list of strings",
            field=f"{where}.categories",
        )
    declared = PublishedAttribute(
        name=value["name"],
        role=value["role"],
        categories=tuple(value["categories"]),
        missing=value.get("missing"),
        question=value.get("question"),
        protocol=value.get("protocol"),
        positive=value.get("positive"),
    )
    return _with_oracle(declared, value, where) if perturbed else declared


def _with_oracle(
    declared: PublishedAttribute, value: Mapping[str, Any], where: str
) -> PublishedAttribute:
    """Rebuild the oracle from what is declared and compare what is claimed of it."""
    epsilon = parse_epsilon(
        check_canonical(value["epsilon"], field=f"{where}.epsilon"), field=f"{where}.epsilon"
    )
    parameters = value["parameters"]
    known = PROTOCOLS[declared.protocol].oracle.parameter_names if declared.protocol else ()
    if not isinstance(parameters, Mapping) or not set(parameters) <= set(known):
        raise InvalidParameter(
            f"{where}.parameters is {show(parameters)}; {declared.protocol} has "
            f"{', '.join(known) or 'none'}: resolve the manifest again",
            field=f"{where}.parameters",
        )
    try:
        oracle = create(value["protocol"], k=declared.k, epsilon=epsilon, **parameters)
    except InvalidParameter as error:
        path = f"{where}.parameters.{error.field}" if error.field in parameters else where
        raise InvalidParameter(f"{where}: {error}", field=path) from None
    for claim, computed in (
        ("parameters", dict(oracle.parameters)),
        ("thresholds", hex_thresholds(oracle)),
    ):
        if value[claim] != computed:
            raise InvalidParameter(
                f"{where}.{claim} is {show(value[claim])}, but {oracle.name} with k = {oracle.k} "
                f"and epsilon = {format_epsilon(epsilon)} gives {computed}; "
                "do not answer this survey",
                field=f"{where}.{claim}",
            )
    return replace(declared, oracle=oracle)
