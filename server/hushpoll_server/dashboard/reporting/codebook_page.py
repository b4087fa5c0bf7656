"""The codebook of a survey, as a page or a file."""

from __future__ import annotations

from flask import Response

from hushpoll_server.dashboard.frame import finished, member
from hushpoll_server.dashboard.surveys import may_export
from hushpoll_server.dashboard.version_pages import shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.sheets.codebook import (
    MEDIA_TYPES,
    codebook,
    codebook_file,
    codebook_policy,
)
from hushpoll_shared.spelling.text import show


@shows("/codebook.<form>", Role.READER)
def codebook_of_survey(row: VersionRow, form: str) -> Response:
    """Give the codebook; shares of small groups are merged for who may not export."""
    if form not in MEDIA_TYPES:
        raise Refused("not-found", f"there is no codebook as {show(form)}; choose html, md or json")
    parts = services()
    shares = parts.analysis.shares(row, may_export=may_export(row))
    parts.actions.looked(member().actor, "codebook", row.name, row.version)
    document = codebook(parts.surveys.published(row), shares)
    answer = finished(Response(codebook_file(document, form), mimetype=MEDIA_TYPES[form]))
    if form == "html":
        answer.headers["Content-Security-Policy"] = codebook_policy()
    else:
        file = f"{row.name}-{row.version}-codebook.{form}"
        answer.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer
