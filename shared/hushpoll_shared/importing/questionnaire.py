"""A questionnaire in no tool's format: what each reader makes, and what drafts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from hushpoll_shared.importing.conditions import Condition

Words = Mapping[str, str]
"""A text in each language in which the file has it; by the file's name of the language."""

UNNAMED: Final = ""
"""The language of texts for which the file names none."""


class Kind(StrEnum):
    """What a respondent gives."""

    ONE = "one choice"
    MANY = "any number of choices"
    WHOLE = "a whole number"
    YES_NO = "yes or no"


@dataclass(frozen=True)
class Choice:
    """One answer that may be chosen.

    Parameters
    ----------
    code : str
        What the tool stores.
    words : mapping
        What is read, by language.
    """

    code: str
    words: Words


@dataclass(frozen=True)
class Table:
    """A table of the form whose rows are questions with one list of choices.

    Parameters
    ----------
    name : str
        As it stands in the file.
    words : mapping
        What is asked of all rows, by language.
    help : mapping
        What stands below that to help, by language.
    shuffled : bool
        Whether the order of the rows is drawn.
    """

    name: str
    words: Words
    help: Words = field(default_factory=dict)
    shuffled: bool = False


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question that has a form here.

    Parameters
    ----------
    name : str
        As it stands in the file.
    where : str
        Its place in the file, such as ``survey, row 5``.
    kind : Kind
        What a respondent gives.
    words : mapping
        The question, by language.
    help : mapping
        What stands below the question, by language.
    choices : tuple of Choice
        What kinds that choose offer.
    low, high : float or None
        Limits of a number.
    at_least, at_most : int or None
        How many choices may be made.
    required : bool
        Whether it must be answered.
    section : mapping or None
        The heading that it stands under, by language.
    condition : Condition or None
        When it is asked; None if always.
    ordered : bool
        Whether its choices are a scale.
    ends : (mapping, mapping) or None
        What is read at the two ends of the scale, by language.
    keeps_last : int or None
        How many of the last choices keep their place where each respondent reads the others in an
        order of their own; None where all read the file's order.
    table : Table or None
        The table of which it is a row.
    row : mapping
        Its text in that table, by language.
    notes : tuple of str
        What of it the reader changed, as sentences.
    undecided : tuple of str
        What of it its author must decide, as sentences.
    """

    name: str
    where: str
    kind: Kind
    words: Words
    help: Words = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    low: float | None = None
    high: float | None = None
    at_least: int | None = None
    at_most: int | None = None
    required: bool = False
    section: Words | None = None
    condition: Condition | None = None
    ordered: bool = False
    ends: tuple[Words, Words] | None = None
    keeps_last: int | None = None
    table: Table | None = None
    row: Words = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dropped:
    """What of a file has no form here.

    Parameters
    ----------
    name : str
        As it stands in the file; its place where it has no name.
    where : str
        Its place in the file.
    reason : str
        Why, and what to do, as a sentence.
    """

    name: str
    where: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Questionnaire:
    """All that a reader has found in a file.

    Parameters
    ----------
    name : str
        For the survey; any text.
    title : mapping
        By language; may be empty.
    language : str or None
        The file's own name of its main language; None if it names none.
    parts : tuple
        Each question, and whatever was dropped, in the file's order.
    notes : tuple of str
        What concerns the whole file, as sentences.
    description, thanks : mapping
        What is read before and after the questions, by language; may be empty.
    """

    name: str
    title: Words
    language: str | None
    parts: tuple[Question | Dropped, ...]
    notes: tuple[str, ...] = ()
    description: Words = field(default_factory=dict)
    thanks: Words = field(default_factory=dict)
