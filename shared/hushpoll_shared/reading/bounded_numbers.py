"""Numbers as texts, within bounds."""

from __future__ import annotations

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import parse_number, parse_whole
from hushpoll_shared.spelling.text import show


def read_bounded(
    text: str,
    field: str,
    *,
    whole: bool = False,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
) -> float:
    """Return the number of a text; one that must be `whole` is an int.

    Raises
    ------
    InvalidParameter
        If it is none, is less than `least` or more than `most`, or is not more than `above`.
    """
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
        raise InvalidParameter(f"{field} is {show(text)}; {remedy}", field=field)
    return number
