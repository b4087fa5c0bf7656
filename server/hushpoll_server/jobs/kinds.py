"""The table of job kinds: what is refused at once, and what a worker does.

A kind is declared in :mod:`hushpoll_shared.jobs`; here are its check and its work, a function that
returns the result's file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from hushpoll_analysis.multiplicity.dependencies import check_pairs, outcomes_of_pairs
from hushpoll_analysis.query_results import in_domain, result_about
from hushpoll_analysis.regression.survey import answers_of, checked_formula, readers_formula
from hushpoll_analysis.regression.terms.formulas import is_scored, read_formula
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.relations.three_way import table_attributes
from hushpoll_analysis.report_shape import report_shape
from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_analysis.survey_design.estimation import check_outcomes, weighted_shares_of_several
from hushpoll_protocols.epsilon import is_decimal
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.jobs import mailing, training
from hushpoll_server.jobs.progress import OnStep, Step, counted
from hushpoll_server.jobs.result import Result, json_result
from hushpoll_server.services.results.kept_results import summary_of_regression
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.jobs.analyses import DependencyTests, Regress, Shape, Table, Weight
from hushpoll_shared.jobs.collecting import Invite, Remind, Seal
from hushpoll_shared.jobs.files import Export, Report
from hushpoll_shared.jobs.job import Job
from hushpoll_shared.jobs.training import Fairness, Train, Tune
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.nearest import remedy_for
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.terms import IMMEDIATE
from hushpoll_shared.wire.documents.regressions import RegressionDocument


def seal(parts: Services, row: VersionRow, _asked: Seal, _say: OnStep) -> Result:
    """Seal what waits, and say what was moved where its release tells it at once."""
    over = parts.surveys.state(row) is State.CLOSED
    moved = parts.sealing.seal(row, last=over)
    shown = moved if row.release == IMMEDIATE else None
    account = parts.releases.account(row)
    waiting = {key: account[key] for key in ("inbox", "sealed")}
    return json_result("seal", row, {"moved": shown, **waiting})


def export(parts: Services, row: VersionRow, asked: Export, say: OnStep) -> Result:
    """Write a file of the version's records."""
    file = parts.exports.export(
        row,
        on_rows=lambda done, total: say(Step("writes the file", done, total, "records")),
        **asked.to_json(),
    )
    return Result(file.name, file.media_type, file.blocks)


def shape(parts: Services, row: VersionRow, asked: Shape, say: OnStep) -> Result:
    """Test the shape of the version's reports."""
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        tested = report_shape(counted(stream, release.reports, say), **asked.to_json())
    about = {"name": row.name, "version": row.version, "digest": row.digest}
    document = {"kind": "report shape", "survey": about, **tested.to_dict()}
    about_release = parts.releases.describe(row)
    return json_result("shape", row, {**document, "pending": release.pending, **about_release})


def table(parts: Services, row: VersionRow, asked: Table, say: OnStep) -> Result:
    """Estimate the joint table of two or three attributes."""
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        records = counted(stream, release.reports, say).joined()
    say(Step("estimates the shares", 0, None, "cells"))
    document = joint_table(records, **asked.to_json()).to_dict()
    heading = {"verdict": document["verdict"], **parts.analysis.heading(row, release)}
    return json_result("table", row, {**heading, **document})


def weight(parts: Services, row: VersionRow, asked: Weight, say: OnStep) -> Result:
    """Estimate the weighted shares of several attributes."""
    design = SurveyDesign.from_dict(asked.design.to_json())
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        records = counted(stream, release.reports, say).joined()
    shares = weighted_shares_of_several(
        records,
        list(asked.attributes),
        design,
        confidence=asked.confidence,
        on_attribute=lambda done, total: say(Step("weights", done, total, "attributes")),
    )
    return json_result("weight", row, {**parts.analysis.heading(row, release), **shares.to_dict()})


