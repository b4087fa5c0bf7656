"""Regression: choose an outcome and predictors, watch the job, read what was found, delete."""

from __future__ import annotations

from typing import Final

from flask import Response, request

from hushpoll_analysis.regression.survey import checked_formula, limits_of
from hushpoll_analysis.regression.terms.formulas import formula_of, is_scored, read_formula
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.charts.regressions import finding_of, regression_chart, slopes_of
from hushpoll_server.dashboard.figures import download, drawn
from hushpoll_server.dashboard.forms import ask_for, given_in_form
from hushpoll_server.dashboard.frame import (
    member,
    page,
)
from hushpoll_server.dashboard.jobs import delete_result
from hushpoll_server.dashboard.questions import labels_of, named_by
from hushpoll_server.dashboard.surveys import may_export, of_survey, why_not_shown
from hushpoll_server.dashboard.version_pages import back_to, note_act, note_look, shows, takes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import QUEUED, RUNNING, JobRow
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.qualifying.verdict import TOO_NOISY
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.tables.regressions import references_of
from hushpoll_shared.wire.documents.kept_results import RegressionEntry
from hushpoll_shared.wire.documents.regressions import RegressionDocument

MOST_REFERENCES: Final = 30
"""Answers of a question that has a field to choose the one that others are compared with."""
FAMILIES: Final = {
    "": "by the outcome: odds of yes and no or of several answers, means of numbers",
    "ordered": "ordered answers: odds of a higher one",
    "multinomial": "several answers without an order: odds of each beside the first",
    "logit": "two answers: odds of the second",
    "linear": "numbers: means",
}
KINDS: Final = {
    "logit": "odds of two answers (logit)",
    "multinomial": "odds of each answer beside the first (multinomial logit)",
    "ordered": "odds of a higher answer (proportional odds)",
    "linear": "means of a number (linear)",
}


@shows("/regressions", Role.READER)
def regressions(row: VersionRow) -> Response:
    """List the regressions of a version, with a form to ask for one.

    A reader who may not export chooses among the groups in clear that readers see.
    """
    parts = services()
    found = shown_of(row)
    note_look(row, "regressions")
    own = {job.id for job in parts.jobs.newest_of(row, Regress.name) if job.token_id == member().id}
    return page(
        "regressions.html",
        **of_survey(row, "regressions"),
        regressions=found,
        goes_on=sum(one["job"]["state"] in (QUEUED, RUNNING) for one in found),
        form=_form(row),
        mine=own,
    )


@takes("/regressions", Role.READER, regressions)
def ask_for_regression(row: VersionRow) -> Response:
    """Ask for a regression, which a worker fits."""
    ask_for(row, Regress.name, {**_chosen(row), "for_readers": not may_export(row)})
    return back_to(row, "regressions")


@shows("/regressions/<regression_id>", Role.READER)
def regression(row: VersionRow, regression_id: str) -> Response:
    """Show what a regression found: sentences first, then picture, chances and table."""
    parts = services()
    job, answer = _shown(row, regression_id)
    note_look(row, "regressions")
    questions = labels_of(parts.surveys.published(row))
    slopes = slopes_of(answer, questions)
    chart = regression_chart(answer, questions) if slopes else None
    return page(
        "regression.html",
        **of_survey(row, "regressions"),
        job=parts.jobs.describe(job),
        mine=job.token_id == member().id,
        answer=answer,
        finding=finding_of(answer, questions),
        predictors=_predictors(answer),
        references=references_of(answer),
        slopes={one["name"]: one["label"] for one in slopes},
        noisy=answer["verdict"]["says"] == TOO_NOISY,
        kinds=KINDS,
        **drawn(chart),
    )


@shows("/regressions/<regression_id>/chart.<form>", Role.READER)
def regression_file(row: VersionRow, regression_id: str, form: str) -> Response:
    """Return the picture of a regression, or all its coefficients, as a file."""
    job, answer = _shown(row, regression_id)
    note_act(row, "fetched-regress", job.id)
    chart = regression_chart(answer, labels_of(services().surveys.published(row)))
    what, table = f"regression-{job.id[:8]}", table_of("regression", answer)
    return download(row, form, what, chart, table)


@takes("/regressions/<regression_id>/delete", Role.READER)
def delete_regression(row: VersionRow, regression_id: str) -> Response:
    """Delete a regression that has ended: the user's own, or any if the user is an admin of it."""
    return delete_result(services().regressions, row, regression_id, page="regressions")


