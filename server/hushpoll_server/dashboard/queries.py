"""Any query on a page of its own, read from its declaration: form, tables, notes and files.

The form is sent by GET. There is no script: what can be chosen in a field follows from what the
address has chosen in the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args
from urllib.parse import urlencode

from flask import Response, request

from hushpoll_analysis.query_results import RESULTS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.dashboard.forms import Field, Options
from hushpoll_server.dashboard.frame import (
    finished,
    member,
    page,
)
from hushpoll_server.dashboard.questions import in_questions, labels_of, names_of
from hushpoll_server.dashboard.surveys import (
    Outcome,
    answered,
    fault_in_questions,
    lead_by_words,
    may_export,
    of_survey,
    outcome_of,
    seen,
)
from hushpoll_server.dashboard.version_pages import address_of, note_look, reached, shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import json_response, services
from hushpoll_server.http.tables import Format, result_answer, table_file
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.headlines import headline_of
from hushpoll_server.survey_reports.markup.shown import html_of_result
from hushpoll_shared.qualifying.domains import domain_line
from hushpoll_shared.querying.query import NAMING, Parameter, Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.published import Published

MOST_OPTIONS: Final = 500
"""A list to choose from has at most so many; of more categories the name is typed."""
# Names of parameters that say little to who has not written them.
_LABELS: Final = {"a": "one question", "b": "the other question"}
_NAMED: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, kw_only=True)
class QueryField(Field):
    """A field of a query's form, which has the value of the address, or the default."""

    asks: bool
    """Whether the options are questions."""
    several: tuple[str, ...] | None = None
    """The names that are chosen, where several may be."""


def texts_of(kind: type[Query[Any]]) -> dict[str, str]:
    """Return what the address of this request says of a query's parameters, as texts.

    A list may come as several values of one name.
    """
    texts = {}
    for one in kind.parameters():
        values = [text for text in request.args.getlist(one.name) if text]
        joiner = None if one.spelling is None else one.spelling.joiner
        if values:
            texts[one.name] = values[0] if joiner is None else joiner.join(values)
    return texts


def missing(kind: type[Query[Any]], texts: Mapping[str, str]) -> list[str]:
    """Return the labels of what must be chosen before the query can be asked."""
    return [label_of(one) for one in kind.parameters() if one.required and one.name not in texts]


def label_of(parameter: Parameter) -> str:
    """Return the words of a parameter's name."""
    words = in_questions(_LABELS.get(parameter.name, parameter.name.replace("_", " ")))
    return words[0].upper() + words[1:]


def fields_of(
    kind: type[Query[Any]],
    texts: Mapping[str, str],
    published: Published,
    surveys: Mapping[str, Sequence[int]],
) -> Iterator[QueryField]:
    """Yield the fields of a query's form.

    `texts` is what the address has (`texts_of`), and `surveys` those that the user may compare it
    with, each with the versions to choose from.
    """
    parameters = kind.parameters()
    labels = {one.name: label_of(one) for one in parameters}
    for one in parameters:
        attribute = texts.get(one.category_of)
        if one.category_of and not attribute and one.name not in texts:
            continue  # it is a category of an attribute that is not chosen yet
        default = "" if one.required or one.default is None else one.write(one.default)
        since = texts.get("since_survey", published.name)
        options = _options(one, attribute, published, surveys, since)
        if options is not None and not default and not _takes_several(one):
            options = [("", "choose …" if one.required else "–"), *options]
        value = texts.get(one.name, default)
        yield QueryField(
            name=one.name,
            label=labels[one.name],
            hint=in_questions(_means(one, labels)),
            value=value,
            options=options,
            asks=one.attribute and options is not None,
            several=_listed(one, value) if _takes_several(one) else None,
            attributes=_attributes(one, typed=options is None),
        )


def _attributes(one: Parameter, *, typed: bool) -> dict[str, object]:
    """Return the attributes of a control; what is typed has its form, and a telephone's keys."""
    attributes: dict[str, object] = {"required": one.required}
    if typed:
        attributes["placeholder"] = "" if one.spelling is None else one.spelling.metavar
        attributes["inputmode"] = {float: "decimal", int: "numeric"}.get(one.kind, "")
    return attributes