def dependencies(parts: Services, row: VersionRow, asked: DependencyTests, say: OnStep) -> Result:
    """Test all pairs whose joint counts are kept."""
    source, query = parts.analysis.source(row, may_export=True), Dependencies(**asked.to_json())
    outcomes = outcomes_of_pairs(
        query,
        in_domain(query, source),
        lambda done, total: say(Step("tests", done, total, "pairs")),
    )
    result = result_about(query, outcomes.result())
    answer = {**parts.analysis.heading(row, source.release), **result.to_dict()}
    return json_result("dependencies", row, answer)


def regress(parts: Services, row: VersionRow, asked: Regress, say: OnStep) -> Result:
    """Fit a regression, and sum it up for the list of those that are kept."""
    # numba and scipy are loaded where a regression is fitted, and nowhere else
    from hushpoll_analysis.regression.model import fit

    formula, values = asked.formula, asked.at or {}
    for_readers = asked.for_readers
    options = asked.to_json("formula", "at", "for_readers")
    groups = parts.analysis.seen(row, may_export=not for_readers)
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        records = counted(stream, release.reports, say).joined()
    answers = answers_of(records, formula, groups=groups)
    fitted = fit(formula, answers, tell=lambda text: say(Step(text, 0, None, "steps")), **options)
    document = fitted.to_dict()
    chances = [chance.to_dict() for chance in fitted.predicted(values)] if values else []
    heading = {"verdict": document["verdict"], **parts.analysis.heading(row, release)}
    smallest = parts.analysis.smallest_group if for_readers else None
    merged = (
        [] if groups is None else list(groups.only(read_formula(formula).variables).sentences())
    )
    seen = {"smallest_group": smallest, "small_groups": merged}
    whole = {**heading, **document, "predicted": chances, **seen}
    variables = read_formula(formula).variables
    read = cast("RegressionDocument", whole)
    card = summary_of_regression(read, variables, parts.releases.describe(row))
    return replace(json_result("regress", row, whole), card=card)


def report(parts: Services, row: VersionRow, asked: Report, say: OnStep) -> Result:
    """Make a report of the last release."""
    say(Step("draws the charts", 0, None, "charts"))
    choices = parts.survey_reports.choices(row, may_export=True, **asked.to_json("format"))
    file = parts.survey_reports.file(row, choices, asked.format, may_export=True, at_once=False)
    return Result(file.name, file.media_type, iter([file.body]))


def _require_records(parts: Services, row: VersionRow, _asked: Job) -> None:
    parts.analysis.require_records(row)


def _check_nothing(_parts: Services, _row: VersionRow, _asked: Job) -> None:
    pass


def _check_export(parts: Services, row: VersionRow, asked: Export) -> None:
    parts.exports.check(row, **asked.to_json())


def _check_report(parts: Services, row: VersionRow, asked: Report) -> None:
    choices = asked.to_json("format")
    parts.survey_reports.choices(row, may_export=True, **choices)
    parts.analysis.release(row)
    parts.survey_reports.require_form(asked.format)


def _check_table(parts: Services, row: VersionRow, asked: Table) -> None:
    table_attributes(parts.surveys.published(row), list(asked.attributes))
    parts.analysis.require_records(row)


def _check_dependencies(parts: Services, row: VersionRow, asked: DependencyTests) -> None:
    query = Dependencies(**asked.to_json())
    check_pairs(parts.surveys.published(row), query.rate, query.where or ())
    in_domain(query, parts.analysis.source(row, may_export=True))
    parts.analysis.require_records(row)


