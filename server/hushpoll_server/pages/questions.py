"""A published survey as the questions of a form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published

MOST_RADIO_BUTTONS = 8
"""Choices that are all shown at once; more go into a list, or are typed if they are numbers."""

Kind = Literal["radio", "select", "number"]


@dataclass(frozen=True)
class Question:
    """One attribute as it is asked.

    Parameters
    ----------
    attribute : str
        Its name.
    text : str
        The question, or the name where the manifest has none.
    kind : str
        ``radio`` for few choices, ``number`` for a run of whole numbers, else ``select``.
    perturbed : bool
        Whether the device randomises the answer.
    choices : tuple of (int, str)
        Code and category of each choice; of a number only the missing category.
    least, most : str
        Smallest and largest number, of a ``number``; else empty.
    """

    attribute: str
    text: str
    kind: Kind
    perturbed: bool
    choices: tuple[tuple[int, str], ...]
    least: str = ""
    most: str = ""


def questions(published: Published) -> tuple[Question, ...]:
    """Return the questions of a survey, in the manifest's order."""
    return tuple(_question(attribute) for attribute in published.attributes)


def _question(attribute: PublishedAttribute) -> Question:
    domain = tuple(enumerate(attribute.domain))
    numbers = attribute.categories
    kind: Kind = "radio" if len(domain) <= MOST_RADIO_BUTTONS else "select"
    if kind == "select" and _consecutive(numbers):
        return Question(
            attribute.name,
            attribute.question or attribute.name,
            "number",
            attribute.perturbed,
            domain[len(numbers) :],
            numbers[0],
            numbers[-1],
        )
    return Question(
        attribute.name,
        attribute.question or attribute.name,
        kind,
        attribute.perturbed,
        domain,
    )


def _consecutive(categories: tuple[str, ...]) -> bool:
    try:
        first = int(categories[0])
    except ValueError:
        return False
    return categories == tuple(str(first + step) for step in range(len(categories)))