def _shown(row: VersionRow, regression_id: str) -> tuple[JobRow, RegressionDocument]:
    """Return a regression and what it found, where the user may see it."""
    job = services().regressions.of_version(row, regression_id)
    answer = services().regressions.result(job)
    withheld = why_not_shown(row, answer, [answer["outcome"]["name"], *_predictors(answer)])
    if withheld:
        raise Refused("forbidden", withheld)
    return job, answer


def _predictors(answer: RegressionDocument) -> list[str]:
    """Return the attributes right of the tilde."""
    return list(read_formula(answer["formula"]).predictors)


class ShownRegression(RegressionEntry):
    """A regression of the list, and why its findings are not shown."""

    withheld: str | None


def shown_of(row: VersionRow) -> list[ShownRegression]:
    """Return the regressions of a version, without findings that the user may not see."""
    return [_without_what_is_withheld(row, one) for one in services().regressions.history(row)]


def _without_what_is_withheld(row: VersionRow, entry: RegressionEntry) -> ShownRegression:
    """Return an entry of the list, without findings that the user may not see."""
    found, withheld = entry.get("regression"), None
    if found is not None:
        withheld = why_not_shown(row, found, [found["outcome"], *found["predictors"]])
    return {"job": entry["job"], "regression": None if withheld else found, "withheld": withheld}


def _form(row: VersionRow) -> dict[str, object]:
    """Return what the form needs: questions by their texts, and their answers."""
    groups = services().analysis.seen(row, may_export=may_export(row))
    published = services().surveys.published(row) if groups is None else groups.shown
    labels = labels_of(published)
    return {
        "small_groups": () if groups is None else groups.sentences(),
        "labels": labels,
        "questions": [
            _question(one, labels[one.name], limits_of(one)) for one in published.attributes
        ],
        "target": "" if published.target is None else published.target.name,
        "families": FAMILIES,
    }


def _question(attribute: PublishedAttribute, text: str, limits: str | None) -> dict[str, object]:
    number = is_scored(attribute.domain)
    kind = "a number" if number else f"{len(attribute.domain)} answers"
    about = f"{'in clear' if attribute.oracle is None else 'randomised'}, {kind}"
    return {
        "name": attribute.name,
        "text": text,
        "about": about if limits is None else f"{about}; {limits}",
        "number": number,
        "answers": attribute.domain if len(attribute.domain) <= MOST_REFERENCES else (),
    }


def _chosen(row: VersionRow) -> JsonMembers:
    """Return what the form asks for, as a request of the API says it."""
    chosen = given_in_form("regress")
    if "formula" not in chosen:
        chosen["formula"] = _written(row, request.form.get("family") or None)
    return chosen


def _written(row: VersionRow, family: str | None) -> str:
    """Return the formula of what was chosen; a refusal names the field of the choice."""
    form, groups = request.form, services().analysis.seen(row, may_export=may_export(row))
    published = services().surveys.published(row) if groups is None else groups.shown
    questions = labels_of(published)
    outcome = named_by(form.get("outcome", ""), questions)
    predictors = form.getlist("predictors")
    references = {
        name: reference
        for name in predictors
        if (reference := form.get(f"reference-{name}")) is not None and reference != ""
    }
    both = (
        named_by(form.get("interaction", ""), questions),
        named_by(form.get("interacts_with", ""), questions),
    )
    for name in (outcome, *predictors):
        if groups is not None:
            groups.require(name, field="outcome" if name == outcome else "predictors")
    try:
        formula = formula_of(
            published,
            outcome,
            predictors,
            references=references,
            interaction=both if any(both) else None,
            family=family,
        )
    except InvalidParameter as error:
        said = str(error)
        wrong = [name for name in references if said.startswith(f"the reference of {name} ")]
        if error.field != "reference" or not wrong:
            raise
        raise Refused("invalid-request", said, field=f"reference-{wrong[0]}") from None
    try:
        checked_formula(published, formula, family=family)
    except InvalidParameter as error:
        field = error.field
        if field == "formula":
            about = str(error).startswith((f"{outcome} ", f"the outcome {outcome} "))
            field = "outcome" if about else "predictors"
        raise Refused("invalid-request", str(error), field=field) from None
    return formula