def _check_regress(parts: Services, row: VersionRow, asked: Regress) -> None:
    groups = parts.analysis.seen(row, may_export=not asked.for_readers)
    formula, family = asked.formula, asked.family
    if groups is None:
        published = parts.surveys.published(row)
        read = checked_formula(published, formula, family=family)
    else:
        published = groups.shown
        read = readers_formula(groups, formula, family=family)
    for name, value in (asked.at or {}).items():
        if name not in read.predictors:
            raise InvalidParameter(
                f"at names {show(name)}, which is no predictor of the formula"
                f"{remedy_for(name, read.predictors)}",
                field="at",
            )
        domain = published.attribute(name).domain
        if value not in domain and not (is_scored(domain) and is_decimal(value)):
            raise InvalidParameter(
                f"at gives {name} the value {show(value)}, which is no answer of it"
                f"{remedy_for(value, domain)}",
                field="at",
            )
    parts.analysis.require_records(row)


def _check_weight(parts: Services, row: VersionRow, asked: Weight) -> None:
    design = SurveyDesign.from_dict(asked.design.to_json())
    check_outcomes(parts.surveys.published(row), list(asked.attributes), design)
    parts.analysis.require_records(row)


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """One kind of job, as a server does it."""

    declared: type[Job]
    check: Callable[[Services, VersionRow, Any], None]
    """Refuses at once what a worker would refuse after the job's turn."""
    work: Callable[[Services, VersionRow, Any, OnStep], Result]
    """Takes the job, or what `prepare` returned of it; calls its last argument with each step."""
    own_process: bool = False
    """Whether it computes for long in compiled code, where no thread can be ended."""
    prepare: Callable[[Services, VersionRow, Any], JsonObject] | None = None
    """Does what belongs to the request itself, and returns the parameters that the job keeps."""
    undo: Callable[[Services, JsonObject], None] | None = None
    """Undoes what `prepare` did, where the job was not added; it takes what that returned."""

    @property
    def name(self) -> str:
        """The last part of its route."""
        return self.declared.name

    def done(self, parts: Services, row: VersionRow, kept: JsonObject, say: OnStep) -> Result:
        """Do the work of a job whose parameters are kept as JSON."""
        read = self.declared.of_json if self.prepare is None else dict
        return self.work(parts, row, read(kept), say)

    def ask(
        self, parts: Services, row: VersionRow, given: JsonObject, *, by: str, actor: str
    ) -> JobRow:
        """Check the parameters, add the job, and record that `actor` asked; `by` may cancel it."""
        asked = self.declared.of_json(given)
        self.check(parts, row, asked)
        kept = given if self.prepare is None else self.prepare(parts, row, asked)
        try:
            job = parts.jobs.add(row, self.name, kept, token_id=by)
        except BaseException:
            if self.undo is not None:
                self.undo(parts, kept)
            raise
        parts.actions.record(
            actor, f"asked-for-{self.name}", survey=row.name, version=row.version, subject=job.id
        )
        return job


def _alone(
    declared: type[Job],
    work: Callable[[Services, VersionRow, Any, OnStep], Result],
    check: Callable[[Services, VersionRow, Any], None],
) -> JobKind:
    """Return a kind that is worked on in a process of its own."""
    return JobKind(declared=declared, work=work, check=check, own_process=True)


KINDS: Final = {
    kind.name: kind
    for kind in (
        JobKind(declared=Seal, work=seal, check=_check_nothing),
        JobKind(declared=Export, work=export, check=_check_export),
        _alone(Train, training.train, training.check_train),
        _alone(Tune, training.tune, training.check_tune),
        _alone(Fairness, training.fairness, training.check_fairness),
        _alone(Shape, shape, _require_records),
        JobKind(declared=Report, work=report, check=_check_report),
        _alone(Table, table, _check_table),
        _alone(Weight, weight, _check_weight),
        _alone(DependencyTests, dependencies, _check_dependencies),
        _alone(Regress, regress, _check_regress),
        JobKind(
            declared=Invite,
            work=mailing.invite,
            check=mailing.check_invite,
            prepare=mailing.prepare_invite,
            undo=mailing.undo,
        ),
        JobKind(
            declared=Remind,
            work=mailing.remind,
            check=mailing.check_remind,
            prepare=mailing.prepare_remind,
            undo=mailing.undo,
        ),
    )
}
