"""Any query on a page of its own: its form, the tables and notes of its result, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args
from urllib.parse import urlencode

from flask import Response, request, url_for

from hushpoll_analysis.query_results import RESULTS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.dashboard.forms.form import OF_VALUES, Fault
from hushpoll_server.dashboard.frame import (
    finished,
    member,
    page,
)
from hushpoll_server.dashboard.querying.fields import fields_of, missing, texts_of
from hushpoll_server.dashboard.select_alls import labels_of, names_of
from hushpoll_server.dashboard.surveys import (
    NOTHING_YET,
    answered,
    lead_by_words,
    may_export,
    of_survey,
    refusal_in_questions,
    seen,
)
from hushpoll_server.dashboard.version_pages import reached, shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import json_response, services
from hushpoll_server.http.tables import Format, result_answer, table_file
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.headlines import headline_of
from hushpoll_server.survey_reports.markup.shown import html_of_result
from hushpoll_shared.qualifying.domains import domain_line
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.spelling.json_values import JsonObject

FORMS: Final[tuple[Format, ...]] = get_args(Format)


@shows("/results", Role.READER)
def kinds_of_results(row: VersionRow) -> Response:
    """List what can be asked of a survey's records."""
    kinds = sorted(RESULTS, key=lambda kind: kind.result_type.title)
    downloads = [
        (
            form.upper(),
            url_for("dashboard.all_results_file", name=row.name, version=row.version, form=form),
        )
        for form in FORMS
    ]
    return page(
        "querying/results.html",
        **of_survey(row, "results"),
        kinds=kinds,
        downloads=downloads,
        codebooks=[
            (
                words,
                url_for(
                    "dashboard.codebook_of_survey", name=row.name, version=row.version, form=form
                ),
            )
            for words, form in (("Read it", "html"), ("Markdown", "md"), ("JSON", "json"))
        ],
    )


@shows("/results.<form>", Role.READER)
def all_results_file(row: VersionRow, form: str) -> Response:
    """Return all results as one table; small groups are merged for who may not export."""
    if form not in FORMS:
        raise Refused("not-found", "nothing is at this address")
    parts = services()

    def require(survey: str, number: int) -> None:
        reached(survey, number, Role.READER)

    addresses = request.args.getlist("query")
    found = parts.analysis.tidy(row, addresses, require, may_export=may_export)
    parts.actions.looked(member().actor, "tidy-results", row.name, row.version)
    file = f"{row.name}-{row.version}-results"
    if form == "json":
        answer = json_response(found.to_dict())
        answer.headers["Content-Disposition"] = f'attachment; filename="{file}.json"'
        return finished(answer)
    return finished(table_file(form, file, found.table(), parts.surveys.published(row)))


@shows("/results/<query>", Role.READER)
def result(row: VersionRow, query: str) -> Response:
    """Show the result of a query, or let the user choose its parameters."""
    kind = _kind(query)
    questions = labels_of(seen(row))
    lead_by_words({one.name: questions for one in kind.parameters() if one.attribute})
    texts = texts_of(kind)
    to_choose = missing(kind, texts)
    found: Result | None = None
    refusal: Refused | None = None
    fault: Fault | None = None
    try:
        if not to_choose:
            asked = kind.of_texts(texts)
            found = answered(row, asked, _before(row, asked))
    except InvalidParameter as error:
        fault = Fault((error.field or "",), refusal_in_questions(error, seen(row)))
    except Refused as error:
        if error.code not in NOTHING_YET:
            raise
        refusal = error
    published = seen(row)
    domain = None if found is None or found.where is None else domain_line(found.where)
    # A report is about all reports of one version.
    whole = found is not None and not kind.compares and domain is None
    address = kind.of_texts(texts).address() if whole else None
    return page(
        "querying/result.html",
        200 if fault is None else OF_VALUES,
        **of_survey(row, "results"),
        kind=kind,
        fields=list(fields_of(kind, texts, published, _versions())),
        to_choose=to_choose,
        refusal=refusal,
        fault=fault,
        result=found,
        headline=None if found is None else headline_of(found) or _titled(found),
        about=[] if found is None else list(asked.names()),
        domain=domain,
        stands_on=_stands_on(found),
        html=None
        if found is None
        else html_of_result(
            found,
            level=3,
            key="section",
            names=names_of(published),
            drawn=True,
        ),
        address=address,
        downloads=[(form.upper(), _file_address(row, kind, form, texts)) for form in FORMS],
    )


@shows("/results/<query>/file.<form>", Role.READER)
def result_file(row: VersionRow, query: str, form: str) -> Response:
    """Return the result of a query as a file: its table, or the JSON that the API gives."""
    kind = _kind(query)
    if form not in FORMS:
        raise Refused("not-found", "nothing is at this address")
    asked = kind.of_texts(texts_of(kind))
    found = answered(row, asked, _before(row, asked))
    answer = result_answer(
        found, kind.file_name, form=form, published=services().surveys.published(row)
    )
    file = f"{row.name}-{row.version}-{kind.file_name}.{form}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return finished(answer)


def _stands_on(found: Result | None) -> JsonObject | None:
    """Return the number of reports that a result is of, with its release; None of a comparison."""
    document = {} if found is None else found.to_dict()
    return document if "n" in document else None


def _titled(found: Result) -> str:
    return f"{found.title[0].upper()}{found.title[1:]}"


def _file_address(
    row: VersionRow, kind: type[Query[Any]], form: str, texts: Mapping[str, str]
) -> str:
    path = url_for(
        "dashboard.result_file", name=row.name, version=row.version, query=kind.name, form=form
    )
    return "?".join(filter(None, (path, urlencode(texts))))


def _kind(name: str) -> type[Query[Any]]:
    for kind in RESULTS:
        if kind.name == name:
            return kind
    raise Refused("not-found", "there is no such kind of result; choose one of the list of results")


def _surveys() -> set[str]:
    """Return the names of the surveys in which the user has a role."""
    names = {row.name for row in services().surveys.all()}
    return {name for name in names if member().role(name) is not None}


def _versions() -> dict[str, list[int]]:
    """Return the versions of each survey that the user may see."""
    allowed = _surveys()
    found: dict[str, list[int]] = {name: [] for name in sorted(allowed)}
    for row in services().surveys.all():
        if row.name in allowed:
            found[row.name].append(row.version)
    return {name: sorted(versions) for name, versions in found.items()}


def _before(row: VersionRow, asked: Any) -> VersionRow | None:
    """Return the version with which a query compares; None of one that does not.

    Raises
    ------
    InvalidParameter
        If there is none, or the user may not see it.
    """
    if not asked.compares:
        return None
    name = asked.since_survey or row.name
    if name not in _surveys():
        raise InvalidParameter(
            f"since_survey is {name!r}, which is no survey that you may see; choose one of the "
            "list",
            field="since_survey",
        )
    try:
        return services().surveys.version(name, asked.since_version)
    except Refused as error:
        raise InvalidParameter(
            f"since_version is {asked.since_version}, and {name} has no such version; give another",
            field="since_version",
        ) from error
