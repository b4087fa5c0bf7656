"""``hushpoll answer``: asks a survey's questions in a terminal, from consent to receipt."""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hushpoll_client.cli.ledger import AT_A_TERMINAL, ledger_option
from hushpoll_client.device.ledger import Entry
from hushpoll_client.device.preview import protection_of
from hushpoll_client.device.sentences import protection_of_block, sent_at_random_sentence
from hushpoll_client.device.survey_client import SurveyClient
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import BudgetExhausted
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.spelling.labels import trimmed
from hushpoll_shared.spelling.text import printable, printable_lines
from hushpoll_shared.survey.consequences import label_text
from hushpoll_shared.survey.drawn_selects import epsilon_of_question
from hushpoll_shared.survey.follow_ups import asks
from hushpoll_shared.survey.terms import LARGEST_BATCH

if TYPE_CHECKING:
    from rich.console import Console

    from hushpoll_shared.survey.attributes import PublishedAttribute
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.survey.selects import Selection
    from hushpoll_shared.survey.wording import Wording

_STATEMENT: Final = """\
The survey {survey!r} of {server} asks for your answers:
{introduction}
If you agree, this computer asks its questions. What the survey calls sensitive is
randomised here, before anything is sent; the rest is sent as you answer it. You see all of it
before it leaves, and can stop until then. What was sent stays with the server: nobody can take it
back, and deleting files here does not change that.
That you have answered, the epsilon spent and the number of your report are kept in
{path},
so that this survey is not answered twice; the report itself until the server has taken it.
To stop a report that waits, and wipe all but the epsilon: hushpoll ledger withdraw {survey}"""

SEND_SECONDS: Final = 10.0
# Longer lists of answers are not printed; the respondent types the answer.
_LISTED: Final = 12


@click.command()
@click.argument("link")
@click.option("--digest", help="Pin: SHA-256 of the survey, given to you by its author.")
@click.option(
    "--token",
    envvar="HUSHPOLL_RESPONDENT_TOKEN",
    help="Your single-use token. Other users of this machine can read a command line: prefer the "
    "variable.  [env: HUSHPOLL_RESPONDENT_TOKEN]",
)
@click.option("--max-epsilon", help="Most that this survey may spend, over all its versions.")
@click.option("--max-epsilon-total", help="Most that all surveys in the ledger may spend.")
@click.option(
    "--sensitive", multiple=True, help="Attribute that must never leave in clear; repeatable."
)
@click.option(
    "--required-batch",
    type=click.IntRange(1, LARGEST_BATCH),
    help="Fewest reports that the survey may release at once.",
)
@click.option("--language", help="Language of the questions, such as de, if the survey has it.")
@ledger_option
@json_option
@reports_errors
def answer(
    link: str,
    digest: str | None,
    token: str | None,
    max_epsilon: str | None,
    max_epsilon_total: str | None,
    sensitive: tuple[str, ...],
    required_batch: int | None,
    language: str | None,
    path: Path,
    as_json: bool,
) -> None:
    """Answer the survey at LINK, such as https://polls.example.org/s/work-and-health.

    A digest in the link (#sha256=DIGEST) or --digest pins the survey. A survey is answered once:
    asked again, the same report stands. Without a network the report is kept, and sent by the next
    `hushpoll answer` or `hushpoll ledger send`.
    """
    from rich.console import Console

    # Questions go to standard error, so that standard output has the result alone.
    console = Console(stderr=True, soft_wrap=True, emoji=False)
    options: dict[str, Any] = {
        "digest": digest,
        "token": token,
        "max_epsilon": max_epsilon,
        "required_sensitive": sensitive,
        "required_batch": required_batch,
        "config": AT_A_TERMINAL,
    }
    kept: dict[str, Any] = {"max_epsilon_total": max_epsilon_total, "storage": path}
    with SurveyClient.from_link(link, **options, **kept) as client:
        consented = client.consented
    offered = None if consented else _offered(link, options)
    if offered is not None:
        # The survey to which the respondent agrees is the one whose title they have read.
        options["digest"] = offered.digest
    with SurveyClient.from_link(link, **options, **kept) as client:
        if offered is not None and not _agrees(client, offered, language, path, console):
            click.echo("Nothing was asked, kept or sent.", err=True)
            sys.exit(1)
        published = client.published
        if _entry(client) is None:
            if offered is None:
                introduction = _introduction(published, published.wording(language))
                console.print(introduction, markup=False, highlight=False)
            answers = _ask(client, console, language)
            if answers is None:
                click.echo("Nothing was randomised, spent or sent.", err=True)
                sys.exit(1)
            client.randomize(answers)
        else:
            console.print(
                "With this ledger this version was answered before: its one report stands, and "
                "nothing is asked again.\nAnother person answers with a ledger of their own: "
                "--ledger FILE",
                highlight=False,
            )
        client.flush(SEND_SECONDS)
        entry = _entry(client)
        if entry is None or entry.id is None:
            raise BudgetExhausted(
                f"the answer to {published.name!r} was withdrawn; it is not given again"
            )
        document = {
            "status": entry.state,
            "survey": published.name,
            "version": published.version,
            "digest": entry.digest,
            "id": entry.id,
            "epsilon": format_epsilon(entry.epsilon),
            "epsilon_spent": format_epsilon(client.ledger.spent()),
        }
        emit(document, lambda: _receipt(document, entry), as_json=as_json)
        if entry.state in ("refused", "dropped"):
            sys.exit(1)


