"""Weighted shares: what is known of the population in a form, and the shares that follow.

The form is sent by GET, so that the address has all of it and can be shared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypedDict

from flask import Response, request

from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.figures import percent
from hushpoll_server.charts.rows import Share
from hushpoll_server.charts.specifications import Chart, as_too_noisy, estimates_chart, told
from hushpoll_server.dashboard.figures import download, drawn
from hushpoll_server.dashboard.forms import Fault
from hushpoll_server.dashboard.frame import (
    choice,
    chosen_confidence,
    number_in,
    page,
    sentence,
)
from hushpoll_server.dashboard.questions import labels_of
from hushpoll_server.dashboard.surveys import (
    Outcome,
    asked_of,
    may_export,
    of_survey,
    outcome_of,
)
from hushpoll_server.dashboard.version_pages import note_look, shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.headlines import of_share
from hushpoll_server.survey_reports.markup.captions import how_to_read_bands
from hushpoll_shared.qualifying.possible import cut_words
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.reading.decimal_texts import doubtful_point, has_doubtful_point
from hushpoll_shared.spelling.text import isolated
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

KINDS: Final = {
    "margins": "shares of the population, in %",
    "strata": "people in each stratum",
    "weights": "people for whom a respondent stands",
}
# More than an address holds.
MOST_FIELDS: Final = 100
# Parameters of the statistic that have another name in the form.
_FIELDS: Final = {"attribute": "of", "design": "by"}


class _Field(TypedDict):
    """A field for what is known of one category, with its text."""

    name: str
    category: str
    text: str


class _Named(TypedDict):
    """A hidden field with its text."""

    name: str
    text: str


class _Group(TypedDict):
    """The fields of one question; ``are`` says what their numbers are of."""

    attribute: str
    are: _Named
    fields: list[_Field]


class _Form(TypedDict):
    """What the address says, and what there is to choose from."""

    of: str
    by: str
    second: str
    kind: str
    confidence: str
    population: str
    groups: list[_Group]
    names: list[str]
    allowed: list[str]
    listed: list[tuple[str, str]]
    possible: list[tuple[str, str]]
    filled: bool


@shows("/weighted", Role.READER)
def weighted(row: VersionRow) -> Response:
    """Show the shares of one question in the population, by what the form says of it."""
    published = asked_of(row)
    form = _form(published)
    found = Outcome[dict[str, Any]]()
    if form["filled"]:
        found = outcome_of(lambda: _answer(row, form), lambda error: _fault(error, form))
    answer = found.answer
    return page(
        "weighted.html",
        found.status,
        **of_survey(row, "estimates"),
        form=form,
        kinds=KINDS,
        answer=answer,
        **drawn(None if answer is None else _chart(answer, labels_of(published))),
        noisy=answer is not None and part_is_noisy(answer["verdict"], answer["attribute"]),
        cut="" if answer is None else _cut(answer),
        infinity=math.inf,
        refusal=found.refusal,
        fault=found.fault,
        arguments=dict(request.args.items()),
    )


@shows("/weighted/shares.<form>", Role.READER)
def weighted_file(row: VersionRow, form: str) -> Response:
    """Return the chart of weighted shares, or the numbers behind it, as a file."""
    published = asked_of(row)
    asked = _form(published)
    answer = _answer(row, asked)
    chart = _chart(answer, labels_of(published))
    table = table_of("weighted-shares", answer)
    none = "these records cannot tell any share that could be drawn"
    return download(row, form, f"{asked['of']}-weighted", chart, table, none)


def _fault(error: InvalidParameter | Refused, form: _Form) -> Fault:
    """Return what is wrong with a number of the form, or with those of a question together.

    A refusal of a margin names it by its place among those with numbers, and one of a category
    quotes it.
    """
    groups, field = _with_numbers(form), error.field or ""
    refusal = error.detail if isinstance(error, Refused) else str(error)
    for place, group in enumerate(groups):
        if field == f"margins[{place}]":
            groups = [group]
        refusal = refusal.replace(f"margins[{place}]", f"the margin of {group['attribute']}")
    if field.partition("[")[0] in KINDS and groups:
        fields = groups[0]["fields"]
        quoted = (one["name"] for one in fields if f" of {one['category']!r} " in refusal)
        field = next(quoted, fields[0]["name"])
    categories = (one["category"] for group in form["groups"] for one in group["fields"])
    return Fault((_FIELDS.get(field, field),), sentence(refusal, *categories))


def _with_numbers(form: _Form) -> list[_Group]:
    """Return the questions of the form of which it has numbers."""
    return [group for group in form["groups"] if any(one["text"] for one in group["fields"])]


def _form(published: Published) -> _Form:
    """Return what the address says: the question, what is known, and the fields with their text."""
    names = [attribute.name for attribute in published.attributes]
    kind = choice("kind", KINDS)
    allowed = [
        attribute.name
        for attribute in published.attributes
        if len(attribute.domain) <= MOST_FIELDS
        and not attribute.rounded
        and (kind == "margins" or not attribute.perturbed)
    ]
    # Shares of a number are refused: its records have anchors.
    shares = [attribute.name for attribute in published.attributes if not attribute.rounded]
    of = choice("of", names, shares[0] if shares else names[0])
    by = choice("by", ("", *names))
    second = choice("second", ("", *names)) if kind == "margins" else ""
    # A choice that is no longer possible, such as the same question twice, is as if not made.
    by = "" if by == of or by not in allowed else by
    second = "" if second in (of, by) or second not in allowed else second
    groups = [
        _group(published.attribute(name), prefix, kind)
        for name, prefix in ((by, "a"), (second, "b"))
        if name
    ]
    texts = labels_of(published)
    population = request.args.get("population", "").strip()
    given = any(field["text"] for group in groups for field in group["fields"])
    return {
        "of": of,
        "by": by,
        "second": second,
        "kind": kind,
        "confidence": chosen_confidence(),
        "population": population,
        "groups": groups,
        "names": names,
        "allowed": allowed,
        "listed": [(one, texts[one]) for one in names if one in shares or one == of],
        "possible": [(one, texts[one]) for one in allowed],
        "filled": given or bool(population),
    }


def _group(attribute: PublishedAttribute, prefix: str, kind: str) -> _Group:
    """Return the fields of one question, with the numbers that the address has for it.

    The form says what its numbers are of. They are left out where another question, or another
    kind of knowledge, was chosen in it since.
    """
    numbers_are = f"{kind} by {attribute.name}"
    keep = request.args.get(f"{prefix}_are", numbers_are) == numbers_are
    return {
        "attribute": attribute.name,
        "are": {"name": f"{prefix}_are", "text": numbers_are},
        "fields": [
            {
                "name": f"{prefix}{place}",
                "category": category,
                "text": request.args.get(f"{prefix}{place}", "").strip() if keep else "",
            }
            for place, category in enumerate(attribute.domain)
        ],
    }


def _design(form: _Form) -> SurveyDesign:
    """Return the design that the form says; a field without a number is left out."""
    kind = form["kind"]
    parts = []
    for group in _with_numbers(form):
        values = {
            field["category"]: _percent(field) / 100 if kind == "margins" else _number(field)
            for field in group["fields"]
            if field["text"]
        }
        inside = {"margins": "shares", "strata": "sizes"}.get(kind, "weights")
        parts.append({"attributes": [group["attribute"]], inside: values})
    document: dict[str, object] = {}
    if parts:
        document[kind] = parts if kind == "margins" else parts[0]
    if form["population"]:
        document["population"] = _people("population", form["population"])
    return SurveyDesign.from_dict(document)


def _percent(field: _Field) -> float:
    """Return the number of a field; a refusal names the category, and the form's field."""
    try:
        return float(number_in(field["category"], field["text"], float))
    except Refused as refusal:
        raise Refused(refusal.code, refusal.detail, field=field["name"]) from None


