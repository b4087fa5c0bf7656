"""The list of surveys, and the page of one: its reports, its guarantee, its link, its end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Final, Generic, TypedDict, TypeVar
from urllib.parse import urlencode

import segno
from flask import Response, abort, redirect, request, url_for
from markupsafe import Markup

from hushpoll_analysis.ordered.scales import is_ordered
from hushpoll_analysis.query_results import RESULTS
from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_server.charts.days import releases_chart
from hushpoll_server.charts.rows import ReleasedDay
from hushpoll_server.charts.specifications import Chart
from hushpoll_server.dashboard.figures import download, inline
from hushpoll_server.dashboard.forms import OF_VALUES, Fault
from hushpoll_server.dashboard.frame import (
    CONFIDENCES,
    USUAL_CONFIDENCE,
    dashboard,
    member,
    page,
    private,
    see,
    words_of_refusal,
)
from hushpoll_server.dashboard.questions import (
    found_by,
    in_questions,
    labels_of,
    names_of,
    questions_of,
)
from hushpoll_server.dashboard.version_pages import back_to, note_act, note_look, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.results.kept_results import why_withheld
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.content.findings import Finding, findings_of
from hushpoll_server.survey_reports.content.naming import in_texts
from hushpoll_server.survey_reports.content.promise import guarantees
from hushpoll_shared.qualifying.domains import where_words
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.estimates import EstimatedShares, Estimates
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import IMMEDIATE
from hushpoll_shared.tables.result_table import ResultTable, columns

R = TypeVar("R", bound=Result)
A = TypeVar("A")

# A survey that releases immediately has a count that rises while the page is seen.
LOOK_AGAIN_SECONDS: Final = 3
# Questions that are summed up by a mean, all numbers among them; the others by a share, as each
# mean takes its time.
MOST_MEANS: Final = 8
# Black on white in both themes, with the quiet zone of the standard (ISO/IEC 18004): many readers
# do not find a light QR code on a dark ground.
_QR_LOOK: Final = {"border": 4, "dark": "#000", "light": "#fff"}
# Refusals that say that there is nothing to show yet, or any more.
NOTHING_YET: Final = ("not-released", "not-enough-reports", "records-deleted")
# Tabs that show numbers of groups, or let the user choose some.
ABOUT_GROUPS: Final = (
    "survey",
    "estimates",
    "cross-tables",
    "comparison",
    "regressions",
    "results",
    "report",
    "fairness",
)
# Parameters of addresses that name an attribute.
ATTRIBUTES: Final = ("attribute", "among", "a", "b", "of", "given", "by", "second")
_DAYS: Final = columns(day="text", added="whole", reports="whole")


@dashboard.get("")
def start() -> Response:
    """Lead to the list of surveys."""
    return see(url_for("dashboard.surveys"))


@dashboard.get("/")
@private
def surveys() -> Response:
    """List the surveys in which the user has a role."""
    parts, text = services(), request.args.get("search", "").strip()
    rows = [row for row in parts.surveys.all() if member().role(row.name) is not None]
    shown = [
        row
        for row in rows
        if text.casefold() in row.name.casefold() or text.casefold() in row.title.casefold()
    ]
    listed = parts.overviews.summaries(shown)
    drafts = [
        parts.drafts.summary(draft)
        for draft in parts.drafts.all()
        if member().may(draft.survey, Role.EDITOR)
    ]
    writes = any(Role(role).includes(Role.EDITOR) for role in member().roles.values())
    return page(
        "surveys.html",
        surveys=listed,
        search=text,
        total=len(rows),
        drafts=drafts,
        writes=writes,
    )


@shows("", Role.READER)
def survey(row: VersionRow) -> Response:
    """Show one survey version."""
    parts = services()
    overview, published = parts.overviews.overview(row), parts.surveys.published(row)
    note_look(row, "overview")
    shares, findings = _findings(row)
    return page(
        "survey.html",
        **of_survey(row, "survey"),
        overview=overview,
        shares=shares,
        findings=findings,
        guarantees=guarantees(published, overview["attributes"], names_of(published)),
        drawn=bool(published.draws),
        versions=[one.version for one in parts.surveys.all() if one.name == row.name],
        link=_link(row),
        code=_qr_code(row, inline=True),
        days=_days(overview["released_by_day"]),
        origins=parts.origins.named(row.name),
        records_deleted=parts.releases.records_deleted_at(row),
        goes_on=_look_again(overview),
    )


@shows("/qr-code.svg", Role.READER)
def code(row: VersionRow) -> Response:
    """Give the QR code of the hosted page as a file."""
    answer = Response(_qr_code(row, inline=False), mimetype="image/svg+xml")
    answer.headers["Content-Disposition"] = f'attachment; filename="{row.name}-qr-code.svg"'
    return answer


@shows("/days.<form>", Role.READER)
def days_file(row: VersionRow, form: str) -> Response:
    """Return the chart of released reports by day, or the data behind it, as a file."""
    days = services().releases.by_day(row)
    if not days:
        raise Refused("not-found", "no report of this survey is released yet")
    note_look(row, "overview")
    methods = {"survey": row.name, "version": row.version, "digest": row.digest}
    table = ResultTable.of("reports by day", _DAYS, days, methods)
    return download(row, form, "days", releases_chart(days), table)


@takes("/close", Role.EDITOR, survey)
def close(row: VersionRow) -> Response:
    """Close a version, once the user has typed its name."""
    if request.form.get("confirm", "").strip() != row.name:
        raise Refused(
            "invalid-request",
            f"the survey was not closed, because its name was not typed; type {row.name} to close",
            field="confirm",
        )
    parts = services()
    row = parts.surveys.close(row, grace_seconds=0 if "at-once" in request.form else None)
    parts.sealing.after_closing(row)
    note_act(row, "closed")
    return back_to(row, "survey")


def _findings(row: VersionRow) -> tuple[EstimatedShares | None, tuple[Finding, ...]]:
    """Return the estimates of every question that the user may see, and what they come to.

    None, and nothing, while or where there are none.
    """
    try:
        shares = answered(row, Estimates())
    except Refused as refusal:
        if refusal.code not in NOTHING_YET:
            raise
        return None, ()
    published = seen(row)
    ordered = [one.name for one in shares.attributes if is_ordered(published.attribute(one.name))]
    # A number has no other line: shares of its anchors are no shares of answers.
    numbers = [name for name in ordered if published.attribute(name).number is not None]
    others = [name for name in ordered if name not in numbers]
    means = {
        name: result_of(row, Ordered(attribute=name))
        for name in (*numbers, *others[: max(0, MOST_MEANS - len(numbers))])
    }
    asks = any(published.attribute(one.name).ask_if is not None for one in shares.attributes)
    told = result_of(row, Answered()) if asks else None
    return shares, findings_of(published, shares, means, told)


@dataclass(frozen=True)
class Outcome(Generic[A]):
    """What a form that is sent by GET came to: an answer, none yet, or a fault beside a field."""

    answer: A | None = None
    refusal: Refused | None = None
    fault: Fault | None = None

    @property
    def status(self) -> int:
        """The status of the page that has the form and what it came to."""
        return 200 if self.fault is None else OF_VALUES


def outcome_of(
    ask: Callable[[], A], fault_of: Callable[[InvalidParameter | Refused], Fault]
) -> Outcome[A]:
    """Return what asking comes to; `fault_of` says beside which field a refusal stands."""
    try:
        return Outcome(ask())
    except InvalidParameter as error:
        return Outcome(fault=fault_of(error))
    except Refused as error:
        if error.code == "invalid-request":
            return Outcome(fault=fault_of(error))
        if error.code not in NOTHING_YET:
            raise
        return Outcome(refusal=error)


def fault_in_questions(
    row: VersionRow, error: InvalidParameter | Refused, fields: Mapping[str, str] | None = None
) -> Fault:
    """Return a fault in the words of pages; `fields` has the other names of parameters."""
    name = error.field or ""
    return Fault(((fields or {}).get(name, name),), refusal_in_questions(error, seen(row)))


def nothing_yet(template: str, frame: dict[str, object], refusal: Refused) -> Response:
    """Return the page of a result that there is none of yet; raises any other refusal."""
    if refusal.code not in NOTHING_YET:
        raise refusal
    return page(template, **frame, refusal=refusal, withheld=None, table=None, answer=None)


def _look_again(overview: Mapping[str, object]) -> int | None:
    """Return in how many seconds the page looks for new reports; None where none can be seen."""
    live = overview["release"] == IMMEDIATE and overview["state"] in ("open", "closing")
    return LOOK_AGAIN_SECONDS if live else None


class _DaysFigure(TypedDict):
    """The chart of released reports by day, its picture, and its rows, the newest first."""

    chart: Chart
    svg: Markup | None
    rows: list[ReleasedDay]


def _days(days: list[ReleasedDay]) -> _DaysFigure | None:
    """Return the figure of released reports by day; None before the first release."""
    if not days:
        return None
    chart = releases_chart(days)
    return {"chart": chart, "svg": inline(chart, "shows-days"), "rows": days[::-1]}


def _link(row: VersionRow) -> str:
    """Return the path of the hosted page, with the digest by which a browser checks the survey."""
    return f"{request.script_root}/s/{row.name}#sha256={row.digest}"


def _address(row: VersionRow) -> str:
    return request.host_url.rstrip("/") + _link(row)


def _qr_code(row: VersionRow, *, inline: bool) -> str:
    """Return the address as an SVG that a phone reads; 15 % may be unreadable (correction M)."""
    code = segno.make_qr(_address(row), error="m")
    if inline:
        return str(code.svg_inline(scale=4, omitsize=True, **_QR_LOOK))
    file = BytesIO()
    code.save(file, kind="svg", scale=8, **_QR_LOOK)
    return file.getvalue().decode()


@dashboard.get("/<path:rest>")
@private
def nothing(rest: str) -> Response:
    """Say that there is no such page."""
    del rest
    raise Refused("not-found", "nothing is at this address; the link may be incomplete")


def of_survey(row: VersionRow, tab: str) -> dict[str, object]:
    """Return what the frame of a survey's pages needs."""
    may = {role.value: member().may(row.name, role) for role in Role}
    state = services().surveys.state(row).value
    groups = None
    if tab in ABOUT_GROUPS:
        groups = services().analysis.seen(row, may_export=may_export(row))
    return {
        "row": row,
        "version_of": {"name": row.name, "version": row.version},
        "tab": tab,
        "may": may,
        "state": state,
        "kept": _kept(row),
        "names": names_of(seen(row)),
        "merged_groups": () if groups is None else groups.sentences(),
    }


