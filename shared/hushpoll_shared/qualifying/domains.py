"""The domain of a query: conditions on attributes that a report must meet, as texts and words.

``region=North;age=30-39,40-49`` is met by reports of North with one of two ages: the categories of
one attribute are alternatives, and all conditions must hold. A category with a comma, a semicolon
or a quote stands in quotes, as in CSV.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.reading.pairs import quoted, read_list
from hushpoll_shared.spelling.text import show

Where = Mapping[str, Sequence[str]]
"""By attribute, the categories of which a report has one."""

FORM: Final = "ATTRIBUTE=CATEGORY,CATEGORY..."
COLUMN: Final = "reports where"
"""A column of a table file; no attribute can have this name."""

_CONDITION: Final = re.compile(r'([^=;"]+)=((?:"[^"]*"|[^";])+)(?:;|\Z)')


def read_where(text: str, field: str) -> dict[str, tuple[str, ...]]:
    """Return the conditions of a text; :func:`spelled_where` is the inverse."""
    found: dict[str, tuple[str, ...]] = {}
    at = 0
    while at < len(text) or not found:
        condition = _CONDITION.match(text, at)
        if condition is None:
            raise refusal_of(field)(
                f"is {show(text)}; give {FORM} with a semicolon between conditions (or the option "
                "again), and put a category with a comma, a semicolon or a quote into quotes"
            )
        name = condition[1].strip()
        if name in found:
            raise refusal_of(field)(
                f"has two conditions on {show(name)}; give it one with all of its categories, such "
                f"as {name}=A,B"
            )
        found[name] = _distinct(name, tuple(read_list(condition[2], field=field)), field)
        at = condition.end()
    return found


def checked_where(where: object) -> dict[str, tuple[str, ...]] | None:
    """Return conditions that a document has, None without; a TypeError for another form."""
    if not isinstance(where, Mapping):
        raise TypeError("where is no object of attributes")
    for name, categories in where.items():
        named = isinstance(name, str) and isinstance(categories, list | tuple) and categories
        if not named or not all(isinstance(one, str) for one in categories):
            raise TypeError("where is no object of attributes with lists of categories")
    return {name: tuple(categories) for name, categories in where.items()} or None


def spelled_where(where: Where) -> str:
    """Return conditions as a text."""
    marks = '",;'
    return ";".join(
        f"{name}={','.join(quoted(one, marks) for one in categories)}"
        for name, categories in where.items()
    )


def where_words(where: Where) -> str:
    """Return conditions in words, such as ``region is North and age is 30-39 or 40-49``."""
    return " and ".join(f"{name} is {' or '.join(values)}" for name, values in where.items())


def _distinct(name: str, categories: tuple[str, ...], field: str) -> tuple[str, ...]:
    for place, category in enumerate(categories):
        if category in categories[:place]:
            raise refusal_of(field)(f"names {show(category)} of {show(name)} twice; give it once")
    return categories


def domain_line(where: Any) -> str:
    """Return the line of a text that says which reports a result is about."""
    return f"Only of reports where {where_words(where)}."
