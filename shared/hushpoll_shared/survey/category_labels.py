"""Labels of categories on a command line: ``--map CATEGORY=LABEL``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hushpoll_shared.reading.pairs import read_pairs
from hushpoll_shared.survey.published import Published


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
