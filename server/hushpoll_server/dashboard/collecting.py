"""What editors and admins do with a running survey: origins, tokens, invitations, retention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from flask import Response, request

from hushpoll_server.dashboard.forms import ask_for, given_file
from hushpoll_server.dashboard.frame import finished, member, page
from hushpoll_server.dashboard.surveys import of_survey, survey
from hushpoll_server.dashboard.version_pages import back_to, note_act, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.surveys.mail_texts import MailText
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.reading.people import read_people
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.terms import INVITED, TOKEN
from hushpoll_shared.wire.documents.administration import MailPreviewDocument


@takes("/origins", Role.EDITOR, survey)
def replace_origins(row: VersionRow) -> Response:
    """Let pages of these web origins answer the survey, in all its versions."""
    parts = services()
    origins = parts.origins.replace(row, request.form.get("origins", "").split())
    parts.actions.record(
        member().actor, "replaced-origins", survey=row.name, subject=str(len(origins))
    )
    return back_to(row, "survey", anchor="origins")


@takes("/tokens", Role.EDITOR, survey)
def issue_respondent_tokens(row: VersionRow) -> Response:
    """Issue single-use tokens for respondents: a file with a link to the hosted page a line."""
    parts = services()
    count = count_in_form("tokens")
    parts.surveys.require_submission(row, TOKEN)
    tokens = parts.access.issue_to_respondents(row, count)
    parts.actions.record(
        member().actor, "issued-respondent-tokens", survey=row.name, subject=str(len(tokens))
    )
    return links_file(row, "token", tokens)


def count_in_form(what: str) -> int:
    """Return the number that a form asks for."""
    most = services().settings.max_tokens
    text = request.form.get("count", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise Refused(
            "invalid-request",
            f"the number of {what} is {text[:20]!r}, outside [1, {most:,}]; give a whole number in "
            "it, several times if you need more",
            field="count",
        )
    return int(text)


def links_file(row: VersionRow, field: str, values: Sequence[str]) -> Response:
    """Return a file with a link to the hosted page a line, each with one of the values."""
    page = f"{request.host_url.rstrip('/')}{request.script_root}/s/{row.name}#sha256={row.digest}"
    lines = "".join(f"{page}&{field}={value}\n" for value in values)
    answer = Response(lines, mimetype="text/plain")
    answer.headers["Content-Disposition"] = f'attachment; filename="{row.name}-links.txt"'
    return finished(answer)


@takes("/delete-records", Role.ADMIN, survey)
def delete_records(row: VersionRow) -> Response:
    """Delete the records of a version that is over, once the user has typed its name."""
    if request.form.get("confirm", "").strip() != row.name:
        raise Refused(
            "invalid-request",
            "no record was deleted, because the survey's name was not typed; type "
            f"{row.name} to delete its records",
            field="confirm",
        )
    parts = services()
    # Before the deletion, so that none is without its line.
    note_act(row, "deleted-records")
    parts.retention.delete(row)
    return back_to(row, "survey", anchor="records")


INVITATION: Final = "invitation"
REMINDER: Final = "reminder"


@dataclass(frozen=True)
class TextFields:
    """The fields of a mail's text in one language, as a form shows them."""

    language: str
    subject: str
    body: str
    ours: bool


@shows("/invitations", Role.EDITOR)
def invitations(row: VersionRow) -> Response:
    """Show how many are invited and have redeemed, and the forms that invite and remind."""
    services().surveys.require_submission(row, INVITED)
    return _shown(row, None, [])


@takes("/invitations", Role.EDITOR, invitations)
def issue_invitations(row: VersionRow) -> Response:
    """Issue invitations to a version: a file with a link to the hosted page a line."""
    parts = services()
    parts.surveys.require_submission(row, INVITED)
    codes = parts.invitations.issue(row, count_in_form("invitations"))
    note_act(row, "issued-invitations", str(len(codes)))
    return links_file(row, "invitation", codes)


@takes("/invitations/mail", Role.EDITOR, invitations)
def invite_people(row: VersionRow) -> Response:
    """Ask for a job that invites the people of a table by mail, or show its mails beforehand."""
    parts = services()
    parts.invitations.check_open(row)
    texts = _own_texts(row, reminder=False)
    if request.form.get("what") == "preview":
        return _previewed(row, texts, reminder=False)
    people = read_people(
        given_file("people", "no file is chosen; choose the table of people"),
        parts.surveys.published(row).languages,
        most=parts.settings.max_tokens,
        name="the table",
        field="people",
    )
    asked: JsonObject = {"people": [dict(person.to_dict()) for person in people]}
    ask_for(row, "invite", {**asked, "texts": _as_json(texts)})
    return back_to(row, "survey_jobs")


@takes("/invitations/reminders", Role.EDITOR, invitations)
def remind_people(row: VersionRow) -> Response:
    """Ask for a job that reminds those whose invitation is not redeemed, or show its mails."""
    services().invitations.check_open(row)
    texts = _own_texts(row, reminder=True)
    if request.form.get("what") == "preview":
        return _previewed(row, texts, reminder=True)
    ask_for(row, "remind", {"texts": _as_json(texts)})
    return back_to(row, "survey_jobs")


def _shown(row: VersionRow, form: str | None, previews: list[MailPreviewDocument]) -> Response:
    """Return the page; `form` is that whose mails are shown, and keeps its texts."""
    parts = services()
    texts = {
        kind: _fields(row, reminder=kind == REMINDER, sent=kind == form)
        for kind in (INVITATION, REMINDER)
    }
    return page(
        "invitations.html",
        **of_survey(row, "invitations"),
        overview=parts.overviews.overview(row),
        mail_missing=parts.mailing.missing,
        texts=texts,
        previewed=form,
        previews=previews,
    )


def _previewed(row: VersionRow, texts: Mapping[str, MailText], *, reminder: bool) -> Response:
    previews = services().mailing.preview(row, texts, reminder=reminder)
    return _shown(row, REMINDER if reminder else INVITATION, previews)


def _fields(row: VersionRow, *, reminder: bool, sent: bool) -> list[TextFields]:
    fields = []
    for tag, ours in services().mailing.our_texts(row, reminder=reminder).items():
        text = _text_in_form(tag) if sent else None
        shown = text or ours or MailText("", "")
        fields.append(TextFields(tag, shown.subject, shown.body, ours is not None))
    return fields


def _own_texts(row: VersionRow, *, reminder: bool) -> dict[str, MailText]:
    """Return the texts of the form that are not ours, by language."""
    texts = {}
    for tag, ours in services().mailing.our_texts(row, reminder=reminder).items():
        text = _text_in_form(tag)
        if text is not None and text != ours:
            texts[tag] = text
    return texts


def _text_in_form(tag: str) -> MailText | None:
    """Return a language's text of the form; None if it is empty, which stands for ours."""
    subject = request.form.get(f"texts.{tag}.subject", "").strip()
    # A form has every line break as two characters.
    body = request.form.get(f"texts.{tag}.body", "").replace("\r\n", "\n").strip("\n")
    return MailText(subject, body) if subject or body else None


def _as_json(texts: Mapping[str, MailText]) -> dict[str, dict[str, str]]:
    return {tag: {"subject": text.subject, "body": text.body} for tag, text in texts.items()}
