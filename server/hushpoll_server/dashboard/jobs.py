"""Exports and jobs: what was asked for and how far it is, a new export, and files to fetch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response, request

from hushpoll_server.dashboard.forms import ask_for, given_in_form
from hushpoll_server.dashboard.frame import choice, dashboard, finished, member, page, private
from hushpoll_server.dashboard.questions import labels_of, named_by, names_of
from hushpoll_server.dashboard.surveys import of_survey, seen
from hushpoll_server.dashboard.version_pages import back_to, note_act, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.services.people.roles import Role
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.surveys.access import Grant
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import ENDED, JobRow
from hushpoll_server.survey_reports.content.naming import in_texts
from hushpoll_shared.wire.documents.jobs import JOB_STATES


@dashboard.get("/jobs")
@private
def jobs() -> Response:
    """List the newest jobs of the surveys in which the user is at least an analyst."""
    return page("jobs.html", **_listed(lambda name: member().may(name, Role.ANALYST)), row=None)


@shows("/jobs", Role.ANALYST)
def survey_jobs(row: VersionRow) -> Response:
    """List the newest jobs of one survey, with a form for a new export."""
    return page("jobs.html", **of_survey(row, "jobs"), **_listed(lambda _: True, survey=row.name))


def _listed(covers: Callable[[str], bool], *, survey: str | None = None) -> dict[str, object]:
    """Return the newest jobs, of the kind and in the state that the address chooses."""
    parts = services()
    chosen = {"kind": choice("kind", ("", *KINDS)), "state": choice("state", ("", *JOB_STATES))}
    rows = parts.jobs.newest(
        covers, survey=survey, kind=chosen["kind"] or None, state=chosen["state"] or None
    )
    return {
        "jobs": [parts.jobs.describe(row) for row in rows],
        "goes_on": sum(row.state not in ENDED for row in rows),
        "chosen": chosen,
        "kinds": list(KINDS),
        "states": JOB_STATES,
        "setting": _setting,
    }


def _setting(value: Any, job: Mapping[str, Any]) -> str:
    """Return a setting of a job as it is read on a page, with the questions of its survey."""
    parts = services()
    published = parts.surveys.published(parts.surveys.version(job["survey"], job["version"]))
    return in_texts(in_words(value), names_of(published))


def in_words(value: Any) -> str:
    """Return a setting of a job, which came as JSON, as it is read on a page.

    Examples
    --------
    >>> in_words(["gender", "age"]), in_words(True), in_words({"n_estimators": 40})
    ('gender, age', 'yes', 'n_estimators 40')
    """
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "–"
        case dict():
            return ", ".join(f"{key} {in_words(part)}" for key, part in value.items())
        case list():
            nested = any(isinstance(part, list | dict) for part in value)
            return ("; " if nested else ", ").join(map(in_words, value))
        case _:
            return str(value)


@takes("/jobs", Role.ANALYST, survey_jobs)
def ask_for_export(row: VersionRow) -> Response:
    """Ask for an export, which a worker makes."""
    ask_for(row, "export", given_in_form("export"))
    return back_to(row, "survey_jobs")


@takes("/tables", Role.ANALYST)
def ask_for_table(row: VersionRow) -> Response:
    """Ask for the joint table of three questions."""
    questions = labels_of(seen(row))
    attributes = [named_by(request.form.get(key, ""), questions) for key in ("a", "b", "c")]
    ask_for(row, "table", {**given_in_form("table"), "attributes": attributes})
    return back_to(row, "survey_jobs")


@dashboard.post("/jobs/<job_id>/cancel")
@private
def cancel_job(job_id: str) -> Response:
    """End a job that waits or runs: the user's own, or any if the user administers its survey."""
    parts = services()
    job, row = _reached_job(job_id, own=True)
    scopes = {"admin"} if member().may(row.name, Role.ADMIN) else {"read"}
    parts.jobs.cancel(job, Grant(member().id, frozenset(scopes)))
    note_act(row, "cancelled-job", job.id)
    # a reader has no page of all jobs, and asks for regressions alone
    there = "survey_jobs" if member().may(row.name, Role.ANALYST) else "regressions"
    return back_to(row, there)


@dashboard.get("/jobs/<job_id>/result")
@private
def job_result(job_id: str) -> Response:
    """Fetch the file that a job made."""
    parts = services()
    job, row = _reached_job(job_id)
    answer = Response(parts.jobs.result(job), mimetype=job.media_type)
    note_act(row, f"fetched-{job.kind}", job.id)
    answer.headers["Content-Length"] = str(job.size)
    answer.headers["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    return finished(answer)


def _reached_job(job_id: str, *, own: bool = False) -> tuple[JobRow, VersionRow]:
    """Return a job and its version; one of a survey that the user may not see is not found.

    With `own` a reader reaches what they asked for themselves.
    """
    parts = services()
    job = parts.jobs.find(job_id)
    row = parts.surveys.by_id(job.version_id)
    if member().role(row.name) is None:
        raise Refused("not-found", f"there is no job {job_id[:32]!r}", field="job_id")
    theirs = own and job.token_id == member().id
    member().require(row.name, Role.READER if theirs else Role.ANALYST)
    return job, row


def delete_result(
    results: KeptResults[Any], row: VersionRow, job_id: str, *, page: str
) -> Response:
    """Delete one that has ended: the user's own, or any if the user is an admin of the survey."""
    job = results.of_version(row, job_id)
    scope = "admin" if member().may(row.name, Role.ADMIN) else results.job.scope
    results.delete(job, Grant(member().id, frozenset({scope})), actor=member().actor)
    return back_to(row, page)
