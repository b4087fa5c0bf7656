"""What the rows of a result are, in the words of the table that all statistics share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

GROUPS: Final = "shares in groups"
"""A kind of finding: the largest difference of shares between groups."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tells:
    """What the rows of a section are, in the words of the table that all statistics share.

    What is left out is read from the section: see :mod:`hushpoll_shared.tidying`.

    Attributes
    ----------
    statistic : str
        What is estimated.
    question : str
        Which question, or questions, it is about.
    category : tuple of str
        Members of a row that say of which answer; several stand for answers to several questions.
    group : str
        The question whose categories the groups are.
    reference : str or None
        The group that is subtracted.
    n : int or None
        Reports behind the rows, where they are fewer than those of the result.
    numbers : mapping of str to str
        Members with a number of rows that are no estimates with intervals, and what it is.
    """

    statistic: str = ""
    question: str = ""
    category: tuple[str, ...] = ("category",)
    group: str = ""
    reference: str | None = None
    n: int | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)
