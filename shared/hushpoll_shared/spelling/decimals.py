"""Decimals with one spelling: no exponent, no superfluous zero, never through binary floats.

Values are exact whatever the host app has set as the thread's decimal context: they are compared
and built, never computed with.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from hushpoll_protocols import InvalidParameter, format_epsilon
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.text import show

PLACES: Final = 12
"""Most digits after the point of an epsilon or a weight."""

LARGEST_WEIGHT: Final = 1_000_000

_CANONICAL: Final = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
# The rule of `is_decimal`, for numbers above 0 that take no time to read.
_WRITTEN: Final = re.compile(
    r"\+?(?:[0-9]{1,20}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,2})?"
)


def check_canonical(value: object, *, field: str) -> str:
    """Return `value` if it is a decimal written in its one form: a string, without an exponent."""
    if not isinstance(value, str) or not _CANONICAL.fullmatch(value):
        raise InvalidParameter(
            f"{field} is {show(value)}; a published decimal is a string without exponent, sign or "
            'superfluous zero, such as "0.25"',
            field=field,
        )
    return value


def parse_weight(value: object, *, field: str) -> Decimal:
    """Read a weight in (0, 1000000] of at most 12 decimals exactly; a float is read by its repr."""
    if isinstance(value, (int, float, str, Decimal)) and not isinstance(value, bool):
        text = repr(value) if isinstance(value, float) else str(value)
        if _WRITTEN.fullmatch(text):
            # Building from the plain spelling rounds to no context and drops trailing zeros.
            number = Decimal(format_epsilon(Decimal(text)))
            exponent = number.as_tuple().exponent
            if 0 < number <= LARGEST_WEIGHT and isinstance(exponent, int) and exponent >= -PLACES:
                return number
    raise refusal_of(field)(
        f"is {show(value)}; a weight is a number in (0, {LARGEST_WEIGHT}] with at most {PLACES} "
        "decimals: correct it, and to keep an answer out of the budget make it plain"
    )
