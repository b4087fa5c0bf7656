"""Which reader reads which questionnaire: a format is a module and a line of this table."""

from __future__ import annotations

from pathlib import Path

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.importing.drafting import make_draft
from hushpoll_shared.importing.questionnaire import Questionnaire
from hushpoll_shared.importing.report import ImportedDraft
from hushpoll_shared.importing.surveyjs import read_surveyjs
from hushpoll_shared.importing.workbook import (
    MOST_BYTES,
    read_sheets,
    refused,
    text_in,
)
from hushpoll_shared.importing.xlsform import read_xlsform
from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.spelling.text import check_name


def import_file(path: Path, *, survey: str | None = None) -> ImportedDraft:
    """Return the draft and the report of an XLSForm (.xlsx, .xls, .csv) or of SurveyJS (.json).

    What is in the file tells the format, not its name. Without `survey` the form's own name is
    taken.
    """
    with path.open("rb") as file:
        return import_bytes(file.read(MOST_BYTES + 1), name=path.name, survey=survey)


def import_bytes(content: bytes, *, name: str, survey: str | None = None) -> ImportedDraft:
    """Return the draft and the report of a file's content and name; see :func:`import_file`."""
    if survey is not None:
        check_name(survey, field="survey")
    if len(content) > MOST_BYTES:
        raise refused(
            name,
            f"is larger than {MOST_BYTES // 1024**2} MB",
            "give a file with the questionnaire alone",
        )
    if not content.strip():
        raise refused(name, "is empty")
    imported = make_draft(_questionnaire(content, name))
    if survey is not None:
        imported.manifest["name"] = survey
    return imported


def _questionnaire(content: bytes, name: str) -> Questionnaire:
    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")):
        text = text_in(content, name)
        try:
            document = parse_json(text)
        except InvalidParameter as error:
            raise refused(name, f"is no JSON ({error})", "save it again") from error
        return read_surveyjs(document, name=name)
    return read_xlsform(read_sheets(content, name=name), name=name)