def _means(one: Parameter, labels: Mapping[str, str]) -> str:
    """Return the sentence about a parameter; of boxes, without how a list is written."""
    _, mark, rest = one.means.partition("; ")
    means = f"{rest[:1].upper()}{rest[1:]}" if _takes_several(one) and mark else one.means
    return _NAMED.sub(lambda found: f"“{labels.get(found[1], found[1])}”", means)


def _takes_several(one: Parameter) -> bool:
    """Return whether a parameter is a list of questions."""
    return one.name in NAMING and one.spelling is not None and one.spelling.joiner is not None


def _listed(one: Parameter, value: str) -> tuple[str, ...]:
    joiner = None if one.spelling is None else one.spelling.joiner
    return tuple(value.split(joiner)) if value else ()


def _options(
    one: Parameter,
    attribute: str | None,
    published: Published,
    surveys: Mapping[str, Sequence[int]],
    since: str,
) -> Options | None:
    if one.choices:
        return [(choice, choice) for choice in one.choices]
    if one.kind is bool:
        return [("false", "no"), ("true", "yes")]
    if one.attribute or _takes_several(one):
        return list(labels_of(published).items())
    if one.spelling is not None:
        return None
    if one.elsewhere and one.kind is str:
        return [(name, name) for name in surveys]
    if one.elsewhere and one.kind is int:
        versions = surveys.get(since, ())
        own = published.version if since == published.name else None
        return [(str(version), f"version {version}") for version in versions if version != own]
    for asked in published.attributes:
        if asked.name == attribute and len(asked.domain) <= MOST_OPTIONS:
            return [(category, category) for category in asked.domain]
    return None


FORMS: Final[tuple[Format, ...]] = get_args(Format)


@shows("/results", Role.READER)
def kinds_of_results(row: VersionRow) -> Response:
    """List what can be asked of a survey's records."""
    kinds = sorted(RESULTS, key=lambda kind: kind.result_type.title)
    downloads = [(form.upper(), address_of(row, "all_results_file", form=form)) for form in FORMS]
    return page(
        "querying/results.html",
        **of_survey(row, "results"),
        kinds=kinds,
        downloads=downloads,
        codebooks=[
            (words, address_of(row, "codebook_of_survey", form=form))
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
    note_look(row, "tidy-results")
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
    asking = Outcome[Result]()
    if not to_choose:
        asking = outcome_of(
            lambda: _answer(row, kind, texts), lambda error: fault_in_questions(row, error)
        )
    found, published = asking.answer, seen(row)
    domain = None if found is None or found.where is None else domain_line(found.where)
    # A report is about all reports of one version.
    whole = found is not None and not kind.compares and domain is None
    address = kind.of_texts(texts).address() if whole else None
    return page(
        "querying/result.html",
        asking.status,
        **of_survey(row, "results"),
        kind=kind,
        fields=list(fields_of(kind, texts, published, _versions())),
        to_choose=to_choose,
        refusal=asking.refusal,
        fault=asking.fault,
        result=found,
        headline=None if found is None else headline_of(found) or _titled(found),
        about=[] if found is None else list(kind.of_texts(texts).names()),
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
    found = _answer(row, kind, texts_of(kind))
    answer = result_answer(
        found, kind.file_name, form=form, published=services().surveys.published(row)
    )
    file = f"{row.name}-{row.version}-{kind.file_name}.{form}"
    answer.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    return finished(answer)


def _answer(row: VersionRow, kind: type[Query[Any]], texts: Mapping[str, str]) -> Result:
    """Return the result of the query that the address spells."""
    query = kind.of_texts(texts)
    result: Result = answered(row, query, _before(row, query))
    return result


def _stands_on(found: Result | None) -> JsonObject | None:
    """Return the number of reports that a result is of, with its release; None of a comparison."""
    document = {} if found is None else found.to_dict()
    return document if "n" in document else None


def _titled(found: Result) -> str:
    return f"{found.title[0].upper()}{found.title[1:]}"


def _file_address(
    row: VersionRow, kind: type[Query[Any]], form: str, texts: Mapping[str, str]
) -> str:
    path = address_of(row, "result_file", query=kind.name, form=form)
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
    """Return the version with which a query compares; refuses one that the user may not see."""
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
