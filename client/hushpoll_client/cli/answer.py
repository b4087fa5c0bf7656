"""``hushpoll answer``: asks a survey's questions in a terminal, from consent to receipt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from hushpoll_client.cli.interview import interview
from hushpoll_client.cli.ledger import AT_A_TERMINAL, ledger_option
from hushpoll_client.device.ledger import Entry
from hushpoll_client.device.survey_client import SurveyClient
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import BudgetExhausted, HushpollError
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.spelling.text import printable, printable_lines
from hushpoll_shared.survey.consequences import label_text
from hushpoll_shared.survey.terms import INVITED, LARGEST_BATCH

if TYPE_CHECKING:
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.survey.wording import Wording
    from hushpoll_shared.wire.answers import SurveyState

_STATEMENT: Final = """\
The survey {survey!r} of {server} asks for your answers:
{introduction}
If you agree, this computer asks its questions. What the survey calls sensitive is
randomised here, before anything is sent; the rest is sent as you answer it. You see all of it
before it leaves, and can stop until then. What was sent can be taken back until the server has
mixed it with other reports, by this computer alone; after that nobody can take it back, since
nothing tells which report is yours. Deleting files here does not take it back.
That you have answered, the epsilon spent, the number of your report and the secret that takes it
back are kept in
{path},
so that this survey is not answered twice; the report itself until the server has taken it.
To take a report back, and wipe all but the epsilon, which stays spent:
hushpoll ledger withdraw {survey}"""

SEND_SECONDS: Final = 10.0


@click.command()
@click.argument("link")
@click.option("--digest", help="Pin: SHA-256 of the survey, given to you by its author.")
@click.option(
    "--token",
    envvar="HUSHPOLL_RESPONDENT_TOKEN",
    help="Your single-use token. Other users of this machine can read a command line: prefer the "
    "variable.  [env: HUSHPOLL_RESPONDENT_TOKEN]",
)
@click.option(
    "--invitation",
    envvar="HUSHPOLL_INVITATION",
    help="Your invitation, if the link has none. Prefer the variable, as for --token.  "
    "[env: HUSHPOLL_INVITATION]",
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
    invitation: str | None,
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
        "invitation": invitation,
        "max_epsilon": max_epsilon,
        "required_sensitive": sensitive,
        "required_batch": required_batch,
        "config": AT_A_TERMINAL,
    }
    kept: dict[str, Any] = {"max_epsilon_total": max_epsilon_total, "storage": path}
    with SurveyClient.from_link(link, **options, **kept) as client:
        consented = client.consented
    offer = None if consented else _offered(link, options)
    if offer is not None:
        # The survey to which the respondent agrees is the one whose title they have read.
        options["digest"] = offer[0].digest
    with SurveyClient.from_link(link, **options, **kept) as client:
        if offer is not None:
            offered, state = offer
            if not (path.exists() and _entry(client, offered)):
                _check_state(offered, state)
            if not _agrees(client, offered, language, path, console):
                click.echo("Nothing was asked, kept or sent.", err=True)
                sys.exit(1)
        published = client.published
        sending = SEND_SECONDS
        if published.submission == INVITED:
            sending += AT_A_TERMINAL.parting
        if _entry(client, published) is None:
            if consented:
                _check_state(published, client.state)
            if published.submission == INVITED:
                # Now, so that the report comes later, and so that nobody answers in vain.
                client.redeem()
            if consented:
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
        entry = _entry(client, published)
        if published.submission == INVITED and entry is not None and entry.state == "waiting":
            console.print(
                f"The report leaves at a random moment of the next {AT_A_TERMINAL.parting:.0f} "
                "seconds, apart from the invitation. If you stop this command, the report is kept; "
                "send it with: hushpoll ledger send",
                highlight=False,
            )
        client.flush(sending)
        entry = _entry(client, published)
        if entry is None:
            raise _withdrawn(published)
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
        thanks = published.wording(language).thanks
        if thanks is not None and entry.state in ("accepted", "waiting"):
            console.print(f"\n{printable_lines(thanks)}", markup=False, highlight=False)
        if entry.state in ("refused", "dropped"):
            sys.exit(1)


def _offered(link: str, options: dict[str, Any]) -> tuple[Published, SurveyState]:
    """Fetch and check the survey: nobody is asked to agree to one that is not there."""
    with SurveyClient.from_link(link, **options) as client:
        return client.published, client.state


def _check_state(published: Published, state: SurveyState) -> None:
    """Refuse to ask for answers that the survey does not take."""
    if state == "scheduled":
        begins = published.opens_at
        when = "" if begins is None else f": it begins on {begins:%Y-%m-%d at %H:%M} UTC"
        raise HushpollError(
            f"the survey {published.name!r} has not begun{when}. Nothing was asked or sent; please "
            "come back then"
        )
    if state != "open":
        raise HushpollError(
            f"the survey {published.name!r} is closed and takes no more answers. Nothing was asked "
            "or sent"
        )


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


def _entry(client: SurveyClient, published: Published) -> Entry | None:
    """Return what the ledger has of a version; a withdrawn one is not answered again."""
    entries = client.ledger.entries()
    entry = next((entry for entry in entries if entry.digest == published.digest), None)
    if entry is not None and entry.id is None:
        raise _withdrawn(published)
    return entry


def _withdrawn(published: Published) -> BudgetExhausted:
    return BudgetExhausted(f"the answer to {published.name!r} was withdrawn; it is not given again")


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
