"""The questions of a survey, asked in a terminal one after the other until each answer fits."""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hushpoll_client.device.preview import protection_of
from hushpoll_client.device.sentences import protection_of_block, sent_at_random_sentence
from hushpoll_shared.spelling.labels import trimmed
from hushpoll_shared.spelling.text import printable, printable_lines, quoted
from hushpoll_shared.survey.questions.follow_ups import asks
from hushpoll_shared.survey.randomization.drawn_selects import epsilon_of_question

if TYPE_CHECKING:
    from rich.console import Console

    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.survey.questions.attributes import PublishedAttribute
    from hushpoll_shared.survey.questions.presentation import Shuffle
    from hushpoll_shared.survey.questions.selects import Selection
    from hushpoll_shared.survey.wording import Wording

# Longer lists of answers are not printed; the respondent types the answer.
_LISTED: Final = 12


def interview(
    published: Published,
    console: Console,
    wording: Wording | None = None,
    *,
    shuffle: Callable[[list[int]], None] | None = None,
) -> dict[str, str | list[str] | None]:
    """Ask each question of a survey until its answer fits; store, log and send nothing.

    A section is a page: ``<`` in place of an answer leads to its start, and from there to the
    section before. A question outside sections is a page of its own. The answers are in the
    survey's own words, whatever the wording that is shown; None of a question that was skipped or
    not asked. `shuffle` shuffles a list in place, by default with the operating system's
    randomness. A terminal that is closed raises EOFError.
    """
    wording = wording or published.wording()
    selects = {select.attributes[0]: at for at, select in enumerate(published.selects)}
    options = {name for select in published.selects for name in select.attributes}
    total = len(published.attributes) - len(options) + len(selects)
    shuffle = shuffle or secrets.SystemRandom().shuffle
    answers: dict[str, str | list[str] | None] = {}
    codes: dict[str, int] = {}
    routes = published.layout.routes
    headings = {
        name: (place, words)
        for place, (matrix, words) in enumerate(
            zip(published.matrices, wording.matrices, strict=True)
        )
        for name in matrix.attributes
    }
    asked_of_all = None
    places = [
        at
        for at, attribute in enumerate(published.attributes)
        if attribute.name not in options or attribute.name in selects
    ]
    _draw_items(places, published, shuffle)
    pages = _pages([wording.sections[at] for at in places])
    if total > 1:
        console.print("\nType < in place of an answer to go back.", style="dim", markup=False)
    asked_so_far: list[int] = []
    shown = None
    number = 0
    while number < len(places):
        at = places[number]
        attribute = published.attributes[at]
        if not asks(routes, attribute.name, codes):
            answers[attribute.name] = None
            codes[attribute.name] = attribute.answer_codes - 1
            number += 1
            continue
        section = wording.sections[at]
        if section is not None and pages[number] != shown:
            several = f" ({pages[number] + 1} of {pages[-1] + 1})" if pages[-1] else ""
            console.print(f"\n{printable(section)}{several}", style="bold underline", markup=False)
            asked_of_all = None
        shown = pages[number]
        heading = headings.get(attribute.name)
        if heading is not None and heading != asked_of_all:
            console.print(f"\n{printable(heading[1])}", style="bold underline", markup=False)
            _print_help(wording.helps[at], console)
        asked_of_all = heading
        select = selects.get(attribute.name)
        said = _Said(
            f"{number + 1} of {total}",
            _help_of(wording, at, select, in_matrix=heading is not None),
            _treatment(published, attribute, wording),
            wording.ends[at],
        )
        try:
            if select is not None:
                chosen = _ask_select(
                    published.selects[select],
                    (wording.selects[select], wording.questions[at:]),
                    said,
                    console,
                    shuffle,
                )
                answers[published.selects[select].name] = [
                    one.question or one.name for one in published.attributes if one.name in chosen
                ]
            else:
                words = (wording.questions[at], wording.domains[at][: len(attribute.answers)])
                code = _ask_question(attribute, words, said, console, shuffle, wording.units[at])
                answers[attribute.name] = None if code is None else attribute.answer_of(code)
                codes[attribute.name] = attribute.code(answers[attribute.name])
        except _Back:
            earlier = [one for one in asked_so_far if pages[one] == pages[number]]
            before = asked_so_far[-1] if asked_so_far else number
            start = earlier or [one for one in asked_so_far if pages[one] == pages[before]]
            number = start[0] if start else number
            asked_so_far = [one for one in asked_so_far if one < number]
            for later in places[number:]:
                codes.pop(published.attributes[later].name, None)
            shown = None
            asked_of_all = None
            continue
        asked_so_far.append(number)
        number += 1
    return answers


