"""Answers of statistics: JSON, or the table that it has as CSV or XLSX.

A request names the form by ``format``, or by ``Accept`` where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeVar

from flask import Response, request
from pydantic import Field
from pydantic_core import to_json

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.answering import JSON_MEDIA_TYPE
from hushpoll_server.http.answers import checked_document
from hushpoll_server.http.bodies import Parameters
from hushpoll_server.http.endpoint import file_answer, json_response
from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.table_files import TABLE_FORMATS, guarantee

D = TypeVar("D")
Format = Literal["json", "csv", "xlsx"]

MOST_ROWS_OF_XLSX: Final = 1 << 16
"""A sheet of so many rows takes some two seconds; other requests wait for part of them."""


class TableQuery(Parameters):
    """The form of a statistic's answer."""

    format: Format | None = Field(
        None,
        description="`csv` and `xlsx` are the table behind the answer; in CSV a text that looks "
        "like a formula has an apostrophe before it. By default what `Accept` names, or JSON.",
    )


def result_answer(
    result: Result, file_name: str, *, form: Format | None, published: Published
) -> Response:
    """Render the result of a query in the form that the request asks for."""
    form = form or _accepted()
    if form == "json":
        # Of a long table, an eighth of the time of the standard library.
        return json_response(to_json(result.to_dict()))
    name = f"{published.name}-{published.version}-{file_name}"
    return table_file(form, name, table_of_result(result), published)


def answer_in_form(
    kind: type[D],
    document: D,
    table: Callable[[JsonObject], ResultTable],
    *,
    form: Format | None,
    name: str,
    published: Published | None = None,
) -> Response:
    """Render a document as JSON or as its table, which `table` makes of its JSON form.

    Without `form`, the form is what ``Accept`` names, and JSON by default. `name` is that of the
    file, without its ending. A sheet of methods has the guarantee of `published`.
    """
    form, told = form or _accepted(), checked_document(kind, document, nulls=True)
    if form == "json":
        return json_response(told)
    return table_file(form, name, table(told), published)


def table_file(form: str, name: str, table: ResultTable, published: Published | None) -> Response:
    """Return a table as a file; refuse XLSX of more than `MOST_ROWS_OF_XLSX` rows."""
    if form == "xlsx" and len(table.rows) > MOST_ROWS_OF_XLSX:
        raise InvalidParameter(
            f"format is 'xlsx' and the table has {len(table.rows)} rows; a server writes at most "
            f"{MOST_ROWS_OF_XLSX} into a sheet: ask for csv",
            field="format",
        )
    encoded = TABLE_FORMATS[form]
    if encoded.has_methods and published is not None:
        table = table.with_methods(guarantee(published))
    return file_answer(encoded.encode(table), encoded.media_type, f"{name}.{form}")


def table_contents() -> JsonObject:
    """Return the contents that the OpenAPI document names beside JSON."""
    return {
        form.media_type: {"schema": {"type": "string", "format": "binary"}}
        for form in TABLE_FORMATS.values()
    }


def _accepted() -> Format:
    types: dict[str, Format] = {JSON_MEDIA_TYPE: "json"}
    forms: tuple[Format, ...] = ("csv", "xlsx")
    types |= {TABLE_FORMATS[form].media_type: form for form in forms}
    best = request.accept_mimetypes.best_match(types, JSON_MEDIA_TYPE)
    return types[best]
