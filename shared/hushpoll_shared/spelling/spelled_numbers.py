"""Numbers as the languages of the page's words spell them, without a library of locales.

The browser spells the same by `Intl`; vectors hold both to the same texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple


class _Marks(NamedTuple):
    decimal: str
    group: str
    grouped_from: int
    """Digits of the shortest whole part that is grouped."""


_MARKS: Final[Mapping[str, _Marks]] = {
    "en": _Marks(".", ",", 4),
    "de": _Marks(",", ".", 4),
    "fr": _Marks(",", "\u202f", 4),
    "es": _Marks(",", ".", 5),
}
SPELLED_LANGUAGES: Final = tuple(_MARKS)


def spelled(value: Decimal, language: str = "en") -> str:
    """Spell a number of no more digits than it has, such as 3,000 or 2.72.

    Parameters
    ----------
    value : Decimal
        At least 0.
    language : str
        One of `SPELLED_LANGUAGES`.
    """
    marks = _MARKS[language]
    whole, _, places = f"{value:f}".partition(".")
    if len(whole) >= marks.grouped_from:
        whole = f"{int(whole):,}".replace(",", marks.group)
    places = places.rstrip("0")
    return f"{whole}{marks.decimal}{places}" if places else whole
