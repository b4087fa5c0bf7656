"""Data quality: counts that add up, refusals by day, shape of the reports, what fakes could do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from flask import Response

from hushpoll_server.charts.rows import RefusedDay
from hushpoll_server.charts.specifications import Chart, refusals_chart
from hushpoll_server.dashboard.figures import download, drawn
from hushpoll_server.dashboard.forms import ask_for
from hushpoll_server.dashboard.frame import page
from hushpoll_server.dashboard.questions import labels_of
from hushpoll_server.dashboard.surveys import of_survey, result_of
from hushpoll_server.dashboard.version_pages import back_to, note_act, note_look, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.results.quality import NOTHING
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE, QUEUED, RUNNING
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.survey.terms import IMMEDIATE
from hushpoll_shared.tables.result_table import ResultTable, columns
from hushpoll_shared.tables.table_files import TABLE_FORMATS
from hushpoll_shared.wire.documents import surveys as documents

COLUMNS: Final = columns(day="text", outcome="text", reports="whole")


@shows("/quality", Role.READER)
def quality(row: VersionRow) -> Response:
    """Show whether a version's counts add up and its reports look like those of devices."""
    parts = services()
    # First the estimates, for which what waits is sealed where results are immediate.
    fakes, refusal = _fakes(row)
    account = parts.quality.account(row)
    note_look(row, "counts")
    tests = parts.quality.shapes(row)
    done = next((job for job in tests if job.state == DONE), None)
    chart = _chart(account["refused_by_day"] or ())
    return page(
        "quality.html",
        **of_survey(row, "quality"),
        account=account,
        **drawn(chart, "shows-refusals"),
        withheld=_why_no_days(row),
        tests=[parts.jobs.describe(job) for job in tests if job.state != DONE][:5],
        goes_on=sum(job.state in (QUEUED, RUNNING) for job in tests),
        tested=None if done is None else parts.jobs.describe(done),
        shape=None if done is None else parts.quality.shape(done),
        fakes=fakes,
        labels=labels_of(parts.surveys.published(row)),
        refusal=refusal,
        immediate=row.release == IMMEDIATE,
    )


@takes("/quality", Role.ANALYST)
def ask_for_shape(row: VersionRow) -> Response:
    """Ask for a test of the reports' shape, which a worker does."""
    ask_for(row, "shape", {})
    return back_to(row, "quality")


@shows("/quality/refusals.<form>", Role.READER)
def refusals_file(row: VersionRow, form: str) -> Response:
    """Return the chart of refusals by day, or the numbers behind it, as a file."""
    days = services().quality.refused_by_day(row)
    note_look(row, "counts")
    chart = _chart(days or ())
    if days is None or chart is None:
        raise Refused("not-found", "there are no refusals by day to download")
    entries = [
        {"day": day["day"], "outcome": outcome, "reports": number}
        for day in days
        for outcome, number in {"duplicate": day["duplicate"], **day["rejected"]}.items()
    ]
    table = ResultTable.of("refusals by day", COLUMNS, entries, {"days": "UTC"})
    return download(row, form, "refusals", chart, table)


@shows("/quality/shape/<job_id>.<form>", Role.READER)
def shape_file(row: VersionRow, job_id: str, form: str) -> Response:
    """Return what a test of shape found as a table."""
    parts = services()
    job = parts.jobs.find(job_id)
    if job.version_id != row.id or form not in TABLE_FORMATS:
        raise Refused("not-found", "nothing is at this address")
    table = table_of("shape", parts.quality.shape(job))
    note_act(row, "fetched-shape", job.id)
    return download(row, form, "shape", None, table)


def _chart(days: Sequence[documents.RefusedDay]) -> Chart | None:
    """Return the chart of all that was refused or repeated on each day; None without any."""
    totals: list[RefusedDay] = [
        {"day": day["day"], "reports": day["duplicate"] + sum(day["rejected"].values())}
        for day in days
    ]
    if not totals:
        return None
    chart = refusals_chart(totals)
    return replace(chart, sentence=f"Repeated and refused reports: {chart.sentence}")


def _why_no_days(row: VersionRow) -> str:
    """Say why nothing is shown by the day, for a version of which nothing is."""
    if services().surveys.published(row).submission != "open":
        return (
            "Each respondent has a token or an invitation, and a day could tell when its holder "
            "tried to use it, so refusals are not shown by the day."
        )
    if row.release == IMMEDIATE:
        return ""
    return (
        "Refusals are shown by the day of the days before a daily release. Anything finer than the "
        "releases would say when respondents were there."
    )


def _fakes(row: VersionRow) -> tuple[list[dict[str, Any]], str | None]:
    """Return what fake reports can do to each attribute's estimates, or why that is not said."""
    try:
        answer = result_of(row, Estimates()).to_dict()
    except Refused as refusal:
        if refusal.code not in NOTHING:
            raise
        return [], refusal.detail
    return [
        {
            "name": attribute["name"],
            "protocol": attribute["protocol"],
            "widest": max((line["upper"] - line["lower"]) / 2 for line in attribute["categories"]),
            **attribute["poisoning"],
        }
        for attribute in answer["attributes"]
    ], None