def _kept(row: VersionRow) -> dict[str, dict[str, object]]:
    """Return what the addresses of the tabs have: this version, and its question and confidence.

    The keys are ``attribute``, ``a`` and ``of``: what the pages call the question.
    """
    published = services().surveys.published(row)
    names = {attribute.name for attribute in published.attributes}
    words = (request.args.get(key) for key in ("attribute", "a", "of"))
    question = next((word for word in words if word in names), None)
    confidence = request.args.get("confidence")
    kept: dict[str, object] = {"name": row.name, "version": row.version}
    if confidence in CONFIDENCES and confidence != USUAL_CONFIDENCE:
        kept["confidence"] = confidence
    return {
        key: kept if question is None else {key: question, **kept}
        for key in ("attribute", "a", "of")
    }


def may_export(*rows: VersionRow | None) -> bool:
    """Return whether the user may export the records of all these versions."""
    return all(member().may(row.name, Role.ANALYST) for row in rows if row is not None)


def why_not_shown(
    row: VersionRow, found: Mapping[str, object], names: Collection[str]
) -> str | None:
    """Return why a kept result about these attributes is not shown to the user; None: it is."""
    parts = services()
    groups = parts.analysis.seen(row, may_export=may_export(row))
    if groups is None:
        return None
    complete = found["n"] == parts.releases.reports(row)
    return why_withheld(groups, found, names, complete=complete)