def _draw_items(
    places: list[int], published: Published, shuffle: Callable[[list[int]], None]
) -> None:
    """Put the places of each matrix's items in the order in which they are asked."""
    names = [published.attributes[at].name for at in places]
    for matrix in published.matrices:
        first = names.index(matrix.attributes[0])
        own = places[first : first + len(matrix.attributes)]
        order = _shown_order(len(own), matrix.shuffle, shuffle)
        places[first : first + len(own)] = [own[place] for place in order]


def _help_of(wording: Wording, at: int, select: int | None, *, in_matrix: bool) -> str | None:
    """Return the help text of a question; that of a matrix stands below its heading."""
    if in_matrix:
        return None
    return wording.helps[at] if select is None else wording.select_helps[select]


def _print_help(words: str | None, console: Console) -> None:
    for line in printable_lines(words or "").splitlines():
        console.print(f"   {line}", markup=False, highlight=False)


class _Back(Exception):
    """The respondent wants to go back."""


def _pages(sections: list[str | None]) -> list[int]:
    """Return the page of each question, from 0: a section, or a question outside sections."""
    pages: list[int] = []
    for place, section in enumerate(sections):
        same = place > 0 and section is not None and section == sections[place - 1]
        pages.append(pages[-1] + (not same) if pages else 0)
    return pages


def _typed(console: Console, answers: Sequence[str]) -> str:
    """Return what is typed at a question; ``<`` goes back where it is none of the answers."""
    typed = unicodedata.normalize("NFC", trimmed(console.input("   > ")))
    if typed == "<" and typed not in answers:
        raise _Back
    return typed


def _shown_order(
    count: int, drawn: Shuffle | None, shuffle: Callable[[list[int]], None]
) -> list[int]:
    """Return the places of answers, 0..count-1, in the order in which they are shown."""
    if drawn is None:
        return list(range(count))
    moving = list(range(count - drawn.last))
    shuffle(moving)
    return [*moving, *range(count - drawn.last, count)]


@dataclass(frozen=True)
class _Said:
    """What is said of a question beside its words: its place, its help text, how it is sent."""

    place: str
    help: str | None
    treatment: str
    ends: tuple[str, str] | None = None

    def show(self, question: str, console: Console) -> None:
        """Print the question with all of it."""
        console.print()
        console.print(f"{self.place}. {printable(question)}", style="bold", markup=False)
        _print_help(self.help, console)
        console.print(f"   {printable(self.treatment)}", style="dim", markup=False)


def _ask_select(
    select: Selection,
    words: tuple[str, tuple[str, ...]],
    said: _Said,
    console: Console,
    shuffle: Callable[[list[int]], None],
) -> set[str]:
    """Ask for the options that apply until they are within the limits; return their names."""
    asked, texts = words
    said.show(asked, console)
    order = _shown_order(len(select.attributes), select.shuffle, shuffle)
    for number, place in enumerate(order, 1):
        console.print(f"   {number}  {printable(texts[place])}", markup=False, highlight=False)
    nothing = "; Enter for none of them" if select.at_least == 0 else ""
    console.print(
        f"   Numbers with commas between them, {select.limits()}{nothing}",
        style="dim",
        markup=False,
    )
    while True:
        typed = _typed(console, ()).replace(",", " ").split()
        numbers = [int(one[:9]) if one.isdecimal() else 0 for one in typed]
        if any(not 1 <= number <= len(order) for number in numbers):
            console.print(
                f"   Please type numbers from 1 to {len(order)}, with commas between them.",
                style="red",
            )
        elif not select.at_least <= len(set(numbers)) <= select.at_most:
            console.print(f"   Please select {select.limits()} of them.", style="red")
        else:
            return {select.attributes[order[number - 1]] for number in numbers}