def _offered(link: str, options: dict[str, Any]) -> Published:
    """Fetch and check the survey: nobody is asked to agree to one that is not there."""
    with SurveyClient.from_link(link, **options) as client:
        return client.published


def _agrees(
    client: SurveyClient, offered: Published, language: str | None, path: Path, console: Any
) -> bool:
    # Respondents agree to an operator and a purpose, so the statement that is kept has both.
    statement = _STATEMENT.format(
        survey=client.survey,
        server=client.server,
        introduction=_introduction(offered, offered.wording(language)),
        path=path,
    )
    console.print(statement, markup=False, highlight=False)
    return _yes("Do you agree?", console) and client.give_consent(statement)


def _introduction(published: Published, wording: Wording) -> str:
    """Say what the survey is, who asks, and what for."""
    lines = [printable(wording.title)]
    if published.operator:
        lines.append(f"Asked by: {printable(published.operator)}")
    if wording.purpose:
        lines.append(f"Purpose: {printable_lines(wording.purpose)}")
    if wording.description:
        lines.append(printable_lines(wording.description))
    return "\n".join(lines)


def _ask(
    client: SurveyClient, console: Any, language: str | None
) -> dict[str, str | list[str] | None] | None:
    published = client.published
    wording = published.wording(language)
    others = [tag for tag in published.languages if tag != wording.language]
    if others:
        console.print(f"Also in: {', '.join(others)} (--language)", style="dim", markup=False)
    try:
        answers = interview(published, console, wording)
    except EOFError:
        return None
    console.print("\nThis will leave your computer:\n", style="bold")
    preview = printable_lines(str(client.preview(answers, language=language)))
    console.print(preview, markup=False, highlight=False)
    console.print(f"\n{label_text(published)}", markup=False, highlight=False)
    return answers if _yes("\nRandomise and send it?", console) else None


def _yes(question: str, console: Any) -> bool:
    try:
        reply: str = console.input(f"{question} \\[y/N] ")
    except EOFError:
        return False
    return reply.strip().lower() in {"y", "yes"}


def _entry(client: SurveyClient) -> Entry | None:
    digest = client.published.digest
    return next((entry for entry in client.ledger.entries() if entry.digest == digest), None)


def _receipt(document: dict[str, Any], entry: Entry) -> str:
    result = {
        "accepted": "Sent, and acknowledged by the server, where it stays. The report is not kept "
        "here any more.",
        "waiting": "The server did not acknowledge the report, which may have arrived all the "
        "same. It is kept, and cannot be changed; send it again with: hushpoll ledger send",
        "refused": f"The server refused the report for good: {entry.reason}.",
        "dropped": "The app that keeps this ledger refused to send the report, and deleted it.",
    }[entry.state]
    return "\n".join(
        (
            result,
            f"survey: {document['survey']} version {document['version']}",
            f"digest: {document['digest']}",
            f"report: {document['id']}",
            f"epsilon: {document['epsilon']}; spent on all surveys: {document['epsilon_spent']}",
        )
    )


