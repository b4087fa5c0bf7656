"""Asking a survey's questions in a terminal."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from hushpoll_client.device.sentences import protection_of_question
from hushpoll_shared.spelling.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from hushpoll_shared.survey.attributes import PublishedAttribute
    from hushpoll_shared.survey.published import Published

# Longer lists are not printed: the respondent types the answer.
_LISTED: Final = 12


def interview(published: Published, console: Console) -> dict[str, str | None]:
    """Ask every question until its answer fits; nothing is kept, logged or sent.

    Parameters
    ----------
    published : Published
        The survey.
    console : Console
        Where to ask.

    Returns
    -------
    dict of str to str or None
        A category per attribute; None where the question was skipped, which the survey allows by a
        category for missing answers.

    Raises
    ------
    EOFError
        If the terminal was closed.
    """
    total = len(published.attributes)
    return {
        one.name: _ask(one, f"{number} of {total}", console)
        for number, one in enumerate(published.attributes, 1)
    }


def _ask(attribute: PublishedAttribute, place: str, console: Console) -> str | None:
    fate = "Sent in clear."
    if attribute.oracle is not None:
        protection = protection_of_question(attribute.oracle.epsilon)
        fate = f"Randomised before it is sent. {protection.words}"
    console.print()
    question = printable(attribute.question or attribute.name)
    console.print(f"{place}. {question}", style="bold", markup=False)
    console.print(f"   {fate}", style="dim", markup=False)
    choices = list(attribute.domain[:-1] if attribute.missing is not None else attribute.domain)
    numbered = len(choices) <= _LISTED and not any(choice.isdigit() for choice in choices)
    if numbered:
        for number, choice in enumerate(choices, 1):
            console.print(f"   {number}  {printable(choice)}", markup=False, highlight=False)
    else:
        console.print(f"   {printable(_shown(choices))}", markup=False, highlight=False)
    if attribute.missing is not None:
        skipped = printable(attribute.missing)
        console.print(f"   Enter skips: {skipped}", style="dim", markup=False)
    while True:
        given = unicodedata.normalize("NFC", console.input("   > ").strip())
        if not given and attribute.missing is not None:
            return None
        if numbered and given.isdecimal() and 1 <= int(given[:9]) <= len(choices):
            return choices[int(given) - 1]
        if given in choices:
            return given
        console.print("   That is none of the answers; please try again.", style="red")


def _shown(choices: list[str]) -> str:
    if len(choices) <= _LISTED:
        return ", ".join(choices)
    return f"{choices[0]}, {choices[1]}, … {choices[-1]} ({len(choices)} answers)"
