"""What a survey is on paper, as pages or files: its privacy sheet and its codebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flask import Response, request

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.dashboard.frame import finished, member
from hushpoll_server.dashboard.surveys import may_export
from hushpoll_server.dashboard.version_pages import shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.files.pdf import NotPrinted
from hushpoll_server.survey_reports.sheets import codebook as codebooks
from hushpoll_server.survey_reports.sheets import privacy_sheet as privacy_sheets
from hushpoll_shared.reading.decimal_texts import parse_whole
from hushpoll_shared.spelling.text import show

RETRY_AFTER_SECONDS: Final = 10


@shows("/privacy-sheet.<form>", Role.READER)
def sheet(row: VersionRow, form: str) -> Response:
    """Give two pages for an ethics board or a data-protection officer; nothing of reports."""
    if form not in privacy_sheets.MEDIA_TYPES:
        raise Refused("not-found", f"there is no privacy sheet as {show(form)}; choose html or pdf")
    days = request.args.get("kept_days", "").strip()
    try:
        body = privacy_sheets.privacy_sheet(
            services().surveys.published(row),
            form,
            language=request.args.get("language") or None,
            kept_days=_days(days) if days else None,
        )
    except MissingExtra as error:
        raise Refused("missing-extra", str(error)) from error
    except NotPrinted as error:
        raise Refused("unavailable", str(error), retry_after=RETRY_AFTER_SECONDS) from error
    answer = Response(body, mimetype=privacy_sheets.MEDIA_TYPES[form])
    return _shown_or_saved(answer, row, "privacy", form, policy=privacy_sheets.sheet_policy)


def _shown_or_saved(
    answer: Response, row: VersionRow, name: str, form: str, *, policy: Callable[[], str]
) -> Response:
    """Let a browser show a page under its own policy, and save a file of another form."""
    answer = finished(answer)
    if form == "html":
        answer.headers["Content-Security-Policy"] = policy()
    else:
        file = f"{row.name}-{row.version}-{name}.{form}"
        answer.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer


def _days(text: str) -> int:
    try:
        return parse_whole(text)
    except ValueError:
        raise InvalidParameter(
            f"kept_days is {show(text)}; give a whole number of days such as 90", field="kept_days"
        ) from None


@shows("/codebook.<form>", Role.READER)
def codebook_of_survey(row: VersionRow, form: str) -> Response:
    """Give the codebook; shares of small groups are merged for who may not export."""
    if form not in codebooks.MEDIA_TYPES:
        raise Refused("not-found", f"there is no codebook as {show(form)}; choose html, md or json")
    parts = services()
    shares = parts.analysis.shares(row, may_export=may_export(row))
    parts.actions.looked(member().actor, "codebook", row.name, row.version)
    document = codebooks.codebook(parts.surveys.published(row), shares)
    body = codebooks.codebook_file(document, form)
    answer = Response(body, mimetype=codebooks.MEDIA_TYPES[form])
    return _shown_or_saved(answer, row, "codebook", form, policy=codebooks.codebook_policy)