def interview(
    published: Published, console: Console, wording: Wording | None = None
) -> dict[str, str | list[str] | None]:
    """Ask each question of a survey until its answer fits; store, log and send nothing.

    Parameters
    ----------
    published : Published
        The survey.
    console : Console
        The terminal.
    wording : Wording or None
        The words that are shown; the survey's own by default.

    Returns
    -------
    dict of str to str, None or list of str
        A category per attribute, and for a select-all the options that apply, in the survey's own
        words; None where the respondent skipped the question, which is possible where the attribute
        has a category for missing answers, and of a follow-up that was not asked.

    Raises
    ------
    EOFError
        If the terminal is closed.
    """
    wording = wording or published.wording()
    selects = {select.attributes[0]: at for at, select in enumerate(published.selects)}
    options = {name for select in published.selects for name in select.attributes}
    total = len(published.attributes) - len(options) + len(selects)
    number = 0
    answers: dict[str, str | list[str] | None] = {}
    section = None
    codes: dict[str, int] = {}
    routes = published.layout.routes
    for at, attribute in enumerate(published.attributes):
        if attribute.name in options and attribute.name not in selects:
            continue
        number += 1
        if not asks(routes, attribute.name, codes):
            answers[attribute.name] = None
            codes[attribute.name] = attribute.answer_codes - 1
            continue
        if wording.sections[at] != section:
            section = wording.sections[at]
            if section is not None:
                console.print(f"\n{printable(section)}", style="bold underline", markup=False)
        treatment = _treatment(published, attribute, wording)
        place = f"{number} of {total}"
        if attribute.name in selects:
            select = published.selects[selects[attribute.name]]
            texts = wording.questions[at : at + len(select.attributes)]
            asked = wording.selects[selects[attribute.name]]
            said = _Said(place, wording.select_helps[selects[attribute.name]], treatment)
            chosen = _ask_select(select, (asked, texts), said, console)
            answers[select.name] = [
                one.question or one.name
                for one in published.attributes[at : at + len(texts)]
                if one.name in chosen
            ]
            continue
        words = (wording.questions[at], wording.domains[at][: len(attribute.answers)])
        said = _Said(place, wording.helps[at], treatment)
        code = _ask_question(attribute, words, said, console, wording.units[at])
        answers[attribute.name] = None if code is None else attribute.answer_of(code)
        codes[attribute.name] = attribute.code(answers[attribute.name])
    return answers


@dataclass(frozen=True)
class _Said:
    """What is said of a question beside its words: its place, its help text, how it is sent."""

    place: str
    help: str | None
    treatment: str

    def show(self, question: str, console: Console) -> None:
        """Print the question with all of it."""
        console.print()
        console.print(f"{self.place}. {printable(question)}", style="bold", markup=False)
        for line in printable_lines(self.help or "").splitlines():
            console.print(f"   {line}", markup=False, highlight=False)
        console.print(f"   {printable(self.treatment)}", style="dim", markup=False)


def _ask_select(
    select: Selection,
    words: tuple[str, tuple[str, ...]],
    said: _Said,
    console: Console,
) -> set[str]:
    """Ask for the options that apply until they are within the limits; return their names."""
    asked, texts = words
    said.show(asked, console)
    for number, text in enumerate(texts, 1):
        console.print(f"   {number}  {printable(text)}", markup=False, highlight=False)
    nothing = "; Enter for none of them" if select.at_least == 0 else ""
    console.print(
        f"   Numbers with commas between them, {select.limits()}{nothing}",
        style="dim",
        markup=False,
    )
    while True:
        typed = console.input("   > ").replace(",", " ").split()
        numbers = [int(one[:9]) if one.isdecimal() else 0 for one in typed]
        if any(not 1 <= number <= len(texts) for number in numbers):
            console.print(
                f"   Please type numbers from 1 to {len(texts)}, with commas between them.",
                style="red",
            )
        elif not select.at_least <= len(set(numbers)) <= select.at_most:
            console.print(f"   Please select {select.limits()} of them.", style="red")
        else:
            return {select.attributes[number - 1] for number in numbers}


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
        f"{' / '.join(others)}. {words}"
    )


def _ask_question(
    attribute: PublishedAttribute,
    words: tuple[str, tuple[str, ...]],
    said: _Said,
    console: Console,
    unit: str | None = None,
) -> int | None:
    """Ask for an answer until one fits; return its code, or None if it was skipped."""
    text, domain = words
    number = attribute.number
    said.show(text, console)
    choices = list(domain[: len(attribute.categories)])
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
    if attribute.missing is not None:
        skipped = printable(domain[-1])
        console.print(f"   Enter skips: {skipped}", style="dim", markup=False)
    while True:
        typed = unicodedata.normalize("NFC", trimmed(console.input("   > ")))
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
            return int(typed) - 1
        # A terminal shows no blank at the end of an answer, which an older survey may have.
        same = [code for code, choice in enumerate(choices) if typed in (choice, trimmed(choice))]
        if len(same) == 1 or typed in choices:
            return choices.index(typed) if typed in choices else same[0]
        console.print("   That is none of the answers; please try again.", style="red")


def _listed(choices: list[str]) -> str:
    if len(choices) <= _LISTED:
        return ", ".join(choices)
    return f"{choices[0]}, {choices[1]}, … {choices[-1]} ({len(choices)} answers)"
