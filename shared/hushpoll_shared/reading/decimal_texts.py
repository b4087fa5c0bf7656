"""Numbers as texts: one spelling for command lines, tables, YAML, forms and addresses.

A number has ASCII digits, a point at most, a sign and an exponent if need be: ``0.5``, ``.5`` and
``5e-1`` are one half. Python also reads ``1_5`` as fifteen, ``nan``, blanks and the digits of other
scripts; people write ``1,5`` and ``1.000,5``. None of these is a number here, and none is guessed.
"""

from __future__ import annotations

import math
import re
from typing import Final

from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter, refusal_of
from hushpoll_shared.spelling.text import show

_COMMA: Final = re.compile(r"[+-]?[0-9]+,[0-9]+")
_BEYOND: Final = frozenset({"inf", "-inf", "nan"})
_DOUBTFUL: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""One thousand and more where a point separates thousands, and a fraction elsewhere."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}")
_GROUPS: Final = re.compile(
    r"[+-]?[0-9]{1,3}(?:[ .,'’_\u00a0\u2009\u202f][0-9]{3})+(?:[.,][0-9]*)?"
)


def parse_number(text: str, *, beyond: bool = False) -> float:
    """Return the number that a text spells, inf and nan only `beyond`; else a ValueError."""
    if is_decimal(text):
        number = float(text)
        if math.isfinite(number):
            return number
    if beyond and text in _BEYOND:
        return float(text)
    raise ValueError(no_number(text))


def doubtful_point(text: str) -> str:
    """Return what is wrong with a number such as ``1.250``, and the remedy."""
    whole, _, places = text.partition(".")
    decimal = f"{whole}.{places}".rstrip("0").rstrip(".")
    if decimal == text:
        decimal += "0"
    return (
        f"the point of {show(text)} may mark decimals or thousands; write {decimal} or "
        f"{whole}{places}"
    )


def has_doubtful_point(text: str) -> bool:
    """Return whether the point of a number may separate thousands, as in ``1.250``."""
    return _DOUBTFUL.fullmatch(text) is not None


def number_of(value: object) -> float | None:
    """Return the finite number that a value of JSON, of YAML or of a form is or spells, or None.

    A text is read by the same rule as on a command line: YAML takes ``.5`` for one.
    """
    if isinstance(value, str):
        value = float(value) if is_decimal(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def parse_whole(text: str) -> int:
    """Return the whole number that a text spells with digits and a sign alone, or a ValueError."""
    if _WHOLE.fullmatch(text):
        return int(text)
    raise ValueError(no_number(text, "a whole number such as 15"))


def no_number(text: str, wanted: str = "a number such as 1.5") -> str:
    """Return what is wrong with a text that is no number, and the remedy."""
    if not text:
        return f"there is no number; give {wanted}"
    if text != text.strip():
        return f"{show(text)} has blanks beside the number; remove them"
    if _GROUPS.fullmatch(text) and not is_decimal(text):
        spelled = ", such as 1000"
        if "whole" not in wanted:
            spelled = ", and a point before decimals, such as 1000.5"
        return (
            f"{show(text)} may have a separator of thousands, or a comma for a point; write the "
            f"digits without one{spelled}"
        )
    if _COMMA.fullmatch(text):
        return f"{show(text)} has a comma; write the decimals after a point, such as 1.5"
    # What a whole number was wanted for may be one with decimals; a number may be too large.
    what = "whole number" if is_decimal(text) and "whole" in wanted else "number"
    return f"{show(text)} is no {what}; give {wanted}"


def read_bounded(
    text: str,
    field: str,
    *,
    whole: bool = False,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
) -> float:
    """Return the number of a text, in [`least`, `most`] and above `above`; an int where `whole`."""
    try:
        number = parse_whole(text) if whole else parse_number(text)
    except ValueError as error:
        raise InvalidParameter(f"{field}: {error}", field=field) from None
    remedy = ""
    if least is not None and number < least:
        remedy = f"give at least {least:g}"
    elif most is not None and number > most:
        remedy = f"give at most {most:g}"
    elif above is not None and number <= above:
        remedy = f"give more than {above:g}"
    if remedy:
        raise refusal_of(field)(f"is {show(text)}; {remedy}")
    return number