def _number(field: _Field) -> float:
    """Return the people of a field; raises as :func:`_percent`."""
    try:
        return _people(field["category"], field["text"])
    except Refused as refusal:
        raise Refused(refusal.code, refusal.detail, field=field["name"]) from None


def _people(name: str, text: str) -> float:
    """Return a number of people; 420.000 may be meant as 420,000, and is refused."""
    number = float(number_in(name, text, float))
    if has_doubtful_point(text):
        raise Refused("invalid-request", f"{name}: {doubtful_point(text)}", field=name)
    return number


def _answer(row: VersionRow, form: _Form) -> dict[str, Any]:
    parts = services()
    answer = parts.weighting.weighted_shares(
        row,
        form["of"],
        _design(form),
        confidence=float(form["confidence"]),
        may_export=may_export(row),
    )
    note_look(row, "weighted-shares")
    return answer


def _cut(answer: Mapping[str, Any]) -> str:
    """Return the sentence about intervals that the page shows cut; empty if none is."""
    shares = [one for share in answer["shares"] for one in (share, share["unweighted"])]
    totals = [share["total"] for share in answer["shares"] if share["total"] is not None]
    return cut_words(shares) or cut_words(totals, (0.0, answer["population"] or math.inf))


def _chart(answer: Mapping[str, Any], labels: Mapping[str, str]) -> Chart | None:
    """Return the chart of the shares that have an interval; None where none has."""
    rows: list[Share] = [
        {
            "category": share["category"],
            "frequency": share["value"],
            "lower": share["lower"],
            "upper": share["upper"],
        }
        for share in answer["shares"]
        if None not in (share["value"], share["lower"], share["upper"])
    ]
    if not rows:
        return None
    noisy = part_is_noisy(answer["verdict"], answer["attribute"])
    chart = estimates_chart(
        labels[answer["attribute"]], rows, confidence=answer["confidence"], total=len(rows)
    )
    first = max(rows, key=lambda row: row["frequency"])
    title = of_share(first["category"], first["frequency"], first["lower"], first["upper"])
    question = f"{labels[answer['attribute']]} In the population"
    foot = f"n = {answer['n']:,} reports, weighed by what is known of the population."
    if noisy:
        return told(as_too_noisy(chart), title, question, foot)
    chart = told(chart, title, question, how_to_read_bands(answer["confidence"]), foot)
    moved = max(
        answer["shares"],
        key=lambda share: abs((share["value"] or 0.0) - (share["unweighted"]["value"] or 0.0)),
    )
    if moved["value"] is None or moved["unweighted"]["value"] is None:
        return chart
    words = (
        f"{chart.sentence} Weighting moves {isolated(moved['category'])} most: from "
        f"{percent(moved['unweighted']['value'])} to {percent(moved['value'])}."
    )
    return replace(chart, sentence=words)
