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

    Parameters
    ----------
    query : type of Query
        Whose parameters they are.
    given : mapping
        By name; an option that was repeated has its texts.
    survey, before : callable
        Give the survey, and the one that it is compared with; called only for categories.

    Raises
    ------
    InvalidParameter
        See :func:`hushpoll_shared.cli.category_labels.labels`.
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
    """Return the label of each category that is given one.

    Parameters
    ----------
    texts : sequence of str
        ``CATEGORY=LABEL`` each.
    option : str
        Such as ``--map``.
    survey : callable
        Gives the survey; called only if there is a text.
    attribute : str
        Whose categories they are.

    Raises
    ------
    InvalidParameter
        If a text is no pair, or the attribute is unknown.
    """
    if not texts:
        return {}
    domain = survey().attribute(attribute).domain
    return read_pairs(texts, field=option, form="CATEGORY=LABEL", names=domain)