def _treatment(published: Published, attribute: PublishedAttribute, wording: Wording) -> str:
    """Return how the answer to a question is sent, and how well it is protected."""
    block = published.block_of(attribute.name)
    if block is None:
        return "Sent in clear."
    select = next((one for one in published.selects if attribute.name in one.attributes), None)
    if select is not None:
        epsilon = block.oracle.epsilon
        if block.alone:
            epsilon = epsilon_of_question(published.budget, select)
        words = protection_of_block(epsilon, len(select.attributes)).words
        draw = published.draw_of(block.name)
        if draw is not None:
            words = f"{words} {sent_at_random_sentence(len(draw.blocks), draw.answer)}"
        return f"Randomised before it is sent. {words}"
    words = protection_of(block, published.reach[block.name]).words
    draw = published.draw_of(block.name)
    if draw is not None:
        words = f"{words} {sent_at_random_sentence(len(draw.blocks), draw.answer)}"
    if block.alone:
        return f"Randomised before it is sent. {words}"
    asked = dict(zip((one.name for one in published.attributes), wording.questions, strict=True))
    others = [asked[one.name] for one in block.questions if one.name != attribute.name]
    return (
        "Randomised before it is sent. It is randomised together with the answers to: "
        f"{', '.join(map(quoted, others))}. {words}"
    )


def _ask_question(
    attribute: PublishedAttribute,
    words: tuple[str, tuple[str, ...]],
    said: _Said,
    console: Console,
    shuffle: Callable[[list[int]], None],
    unit: str | None = None,
) -> int | None:
    """Ask for an answer until one fits; return its code, or None if it was skipped."""
    text, domain = words
    number = attribute.number
    said.show(text, console)
    order = _shown_order(len(attribute.categories), attribute.shuffle, shuffle)
    choices = [domain[place] for place in order]
    numbered = len(choices) <= _LISTED and not any(choice.isdigit() for choice in choices)
    if number is not None:
        counted = "" if unit is None else f", {printable(unit)}"
        console.print(
            f"   A whole number from {number.low} to {number.high}{counted}",
            markup=False,
            highlight=False,
        )
        numbered = False
    elif numbered:
        for place_of_choice, choice in enumerate(choices, 1):
            console.print(
                f"   {place_of_choice}  {printable(choice)}", markup=False, highlight=False
            )
    else:
        console.print(f"   {printable(_listed(choices))}", markup=False, highlight=False)
    if said.ends is not None:
        meaning = [
            f"{choices[place]}: {end}" for place, end in zip((0, -1), said.ends, strict=True)
        ]
        console.print(f"   {printable('; '.join(meaning))}", markup=False, highlight=False)
    if attribute.missing is not None:
        skipped = printable(domain[-1])
        console.print(f"   Enter skips: {skipped}", style="dim", markup=False)
    while True:
        typed = _typed(console, choices)
        if not typed and attribute.missing is not None:
            return None
        if number is not None:
            value = number.value_of(typed)
            if value is not None:
                return value - number.low
            console.print(
                f"   That is no whole number from {number.low} to {number.high}; please try again.",
                style="red",
            )
            continue
        if numbered and typed.isdecimal() and 1 <= int(typed[:9]) <= len(choices):
            return order[int(typed) - 1]
        # A terminal shows no blank at the end of an answer, which an older survey may have.
        same = [code for code, choice in enumerate(choices) if typed in (choice, trimmed(choice))]
        if len(same) == 1 or typed in choices:
            return order[choices.index(typed) if typed in choices else same[0]]
        console.print("   That is none of the answers; please try again.", style="red")


def _listed(choices: list[str]) -> str:
    if len(choices) <= _LISTED:
        return ", ".join(choices)
    return f"{choices[0]}, {choices[1]}, … {choices[-1]} ({len(choices)} answers)"
