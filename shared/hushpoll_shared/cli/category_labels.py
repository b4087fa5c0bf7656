"""The labels of categories that a command was given, as parameters of its query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hushpoll_shared.querying.query import Query
from hushpoll_shared.reading.pairs import read_pairs
from hushpoll_shared.survey.published import Published


def with_labels(
    query: type[Query[Any]],
    given: Mapping[str, Any],
    survey: Callable[[], Published],
    before: Callable[[], Published],
) -> dict[str, Any]:
    """Return the parameters that a command was given, with its CATEGORY=LABEL as mappings.

    `survey` and `before`, the survey that it is compared with, are called only for categories.
    """
    found = dict(given)
    for one in query.parameters():
        spelling, texts = one.spelling, given.get(one.name)
        if spelling is not None and spelling.pairs and texts:
            attribute = next(given[name] for name in spelling.pairs if given.get(name))
            of = before if spelling.earlier else survey
            found[one.name] = labels(texts, f"--{one.flag}", of, attribute)
    return found


def labels(
    texts: Sequence[str], option: str, survey: Callable[[], Published], attribute: str
) -> dict[str, str]:
    """Return the label of each category by its text CATEGORY=LABEL, if there are any."""
    if not texts:
        return {}
    domain = survey().attribute(attribute).domain
    return read_pairs(texts, field=option, form="CATEGORY=LABEL", names=domain)
