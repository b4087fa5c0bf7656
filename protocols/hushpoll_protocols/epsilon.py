"""Reading and writing the privacy parameter epsilon as an exact decimal in [1e-6, 64].

Epsilon is a :class:`decimal.Decimal` from the manifest to the threshold, never a binary float: a
float has no exact decimal meaning that a manifest, a ledger and a browser could agree on.
"""

from __future__ import annotations

import re
from decimal import Decimal

from hushpoll_protocols.errors import refusal_of, show
from hushpoll_protocols.thresholds import own_context, unit

EPSILON_MIN = Decimal("0.000001")
EPSILON_MAX = Decimal(64)
EPSILON_PLACES = 12

_EXACT = own_context(60)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INTERVAL = (
    f"give a decimal number in [1e-6, {EPSILON_MAX}] with at most {EPSILON_PLACES} decimal places, "
    'for example "1.0"'
)


def is_decimal(text: str) -> bool:
    """Whether a text spells a decimal number, by the one rule for every number that people write.

    A sign, ASCII digits with a point at most (``5``, ``0.5``, ``.5``, ``5.``), and an exponent.
    """
    return _NUMBER.fullmatch(text) is not None


def parse_epsilon(value: object, field: str = "epsilon") -> Decimal:
    """Read an epsilon exactly.

    Parameters
    ----------
    value : str, int, float or Decimal
        A number in the closed interval [1e-6, 64] with at most 12 decimal places. A float is read
        through its ``repr``, so ``0.1`` means one tenth.
    field : str
        Name put into the error.

    Returns
    -------
    Decimal
        The value, normalised: equal inputs give equal digits.

    Raises
    ------
    InvalidParameter
        The value is no number, not finite, outside the interval, or has too many decimal places.
    """
    text = _spelled(value)
    if text is None or not is_decimal(text):
        raise refusal_of(field)(
            f"is {show(value)} of type {type(value).__name__}, not a number; {_INTERVAL}"
        )
    number = Decimal(text)
    if not EPSILON_MIN <= number <= EPSILON_MAX:
        raise refusal_of(field)(f"is {show(value)}, outside [1e-6, {EPSILON_MAX}]; {_INTERVAL}")
    # Compared before it is normalised, which would round away a digit past the 60th.
    if number != number.quantize(unit(EPSILON_PLACES), context=_EXACT):
        raise refusal_of(field)(
            f"is {show(value)}, which has more than {EPSILON_PLACES} decimal places; {_INTERVAL}"
        )
    return number.normalize(_EXACT)


def format_epsilon(epsilon: Decimal) -> str:
    """Spell an epsilon in plain notation without trailing zeros, the only form a digest ever sees.

    Parameters
    ----------
    epsilon : Decimal
        A finite decimal.

    Returns
    -------
    str
        Such as ``"4"``, ``"0.5"`` or ``"0.000001"``.
    """
    return format(epsilon.normalize(_EXACT), "f")


def _spelled(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, int):
        # Python refuses to spell an integer of thousands of digits; one step outside is as far.
        return str(min(max(value, -1), int(EPSILON_MAX) + 1))
    if isinstance(value, Decimal):
        return str(value)
    return value if isinstance(value, str) else None