def seen(row: VersionRow) -> Published:
    """Return a version's survey with the groups in clear that the user may see."""
    groups = services().analysis.seen(row, may_export=may_export(row))
    return services().surveys.published(row) if groups is None else groups.shown


def lead_by_words(fields: Mapping[str, Mapping[str, str]]) -> None:
    """Lead an address that has the words of a question to the one that has its name.

    A field with search sends words. `fields` has the texts of what each may choose, by name. Words
    that several questions have, or none, stay, and are refused where the field is read.
    """
    found = {}
    for field, texts in fields.items():
        words = request.args.get(field, "").strip()
        matching = found_by(words, texts) if words and words not in texts else ()
        if len(matching) == 1:
            found[field] = matching[0]
    if found and request.method == "GET":
        arguments = request.args.copy()
        for field, name in found.items():
            arguments.setlist(field, [name])
        query = urlencode([*arguments.items(multi=True)])
        abort(redirect(f"{request.script_root}{request.path}?{query}"))


def refusal_in_questions(error: HushpollError, published: Published) -> str:
    """Return what a refusal says as a sentence, with the words of pages for names."""
    words = in_texts(words_of_refusal(error), names_of(published))
    for kind in RESULTS:
        words = words.replace(f"({kind.name})", f"(All results, {kind.result_type.title})")
    return in_questions(words)


def _asked(row: VersionRow) -> Mapping[str, str]:
    """Return the texts of the questions, of which a select-all is one and its options are none."""
    return questions_of(services().surveys.published(row))


def asked_of(row: VersionRow, *named: str) -> Published:
    """Return what `seen` does; refuses attributes, named here or there, that users may not see."""
    texts = labels_of(seen(row))
    lead_by_words({key: texts for key in ATTRIBUTES if request.args.get(key) not in _asked(row)})
    groups = services().analysis.seen(row, may_export=may_export(row))
    if groups is not None:
        asked = [(key, name) for key in ATTRIBUTES for name in request.args.getlist(key)]
        for key, name in (*asked, *(("attribute", name) for name in named)):
            groups.require(name, field=key)
    return seen(row)


def result_of(row: VersionRow, query: Query[R]) -> R:
    """Return the result of a query as the user may see it; no look at it is noted."""
    return services().analysis.result(row, query, may_export=may_export(row))


def answered(row: VersionRow, query: Query[R], before: VersionRow | None = None) -> R:
    """Return the result of a query, and note in the action log that the user has seen it.

    A user who may not export sees small groups in clear merged; see ``Analysis.source``.
    """
    parts = services()
    result = parts.analysis.result(row, query, before, may_export=may_export(row, before))
    domain = None if query.where is None else where_words(query.where)
    for one in filter(None, (before, row)):
        parts.actions.looked(member().actor, query.name, one.name, one.version, domain)
    return result
