"""What editors and admins do with a running survey: origins, respondent tokens, retention."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, request, url_for

from hushpoll_server.dashboard.forms.asking import ask_for
from hushpoll_server.dashboard.forms.refusing import comes_back
from hushpoll_server.dashboard.frame import dashboard, finished, member, private, see
from hushpoll_server.dashboard.surveys import reached, survey
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.reading.people import read_people

PAGE = "/surveys/<name>/versions/<int:version>"


@dashboard.post(f"{PAGE}/origins")
@private
@comes_back(survey)
def replace_origins(name: str, version: int) -> Response:
    """Let pages of these web origins answer the survey, in all its versions."""
    row = reached(name, version, Role.EDITOR)
    parts = services()
    origins = parts.origins.replace(row, request.form.get("origins", "").split())
    parts.actions.record(
        member().actor, "replaced-origins", survey=row.name, subject=str(len(origins))
    )
    return see(url_for("dashboard.survey", name=name, version=version, _anchor="origins"))


@dashboard.post(f"{PAGE}/tokens")
@private
@comes_back(survey)
def issue_respondent_tokens(name: str, version: int) -> Response:
    """Issue single-use tokens for respondents: a file with a link to the hosted page a line."""
    row = reached(name, version, Role.EDITOR)
    parts = services()
    count = _count("tokens")
    if parts.surveys.published(row).submission != "token":
        raise Refused(
            "invalid-request",
            f"{row.name} version {row.version} has submission "
            f"{parts.surveys.published(row).submission!r} and takes no such tokens; publish a "
            "version with submission 'token'",
            field="submission",
        )
    tokens = parts.access.issue_to_respondents(row, count)
    parts.actions.record(
        member().actor, "issued-respondent-tokens", survey=row.name, subject=str(len(tokens))
    )
    return _links(row, "token", tokens)


@dashboard.post(f"{PAGE}/invitations")
@private
@comes_back(survey)
def issue_invitations(name: str, version: int) -> Response:
    """Issue invitations to a version: a file with a link to the hosted page a line."""
    row = reached(name, version, Role.EDITOR)
    parts = services()
    parts.invitations.check_invited(row)
    codes = parts.invitations.issue(row, _count("invitations"))
    parts.actions.record(
        member().actor,
        "issued-invitations",
        survey=row.name,
        version=row.version,
        subject=str(len(codes)),
    )
    return _links(row, "invitation", codes)


@dashboard.post(f"{PAGE}/invitations/mail")
@private
@comes_back(survey)
def invite_people(name: str, version: int) -> Response:
    """Ask for a job that invites the people of a table by mail."""
    row = reached(name, version, Role.EDITOR)
    parts = services()
    parts.invitations.check_invited(row)
    people = read_people(
        _file("people"),
        parts.surveys.published(row).languages,
        most=parts.settings.max_tokens,
        name="the table",
        field="people",
    )
    ask_for(row, "invite", {"people": [dict(person.to_dict()) for person in people]})
    return see(url_for("dashboard.survey_jobs", name=name, version=version))


@dashboard.post(f"{PAGE}/invitations/reminders")
@private
@comes_back(survey)
def remind_people(name: str, version: int) -> Response:
    """Ask for a job that reminds by mail those whose invitation is not redeemed."""
    row = reached(name, version, Role.EDITOR)
    ask_for(row, "remind", {})
    return see(url_for("dashboard.survey_jobs", name=name, version=version))


def _file(field: str) -> bytes:
    """Return the content of a file of a form."""
    file = request.files.get(field)
    if file is None or not file.filename:
        raise Refused(
            "invalid-request", "no file is chosen; choose the table of people", field=field
        )
    # A large one is a temporary file without a name, which is gone once it is closed.
    with file.stream as stream:
        return stream.read()


def _count(what: str) -> int:
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


def _links(row: VersionRow, field: str, values: Sequence[str]) -> Response:
    """Return a file with a link to the hosted page a line, each with one of the values."""
    page = f"{request.host_url.rstrip('/')}{request.script_root}/s/{row.name}#sha256={row.digest}"
    lines = "".join(f"{page}&{field}={value}\n" for value in values)
    answer = Response(lines, mimetype="text/plain")
    answer.headers["Content-Disposition"] = f'attachment; filename="{row.name}-links.txt"'
    return finished(answer)


@dashboard.post(f"{PAGE}/delete-records")
@private
@comes_back(survey)
def delete_records(name: str, version: int) -> Response:
    """Delete the records of a version that is over, once the user has typed its name."""
    row = reached(name, version, Role.ADMIN)
    if request.form.get("confirm", "").strip() != row.name:
        raise Refused(
            "invalid-request",
            "no record was deleted, because the survey's name was not typed; type "
            f"{row.name} to delete its records",
            field="confirm",
        )
    parts = services()
    # Before the deletion, so that none is without its line.
    parts.actions.record(member().actor, "deleted-records", survey=row.name, version=row.version)
    parts.retention.delete(row)
    return see(url_for("dashboard.survey", name=name, version=version, _anchor="records"))
