"""``hushpoll survey``: publish, show, list, close, respondents' tokens, who may embed it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import wait_for
from hushpoll_client.cli.options import (
    Output,
    analyst,
    analyst_command,
    job_watch,
    optional_url_option,
    published_lines,
    required_token,
    required_url,
    survey_command,
    timeout_option,
    token_option,
    url_option,
    version_option,
    yes_option,
)
from hushpoll_client.device.preview import build_preview
from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.cli.terminal import (
    CommandGroup,
    agreed,
    emit,
    emit_answer,
    json_option,
    progress,
    reports_errors,
    waiting,
)
from hushpoll_shared.drafts.manifest import load_manifest
from hushpoll_shared.reading.people import read_people
from hushpoll_shared.reading.text_files import read_document
from hushpoll_shared.samples import sample_manifest
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.survey.consequences import label_text
from hushpoll_shared.survey.protection import Level, weak_protection
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents.administration import MailPreviewDocument
from hushpoll_shared.wire.documents.jobs import JobDocument, MailsSent

_texts_option: Final = click.option(
    "--texts",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Your own texts, in YAML or JSON: by language a subject and a body with {link}.",
)
_preview_option: Final = click.option(
    "--preview",
    is_flag=True,
    help="Show the mails in each language, as a person who is made up would get them; send none.",
)
_MOST_TOKENS: Final = 10_000
"""Most respondent tokens that are asked for at a time."""


@click.group(cls=CommandGroup)
def survey() -> None:
    """Publish, show, list and close surveys, and issue tokens to respondents."""


@survey.command()
def example() -> None:
    """Print the manifest of a sample survey, to start your own from."""
    click.echo(sample_manifest(), nl=False)


@survey.command()
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@optional_url_option
@token_option
@click.option("--dry-run", is_flag=True, help="Check and resolve the manifest, publish nothing.")
@click.option(
    "--allow-weak",
    is_flag=True,
    help="Publish although respondents are hardly protected: an epsilon above 8 for a question, or "
    "above 16 in all.",
)
@json_option
@reports_errors
def publish(
    manifest: Path,
    url: str | None,
    token: str | None,
    dry_run: bool,
    allow_weak: bool,
    as_json: bool,
) -> None:
    """Publish the survey that MANIFEST (.json, .yaml) describes.

    A published version never changes; publishing the same content again does nothing.
    """
    draft = load_manifest(manifest)
    resolved = draft.resolve()
    if dry_run:
        emit(resolved.to_dict(), lambda: _rehearsed(resolved, allow_weak), as_json=as_json)
        return
    address = required_url(url)
    with analyst(address, required_token(token)) as client:
        answer = client.publish(draft.to_dict(), allow_weak=allow_weak)
    page = f"page for respondents: {address.rstrip('/')}/s/{draft.name}"
    emit_answer(answer, lambda told: "\n".join(published_lines(told, page)), as_json=as_json)


@survey.command()
@click.argument("name")
@version_option
@url_option
@json_option
@reports_errors
def show(name: str, version: int | None, url: str, as_json: bool) -> None:
    """Show what the survey NAME collects in clear and what it randomises, and how well."""
    with analyst(url, None) as client:
        published = client.show(name, version)
    emit(published.to_dict(), lambda: _told(published), as_json=as_json)


@survey.command("list")
@url_option
@token_option
@json_option
@reports_errors
def list_surveys(url: str, token: str | None, as_json: bool) -> None:
    """List all versions of all surveys; with a token, how many reports each has."""
    with analyst(url, token) as client:
        document = {"surveys": client.surveys()}
    emit_answer(document, lambda answer: _listed(answer["surveys"]), as_json=as_json)


@survey.command()
@survey_command(
    click.option(
        "--grace",
        type=click.IntRange(min=0),
        metavar="SECONDS",
        help="For how long the server still accepts reports of offline devices.",
    ),
    yes_option,
)
def close(client: AnalystClient, name: str, version: int, grace: int | None, yes: bool) -> Output:
    """Close the survey NAME, for good."""
    agreed(
        f"Close {name} version {version}? Nobody can answer it then. This cannot be undone.",
        yes=yes,
    )
    return (
        client.close(name, version, grace_seconds=grace),
        lambda answer: (
            f"{answer.get('survey')} version {answer.get('version')} is {answer.get('state')}; "
            f"reports are taken until {answer.get('accepts_until')}"
        ),
    )


@survey.command("delete-records")
@click.argument("name")
@click.argument("version", type=click.IntRange(min=1))
@yes_option
@analyst_command
def delete_records(client: AnalystClient, name: str, version: int, yes: bool) -> Output:
    """Delete the records of VERSION of the survey NAME, which must be over, for good.

    Estimates and most cross-tables are still given; nothing can be exported or trained on any more.
    """
    agreed(f"Delete all records of {name} version {version}? This cannot be undone.", yes=yes)
    return (
        client.delete_records(name, version),
        lambda answer: (
            f"{answer.get('deleted')} records of {name} version {version} deleted at "
            f"{answer.get('deleted_at')}"
        ),
    )


@survey.command()
@click.argument("name")
@click.argument("origins", nargs=-1, metavar="[ORIGIN]...")
@click.option("--none", "clear", is_flag=True, help="Let no page answer it any more.")
@analyst_command
def origins(client: AnalystClient, name: str, origins: tuple[str, ...], clear: bool) -> Output:
    """Let web pages of each ORIGIN, and of no other, answer the survey NAME.

    An ORIGIN is scheme and host, such as https://survey.example.org. Without any, show which hold.
    The page that the server itself hosts needs none.
    """
    if clear and origins:
        raise click.UsageError("Give either origins or --none.")
    allowed = client.set_origins(name, origins) if origins or clear else client.origins(name)
    return (
        {"name": name, "origins": allowed},
        lambda answer: (
            "\n".join(answer["origins"]) or f"No page of another origin may answer {name}."
        ),
    )


@survey.command("issue-tokens")
@click.argument("name")
@click.option(
    "--count",
    type=click.IntRange(1, 1_000_000),
    required=True,
    help="How many, one for each respondent.",
)
@click.option(
    "--links",
    is_flag=True,
    help="Write links to the page that the server hosts, each with a token, in place of tokens.",
)
@out_option("File to write, which you alone may read; without it they are printed.")
@analyst_command
def issue_tokens(
    client: AnalystClient, name: str, count: int, links: bool, out: Path | None
) -> Output:
    """Issue single-use tokens for the respondents of the survey NAME, one a line.

    Each is worth one report, to any version of a survey with submission: token. They are shown this
    once: the server keeps only hashes. The token of the command needs the scope publish.
    """
    published = client.show(name)
    return _issued(
        lambda part: client.mint_tokens(name, part),
        (lambda token: client.respondent_link(published, token)) if links else str,
        (f"tokens of {name}", "links" if links else "tokens", name),
        {"survey": name},
        count,
        out,
    )


@survey.command()
@click.argument("name")
@version_option
@click.option(
    "--count",
    type=click.IntRange(1, 1_000_000),
    help="How many, one for each respondent, as links that you hand out.",
)
@click.option(
    "--from",
    "people_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PEOPLE.csv",
    help="Invite the people of a table by mail: columns address and, if you like, name, language.",
)
@_texts_option
@_preview_option
@timeout_option("Seconds to wait until all mails are sent; 0 does not wait.")
@click.option(
    "--codes",
    is_flag=True,
    help="Write the codes alone, for an app of your own, in place of links to the hosted page.",
)
@out_option("File to write, which you alone may read; without it they are printed.")
@analyst_command
def invite(
    client: AnalystClient,
    name: str,
    version: int | None,
    count: int | None,
    people_file: Path | None,
    texts: Path | None,
    preview: bool,
    timeout: float,
    codes: bool,
    out: Path | None,
) -> Output:
    """Issue invitations to the survey NAME: a link for each respondent a line, or by mail.

    Each is redeemed once, for a token that the server cannot link to it, and so worth one report.
    The version must have submission: invited. Links are shown this once: the server keeps hashes.
    With --from the server sends each person a link. The whole table is checked first. The server
    keeps the addresses encrypted, and deletes them once the survey is closed. With --preview it
    shows the mails and sends none, which needs no mail server; a table is checked, too. The token
    of the command needs the scope publish, and read to wait for the mails.
    """
    if preview and count is not None:
        raise click.UsageError("'--preview' is of mails, and '--count' makes links.")
    if not preview and (count is None) == (people_file is None):
        raise click.UsageError(
            "Give one of '--count' (links that you hand out) and '--from' (mails)."
        )
    published = client.show(name, version)
    if people_file is not None or preview:
        if codes or out is not None:
            raise click.UsageError("'--codes' and '--out' are of links, not of mails.")
        people = (
            []
            if people_file is None
            else read_people(people_file, published.languages, most=_MOST_TOKENS)
        )
        own = _read_texts(texts)
        if preview:
            mails = client.mail_previews(name, published.version, own, people=people)
            return _mails(name, published.version, mails)
        document = client.invite_people(name, published.version, people, own)
        return _mails_sent(client, f"invitations to {name}", document, timeout)
    if texts is not None:
        raise click.UsageError("'--texts' are of mails; give '--from'.")
    assert count is not None  # noqa: S101  # one of the two was given
    return _issued(
        lambda part: client.issue_invitations(name, published.version, part),
        str if codes else (lambda code: client.invitation_link(published, code)),
        (f"invitations to {name}", "codes" if codes else "links", "invitations"),
        {"survey": name, "version": published.version},
        count,
        out,
    )


@survey.command()
@survey_command(
    _texts_option,
    _preview_option,
    timeout_option("Seconds to wait until all mails are sent; 0 does not wait."),
)
def remind(
    client: AnalystClient,
    name: str,
    version: int,
    texts: Path | None,
    preview: bool,
    timeout: float,
) -> Output:
    """Remind by mail those whose invitation to the survey NAME is not redeemed.

    Nobody who has redeemed gets a mail. A redeemed invitation is no report yet, and who has
    answered is not known. People to whom the invitation was never sent get it now.
    """
    own = _read_texts(texts)
    if preview:
        return _mails(name, version, client.mail_previews(name, version, own, reminder=True))
    document = client.remind_people(name, version, own)
    return _mails_sent(client, f"reminders of {name}", document, timeout)


@survey.command()
@survey_command()
def invitations(client: AnalystClient, name: str, version: int) -> Output:
    """Show how many invitations to the survey NAME there are, and how many are redeemed.

    A redeemed invitation is no report yet, and nothing tells which report came of which.
    """
    return {"survey": name, **client.invitation_counts(name, version)}, _invited


@survey.command()
@survey_command()
def tokens(client: AnalystClient, name: str, version: int) -> Output:
    """Show how many respondents' tokens of the survey NAME are spent, and how many are not.

    Each report spends one. While a survey releases its reports on a schedule, the numbers are not
    shown before it is over, because they would tell who answers when.
    """
    return {"survey": name, **client.token_counts(name, version)}, _counted


def _read_texts(path: Path | None) -> dict[str, JsonObject] | None:
    """Read the texts of mails: by language an object of subject and body."""
    if path is None:
        return None
    document = read_document(path, field="texts", noun="the texts")
    if not isinstance(document, dict) or not all(
        isinstance(text, dict) for text in document.values()
    ):
        raise InvalidParameter(
            f"{path} has no texts by language; write a language such as en, and below it subject "
            "and body",
            field="texts",
        )
    return document


def _mails(name: str, version: int, mails: list[MailPreviewDocument]) -> Output:
    """Tell mails that nobody gets: their lines indented, so that none passes for one of ours."""
    document = {"survey": name, "version": version, "mails": mails}
    # A text of an answer is printed as one line; that of a mail keeps its own.
    return document, lambda _: _previewed(mails)


def _previewed(mails: list[MailPreviewDocument]) -> str:
    parts = ["Nothing was sent. The person and the link are made up."]
    for mail in mails:
        lines = [
            f"From: {mail['sender'] or '(the server has no mail_sender)'}",
            f"To: {mail['recipient']}",
            f"Subject: {mail['subject']}",
            "",
            *mail["body"].rstrip("\n").split("\n"),
        ]
        shown = (f"  {line}".rstrip() for line in map(printable, lines))
        parts += ["", printable(mail["language"]), *shown]
    return "\n".join(parts).rstrip()


def _mails_sent(client: AnalystClient, what: str, document: JobDocument, timeout: float) -> Output:
    """Wait for a job that sends mails, and tell what became of them."""
    if not timeout:
        return document, lambda job: f"{what}: hushpoll job show {job['id']} tells how far they are"
    with waiting(what) as say:
        document = wait_for(client.job, document, timeout=timeout, on_look=job_watch(say))
    return client.mails_sent(str(document.get("id"))), lambda sent: _mailed(what, sent)


def _mailed(what: str, sent: MailsSent) -> str:
    lines = [f"{what}: {sent['sent']:,} mails sent"]
    lines += [f"{sent['refused']:,} refused by the mail server"] if sent["refused"] else []
    lines += (
        [f"{sent['later']:,} to be tried again: hushpoll survey remind"] if sent["later"] else []
    )
    lines += [f"{sent['redeemed']:,} redeemed meanwhile"] if sent["redeemed"] else []
    return ", ".join(lines)


def _issued(
    make: Callable[[int], list[str]],
    line_of: Callable[[str], str],
    words: tuple[str, str, str],
    survey: JsonMembers,
    count: int,
    out: Path | None,
) -> Output:
    """Issue `count` secrets and tell a line of each; `words` say what, the lines, and of what."""
    what, kind, whole = words
    issued: list[str] = []
    with nullcontext() if out is None else replacing(out) as file:
        cut_short = _issue(make, what, count, issued)
        lines = [line_of(secret) for secret in issued]
        if file is not None:
            file.write("".join(f"{line}\n" for line in lines).encode())
    counted = {**survey, "count": len(lines)}
    if out is None:
        return {**counted, kind: lines}, "\n".join(lines), cut_short
    return counted | {"file": str(out)}, f"{len(lines)} {kind} of {whole} in {out}", cut_short


def _issue(
    make: Callable[[int], list[str]], what: str, count: int, issued: list[str]
) -> HushpollError | None:
    """Add `count` to `issued`; return the error that cut it short once there were some."""
    with progress(what, count) as advance:
        while len(issued) < count:
            part = min(_MOST_TOKENS, count - len(issued))
            try:
                issued += make(part)
            except HushpollError as error:
                if not issued:
                    raise
                return error
            advance(part)
    return None


def _invited(counts: JsonMembers) -> str:
    name = counts["survey"]
    if counts["submission"] != "invited" or counts["invited"] is None:
        return f"{name} takes no invitations; its submission is {counts['submission']}"
    return f"invitations to {name}: {counts['invited']:,}, redeemed: {counts['redeemed'] or 0:,}"


def _counted(counts: JsonMembers) -> str:
    name = counts["survey"]
    if counts["submission"] != "token":
        return f"{name} takes no tokens: anybody who has its link can answer"
    if counts["unspent"] is None or counts["spent"] is None:
        return (
            f"The tokens of {name} are counted once the survey is over; before, their number would "
            "tell who answers when."
        )
    return f"tokens of {name}: {counts['unspent']:,} unspent, {counts['spent']:,} spent"


def _told(published: Published) -> str:
    return f"{build_preview(published, None)}\n\n{label_text(published)}"


def _rehearsed(resolved: Published, allow_weak: bool) -> str:
    warnings = weak_protection(resolved)
    lines = [_told(resolved)]
    lines += [f"warning: {warning.message}" for warning in warnings]
    if not allow_weak and any(warning.level is Level.HARDLY for warning in warnings):
        lines.append("publishing refuses this survey without --allow-weak")
    return "\n".join(lines)


def _listed(surveys: list[JsonMembers]) -> str:
    if not surveys:
        return "No survey is published."
    lines = []
    for entry in surveys:
        line = f"{entry.get('survey')} v{entry.get('version')}  {entry.get('state')}"
        if entry.get("reports") is not None:
            line += f"  {entry['reports']} reports"
        lines.append(f"{line}  {entry.get('title')}  sha256={entry.get('digest')}")
    return "\n".join(lines)
