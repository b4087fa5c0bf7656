"""Reading what an author wrote: a mapping from JSON or YAML, key by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from hushpoll_protocols import K_MAX, InvalidParameter
from hushpoll_shared.spelling.canonical import LARGEST_INTEGER
from hushpoll_shared.spelling.text import check_name, is_name, normalized, show
from hushpoll_shared.survey.attributes import Attribute

_KEYS: Final = frozenset(
    {"name", "role", "categories", "range", "missing", "question", "protocol", "positive"}
)


def read_attribute(value: object, *, position: int) -> Attribute:
    """Read one attribute of a draft.

    Parameters
    ----------
    value : object
        The JSON or YAML value; ``range: [a, b]`` stands for the categories a..b, both included.
    position : int
        Its place in the list, for messages before its name is known.

    Raises
    ------
    InvalidParameter
        Naming the attribute, or its position while it has no valid name.
    """
    where = f"attributes[{position}]"
    if not isinstance(value, Mapping):
        raise InvalidParameter(
            f"{where} is {show(value)}; an attribute is a mapping with name, role and categories",
            field=where,
        )
    name = value.get("name")
    if is_name(name):
        where = f"attributes[{name}]"
    check_keys(value, _KEYS, ("name", "role"), where=where)
    texts = {key: normalized(value.get(key)) for key in ("missing", "question", "positive")}
    return Attribute(
        name=check_name(name, field=f"{where}.name"),
        role=value["role"],
        categories=_categories(value, where),
        protocol=value.get("protocol"),
        **texts,  # type: ignore[arg-type]  # the constructor checks that each is a string
    )


def check_keys(
    value: Mapping[Any, object],
    allowed: frozenset[str],
    required: tuple[str, ...],
    *,
    where: str,
    what: str = "the manifest",
) -> None:
    """Refuse a mapping with a key that is not known, or without one that is needed.

    Raises
    ------
    InvalidParameter
        Its ``field`` is the path of the key.
    """
    prefix = f"{where}." if where else ""
    for key in value:
        if key not in allowed:
            raise InvalidParameter(
                f"{where or what} has the unknown key {show(key)}; the keys are "
                f"{', '.join(sorted(allowed))}: remove or rename it",
                field=f"{prefix}{key}"[:200],
            )
    for key in required:
        if value.get(key) is None:
            raise InvalidParameter(f"{where or what} has no {key}; add it", field=f"{prefix}{key}")


def _categories(value: Mapping[Any, Any], where: str) -> tuple[str, ...]:
    categories, bounds = value.get("categories"), value.get("range")
    if (categories is None) == (bounds is None):
        raise InvalidParameter(
            f"{where} has {'neither categories nor a' if bounds is None else 'both categories and'}"
            " range; give exactly one of them",
            field=f"{where}.categories",
        )
    if bounds is not None:
        return _expand(bounds, where)
    if not isinstance(categories, list | tuple):
        raise InvalidParameter(
            f"{where}.categories is {show(categories)}; give a list of strings",
            field=f"{where}.categories",
        )
    # Attribute checks that each is text.
    return tuple(cast("str", normalized(category)) for category in categories)


def _expand(bounds: object, where: str) -> tuple[str, ...]:
    match bounds:
        case [int(low), int(high)] if not isinstance(low, bool) and not isinstance(high, bool):
            if -LARGEST_INTEGER <= low < high <= LARGEST_INTEGER and high - low < K_MAX:
                return tuple(str(number) for number in range(low, high + 1))
    raise InvalidParameter(
        f"{where}.range is {show(bounds)}; a range is two integers [a, b] with a < b and at most "
        f"{K_MAX} numbers, both ends included",
        field=f"{where}.range",
    )
