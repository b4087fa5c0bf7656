"""What editors and admins do with a running survey: origins, respondent tokens, retention."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, request, url_for

from hushpoll_server.dashboard.frame import finished, member, see
from hushpoll_server.dashboard.surveys import survey
from hushpoll_server.dashboard.version_pages import takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow


@takes("/origins", Role.EDITOR, survey)
def replace_origins(row: VersionRow) -> Response:
    """Let pages of these web origins answer the survey, in all its versions."""
    parts = services()
    origins = parts.origins.replace(row, request.form.get("origins", "").split())
    parts.actions.record(
        member().actor, "replaced-origins", survey=row.name, subject=str(len(origins))
    )
    return see(url_for("dashboard.survey", name=row.name, version=row.version, _anchor="origins"))


@takes("/tokens", Role.EDITOR, survey)
def issue_respondent_tokens(row: VersionRow) -> Response:
    """Issue single-use tokens for respondents: a file with a link to the hosted page a line."""
    parts = services()
    count = count_in_form("tokens")
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
    parts.actions.record(member().actor, "deleted-records", survey=row.name, version=row.version)
    parts.retention.delete(row)
    return see(url_for("dashboard.survey", name=row.name, version=row.version, _anchor="records"))
