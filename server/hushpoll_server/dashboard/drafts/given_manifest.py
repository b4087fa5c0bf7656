"""What a draft begins with: a manifest as YAML or JSON, or a questionnaire of another tool.

Both are read within bounds of time and memory.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

from flask import request

from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_server.http.endpoint import services
from hushpoll_shared.importing.formats import import_bytes
from hushpoll_shared.importing.report import ImportedDraft
from hushpoll_shared.importing.workbook import MOST_BYTES
from hushpoll_shared.reading.text_files import text_of
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.spelling.canonical import parse_json
from hushpoll_shared.spelling.text import show

MOST_YAML_BYTES: Final = 2**18
"""Largest YAML that is read: reading takes seconds beyond, and JSON is read at once."""

MOST_VALUES: Final = 2**18
"""Most values of a document; in YAML, a short text can stand for very many."""


def given_manifest() -> dict[str, object]:
    """Return the manifest of the form's file, or of its text where no file was chosen."""
    file = request.files.get("file")
    if file is not None and file.filename:
        with file.stream as stream:
            data = stream.read(services().settings.max_manifest_bytes + 1)
    else:
        data = request.form.get("yaml", "").encode("utf-8", "surrogatepass")
    if not data.strip():
        raise InvalidParameter(
            "there is no manifest; paste its YAML, or choose a file", field="manifest"
        )
    text = text_of(data, name="the manifest", field="manifest")
    is_json = text.lstrip().startswith("{")
    most = services().settings.max_manifest_bytes if is_json else MOST_YAML_BYTES
    if len(data) > most:
        raise InvalidParameter(
            f"the manifest has {len(data):,} bytes, and at most {most:,} are read; send it as "
            "JSON, or declare fewer categories",
            field="manifest",
        )
    with services().surveys.reading.take():
        document = _json_of(text, len(data)) if is_json else parse_yaml(text)
    if not isinstance(document, dict):
        raise InvalidParameter(
            "the manifest is no mapping; begin with a line such as name: work-and-health",
            field="manifest",
        )
    _require_few_values(document, services().settings.max_manifest_bytes)
    manifest: dict[str, object] = json.loads(json.dumps(document))
    return manifest


def given_questionnaire() -> ImportedDraft:
    """Return the draft of the form's file, an XLSForm or a survey of SurveyJS, and its report."""
    file = request.files.get("form")
    if file is None or not file.filename:
        raise InvalidParameter(
            "there is no file; choose an XLSForm or a survey of SurveyJS", field="form"
        )
    with file.stream as stream:
        data = stream.read(MOST_BYTES + 1)
    survey = request.form.get("survey", "").strip() or None
    with services().surveys.reading.take():
        return import_bytes(data, name=file.filename, survey=survey)


def _json_of(text: str, size: int) -> Any:
    """Return JSON; what only begins like it is YAML."""
    try:
        return parse_json(text)
    except HushpollError:
        if size > MOST_YAML_BYTES:
            raise
        return parse_yaml(text)


def _require_few_values(document: object, most: int) -> None:
    """Refuse a document that is larger as JSON than `most` bytes, or that JSON cannot say.

    In YAML, a short text can stand for very many and very long ones, and for itself.
    """
    left, values, characters = [document], 0, 0
    while left:
        value = left.pop()
        values += 1
        if isinstance(value, dict):
            left.extend(value.values())
            left.extend(value)
        elif isinstance(value, list):
            left.extend(value)
        elif isinstance(value, str):
            characters += len(value)
            _require_writable(value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise InvalidParameter(
                f"the manifest has the number {value}; give a finite one", field="manifest"
            )
        if values + len(left) > MOST_VALUES:
            raise InvalidParameter(
                f"the manifest has more than {MOST_VALUES:,} values; declare fewer categories",
                field="manifest",
            )
        if characters > most:
            raise InvalidParameter(
                f"the texts of the manifest have more than {most:,} characters, each counted where "
                "it is referred to; declare fewer or shorter categories",
                field="manifest",
            )


def _require_writable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidParameter(
            f"the manifest has the text {show(text)}, which cannot be written in UTF-8; write it "
            "without halves of surrogate pairs",
            field="manifest",
        ) from None
