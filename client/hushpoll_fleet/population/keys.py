"""Keys and numbers of a population's description, with the path in every refusal."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.attributes import Attribute

_RUN: Final = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})", re.ASCII)


def codes_of(attribute: Attribute, key: object, where: str) -> list[int]:
    """Return the codes that a key names: one category's, or those of a run ``17..24``."""
    text = str(key) if type(key) is int else key
    if isinstance(text, str):
        if text in attribute.domain:
            return [attribute.domain.index(text)]
        run = _RUN.fullmatch(text)
        if run is not None:
            low, high = int(run[1]), int(run[2])
            positions = {category: code for code, category in enumerate(attribute.domain)}
            codes = [
                positions.get(str(number)) for number in range(low, min(high, low + 65536) + 1)
            ]
            if codes and None not in codes:
                return [code for code in codes if code is not None]
    raise InvalidParameter(
        f"{where} names {show(key)}, which is no category of {attribute.name} and no run of its "
        "integer "
        f"categories; its categories are {show(', '.join(attribute.domain))}",
        field=where,
    )


def claim(codes: list[int], left: set[int], attribute: Attribute, key: object, where: str) -> None:
    """Take codes out of those not named yet, or refuse the second naming."""
    if not left.issuperset(codes):
        raise InvalidParameter(
            f"{where} names a category of {attribute.name} twice, the second time in {show(key)}; "
            "name each once",
            field=where,
        )
    left.difference_update(codes)


def finite(value: Any, where: str) -> float:
    """Read a finite number, written as a number or as a decimal string."""
    try:
        number = float(value) if isinstance(value, int | float | str) else float("nan")
    except (ValueError, OverflowError):
        number = float("nan")
    if isinstance(value, bool) or not isfinite(number):
        raise InvalidParameter(f"{where} is {show(value)}; give a finite number", field=where)
    return number
