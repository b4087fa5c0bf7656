"""Which statistics are about numbers whose records have an anchor in place of the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.querying.query import Query
from hushpoll_shared.survey.published import Published

WITHIN: Final = "given"
"""The parameter that names an attribute whose categories are groups."""


def check_numbers(query: Query[Any], surveys: Iterable[Published]) -> None:
    """Refuse a statistic of the single answers to a number, of which records have an anchor.

    Raises
    ------
    InvalidParameter
        Naming the attribute and what is known of it.
    """
    for published in surveys:
        rounded = {one.name for one in published.attributes if one.rounded}
        for name, parameter in query.names().items() if rounded else ():
            if name not in rounded or (not query.single_answers and parameter != WITHIN):
                continue
            asked = "groups" if parameter == WITHIN else query.single_answers
            raise InvalidParameter(
                f"{name} is answered by a number, and of each answer the records have one of the "
                f"two anchors beside it: {asked} of single numbers are not known; ask for its mean "
                "and quantiles (ordered-answers), which may be within groups of another attribute",
                field=parameter,
            )
