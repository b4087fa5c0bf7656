"""A questionnaire in no tool's format: what each reader makes, and what drafts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

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
    """One answer that may be chosen."""

    code: str
    """What the tool stores."""
    words: Words
    """What is read, by language."""

    @classmethod
    def of_code(cls, code: str) -> Self:
        """Return a choice that is read as it is stored."""
        return cls(code, {UNNAMED: code})


@dataclass(frozen=True)
class Table:
    """A table of the form whose rows are questions with one list of choices; words by language."""

    name: str
    words: Words
    """What is asked of all rows."""
    help: Words = field(default_factory=dict)
    """What stands below that."""
    shuffled: bool = False
    """Whether the order of the rows is drawn."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question that has a form here; words are by language."""

    name: str
    where: str
    """Its place in the file, such as ``survey, row 5``."""
    kind: Kind
    words: Words
    help: Words = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    """What kinds that choose offer."""
    low: float | None = None
    """Limit of a number, as `high` is."""
    high: float | None = None
    at_least: int | None = None
    """Of the choices that are made; so is `at_most`."""
    at_most: int | None = None
    required: bool = False
    section: Words | None = None
    """The heading that it stands under."""
    condition: Condition | None = None
    """When it is asked; None if always."""
    ordered: bool = False
    """Whether its choices are a scale."""
    ends: tuple[Words, Words] | None = None
    """What is read at the two ends of the scale."""
    keeps_last: int | None = None
    """How many of the last choices keep their place where each respondent reads the others in an
    order of their own; None where all read the file's order."""
    table: Table | None = None
    """The table of which it is a row."""
    row: Words = field(default_factory=dict)
    """Its text in that table."""
    notes: tuple[str, ...] = ()
    """What of it the reader changed, as sentences."""
    undecided: tuple[str, ...] = ()
    """What of it its author must decide, as sentences."""

    def with_notes(self, *notes: str) -> Question:
        """Return it with more of what the reader changed."""
        return replace(self, notes=(*self.notes, *notes))

    def drop(self, reason: str) -> DroppedPart:
        """Return what the report says of it where it has no form here."""
        return DroppedPart(self.name, self.where, reason)


@dataclass(frozen=True)
class DroppedPart:
    """What of a file has no form here."""

    name: str
    """Its place where it has no name."""
    where: str
    """Its place in the file."""
    reason: str
    """Why, and what to do, as a sentence."""


@dataclass(frozen=True, kw_only=True)
class Questionnaire:
    """All that a reader has found in a file; words are by language, and may be empty."""

    name: str
    """For the survey; any text."""
    title: Words
    language: str | None
    """The file's own name of its main language; None if it names none."""
    parts: tuple[Question | DroppedPart, ...]
    """Each question, and whatever was dropped, in the file's order."""
    notes: tuple[str, ...] = ()
    """What concerns the whole file, as sentences."""
    description: Words = field(default_factory=dict)
    """What is read before the questions."""
    thanks: Words = field(default_factory=dict)
    """What is read after them."""
