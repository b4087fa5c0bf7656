"""A question's shares in two groups, or in two waves or surveys, and the differences between them.

The form is sent by GET, so that the address has all of it and can be shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict

from flask import Response, request

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.differences import differences_chart
from hushpoll_server.charts.rows import Difference
from hushpoll_server.charts.specifications import Chart, as_too_noisy, told
from hushpoll_server.dashboard.figures import download, drawn
from hushpoll_server.dashboard.frame import (
    choice,
    chosen_confidence,
    member,
    page,
)
from hushpoll_server.dashboard.questions import labels_of
from hushpoll_server.dashboard.surveys import (
    Outcome,
    answered,
    asked_of,
    fault_in_questions,
    lead_by_words,
    of_survey,
    outcome_of,
)
from hushpoll_server.dashboard.version_pages import reached, shows
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.group_shares import shares_in_groups
from hushpoll_server.survey_reports.content.headlines import headline_of, of_groups
from hushpoll_server.survey_reports.markup.captions import foot_of
from hushpoll_shared.qualifying.possible import DIFFERENCES, BoundedRow, cut_words
from hushpoll_shared.qualifying.verdict import part_is_noisy
from hushpoll_shared.queries.changes import Change
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.wire.documents.results import ResultVerdict

GROUPS: Final = "groups of "
WAVE: Final = "wave "

# Parameters of a statistic that have another name in the form.
_FIELDS: Final = {
    "attribute": "of",
    "given": "beside",
    "since": "beside",
    "since_version": "beside",
}


class _Compared(TypedDict):
    """The shares of one answer on both sides, and their difference."""

    label: str
    first: BoundedRow
    second: BoundedRow
    difference: BoundedRow


class _Comparison(TypedDict):
    """What the page shows of a statistic, and its JSON form, of which its table is made.

    Of waves it says what is assumed, and what a person in both has spent.
    """

    statistic: str
    title: str
    document: Mapping[str, Any]
    cut: str
    verdict: ResultVerdict
    noisy: bool
    rows: list[_Compared]
    first: str
    second: str
    confidence: float
    intervals: str
    assumption: NotRequired[str]
    epsilon_of_both: NotRequired[Mapping[str, str]]


@shows("/comparison", Role.READER)
def comparison(row: VersionRow) -> Response:
    """Compare the answers to one question, or let the user choose what with."""
    chosen, choices = _chosen(row)
    found = Outcome[_Comparison]()
    if chosen["beside"]:
        found = outcome_of(
            lambda: _answer(row, chosen), lambda error: fault_in_questions(row, error, _FIELDS)
        )
    answer = found.answer
    return page(
        "comparison.html",
        found.status,
        **of_survey(row, "comparison"),
        chosen=chosen,
        choices=choices,
        refusal=found.refusal,
        fault=found.fault,
        answer=answer,
        **drawn(None if answer is None else _chart(answer, row, chosen, choices)),
    )


@shows("/comparison.<form>", Role.READER)
def comparison_file(row: VersionRow, form: str) -> Response:
    """Return the chart of the differences, or the data behind it, as a file."""
    chosen, choices = _chosen(row)
    if not chosen["beside"]:
        raise Refused("not-found", "the address does not say what is compared")
    answer = _answer(row, chosen)
    chart = _chart(answer, row, chosen, choices)
    if chart is None:
        raise Refused("not-found", "the reports cannot tell any of these differences")
    table = table_of(answer["statistic"], answer["document"])
    return download(row, form, f"{chosen['of']}-compared", chart, table)


def _chosen(row: VersionRow) -> tuple[dict[str, str], dict[str, Any]]:
    """Return what the address chooses, and what there is to choose from."""
    parts = services()
    published = asked_of(row)
    names = [attribute.name for attribute in published.attributes]
    of = choice("of", names)
    waves = {
        f"{WAVE}{other.name} {other.version}": other
        for other in parts.surveys.all()
        if other.id != row.id
        and member().role(other.name) is not None
        and any(one.name == of for one in parts.surveys.published(other).attributes)
    }
    groups = {f"{GROUPS}{name}": name for name in names if name != of}
    questions = labels_of(published)
    versions = {key: f"{other.title} (version {other.version})" for key, other in waves.items()}
    besides = {key: questions[name] for key, name in groups.items()} | versions
    lead_by_words({"beside": besides})
    # The form still carries what was chosen for the question before.
    same = request.args.get("beside") == f"{GROUPS}{of}"
    beside = "" if same else choice("beside", ["", *groups, *waves])
    chosen = {"of": of, "beside": beside, "confidence": chosen_confidence()}
    categories: tuple[str, ...] = ()
    if beside in groups:
        categories = published.attribute(groups[beside]).domain
        known = {key: request.args.get(key) for key in ("reference", "group")}
        of_another = not {word for word in known.values() if word} <= set(categories)
        chosen["reference"] = categories[0] if of_another else choice("reference", categories)
        rest = [one for one in categories if one != chosen["reference"]]
        chosen["group"] = rest[0] if of_another else choice("group", categories, rest[0])
    return chosen, {
        "questions": questions,
        "groups": groups,
        "waves": versions,
        "besides": besides,
        "categories": categories,
    }


def _answer(row: VersionRow, chosen: Mapping[str, str]) -> _Comparison:
    """Return the statistic that was asked for, with the rows of its table."""
    beside = chosen["beside"]
    if beside.startswith(GROUPS):
        return _of_groups(row, chosen, beside.removeprefix(GROUPS))
    name, _, version = beside.removeprefix(WAVE).rpartition(" ")
    return _of_waves(row, chosen, reached(name, int(version), Role.READER))


def _of_groups(row: VersionRow, chosen: Mapping[str, str], given: str) -> _Comparison:
    group, reference = chosen["group"], chosen["reference"]
    if group == reference:
        raise InvalidParameter("the two groups are the same one; choose another", field="reference")
    query = shares_in_groups(
        of=chosen["of"],
        given=given,
        reference=reference,
        confidence=float(chosen["confidence"]),
    )
    result = answered(row, query)
    document = result.to_dict()
    shares = {(one["group"], one["category"]): one for one in document["shares"]}
    rows: list[_Compared] = [
        {
            "label": one["category"],
            "first": shares[group, one["category"]],
            "second": shares[reference, one["category"]],
            "difference": one,
        }
        for one in document["differences"]
        if one["group"] == group
    ]
    verdict = document["verdict"]
    return {
        "statistic": query.file_name,
        "title": f"{group} and {reference}: too noisy to tell"
        if part_is_noisy(verdict, "differences")
        else of_groups([one for one in result.differences if one.group == group], group, reference),
        "document": document,
        "cut": _cut(rows),
        "verdict": verdict,
        "noisy": part_is_noisy(verdict, "differences"),
        "rows": rows,
        "first": group,
        "second": reference,
        "confidence": document["confidence"],
        "intervals": document["intervals"],
    }


def _of_waves(row: VersionRow, chosen: Mapping[str, str], since: VersionRow) -> _Comparison:
    query = Change(
        attribute=chosen["of"],
        since_version=since.version,
        since_survey=since.name,
        confidence=float(chosen["confidence"]),
    )
    result = answered(row, query, since)
    document = result.to_dict()
    rows: list[_Compared] = [
        {
            "label": one["label"],
            "first": one["after"],
            "second": one["before"],
            "difference": one["difference"],
        }
        for one in document["changes"]
    ]
    return {
        "statistic": query.file_name,
        "title": headline_of(result),
        "document": document,
        "cut": _cut(rows),
        "verdict": document["verdict"],
        "noisy": part_is_noisy(document["verdict"], "changes"),
        "rows": rows,
        "first": _wave(row, since),
        "second": _wave(since, row),
        "confidence": document["confidence"],
        "intervals": document["intervals"],
        "assumption": document["assumption"],
        "epsilon_of_both": document["epsilon_of_both"],
    }


def _wave(row: VersionRow, other: VersionRow) -> str:
    """Return what one side of a comparison is called beside another version, or survey."""
    if row.name == other.name:
        return f"Version {row.version}"
    return f"{row.title}, version {row.version}"


def _cut(rows: Sequence[_Compared]) -> str:
    """Return the sentence about intervals that are shown cut; empty if none is."""
    shares = [one for row in rows for one in (row["first"], row["second"])]
    apart = [row["difference"] for row in rows]
    return cut_words(_bounded(shares)) or cut_words(_bounded(apart), DIFFERENCES)


def _bounded(rows: Iterable[BoundedRow]) -> Iterator[BoundedRow]:
    return (row for row in rows if row["bound"] == "bounded")


def _chart(
    answer: _Comparison, row: VersionRow, chosen: Mapping[str, str], choices: Mapping[str, Any]
) -> Chart | None:
    """Return the chart of the differences; None where the reports can tell none of them."""
    rows = [
        Difference(
            label=line["label"],
            value=line["difference"]["value"],
            lower=line["difference"]["lower"],
            upper=line["difference"]["upper"],
        )
        for line in answer["rows"]
    ]
    if all(None in (line["value"], line["lower"], line["upper"]) for line in rows):
        return None
    chart = differences_chart(
        rows,
        minuend=answer["first"],
        subtrahend=answer["second"],
        confidence=answer["confidence"],
    )
    chart = as_too_noisy(chart) if answer["noisy"] else chart
    published = services().surveys.published(row)
    document = answer["document"]
    n = document["n"] if "n" in document else document["after"]["n"]
    question = f"{choices['questions'][chosen['of']]} {answer['first']} minus {answer['second']}"
    foot = foot_of(published, n, answer["confidence"])
    return told(chart, answer["title"], question, "In percentage points.", *foot)
