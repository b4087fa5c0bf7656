"""The table of job kinds: which parameters a kind takes, what is refused, and what a worker does.

A kind is a name in ``hushpoll_shared.wire.job_kinds``, its parameters as a request gives them and
OpenAPI documents them, and a function that returns the result's file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, cast, get_type_hints

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
from hushpoll_server.jobs.design_parameters import WeightParameters
from hushpoll_server.jobs.parameters import (
    DependenciesParameters,
    ExportParameters,
    Parameters,
    RegressParameters,
    ReportParameters,
    SealParameters,
    ShapeParameters,
    TableParameters,
)
from hushpoll_server.jobs.progress import OnStep, Step, counted
from hushpoll_server.jobs.result import Result, json_result
from hushpoll_server.services.results.regressions import summary_of
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.nearest import remedy_for
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.terms import IMMEDIATE
from hushpoll_shared.wire.job_kinds import JOB_KINDS
from hushpoll_shared.wire.regression_documents import RegressionDocument


def seal(parts: Services, row: VersionRow, _parameters: SealParameters, _say: OnStep) -> Result:
    """Ask a worker to seal reports that wait: a minimum batch, or all after the survey's end.

    Sealing releases nothing, and the result has no numbers of reports that are not released.
    """
    over = parts.surveys.state(row) is State.CLOSED
    moved = parts.sealing.seal(row, last=over)
    shown = moved if row.release == IMMEDIATE else None
    account = parts.releases.account(row)
    waiting = {key: account[key] for key in ("inbox", "sealed")}
    return json_result("seal", row, {"moved": shown, **waiting})


def export(parts: Services, row: VersionRow, parameters: ExportParameters, say: OnStep) -> Result:
    """Ask a worker for a file of the version's records that is too large to wait for."""
    file = parts.exports.export(
        row,
        on_rows=lambda done, total: say(Step("writes the file", done, total, "records")),
        **parameters.given(),
    )
    return Result(file.name, file.media_type, file.blocks)


def shape(parts: Services, row: VersionRow, parameters: ShapeParameters, say: OnStep) -> Result:
    """Ask a worker whether the reports look like those that devices make.

    Parts of a record's form have a law that no answer changes, such as the number of bits that OUE
    sets, and careless fakes miss it. The result is JSON: per attribute a p-value and what deviates
    most, and `flagged`. GRR, SS and answers in clear leave nothing to test. The test does not find
    careful fakes; `poisoning` beside each estimate says what they can do.
    """
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        tested = report_shape(counted(stream, release.reports, say), **parameters.given())
    about = {"name": row.name, "version": row.version, "digest": row.digest}
    document = {"kind": "report shape", "survey": about, **tested.to_dict()}
    about_release = parts.releases.describe(row)
    return json_result("shape", row, {**document, "pending": release.pending, **about_release})


def table(parts: Services, row: VersionRow, parameters: TableParameters, say: OnStep) -> Result:
    """Ask a worker for the joint table of two or three attributes.

    Each cell has the unbiased share with its interval and, unless `likelihood` is false, the share
    by maximum likelihood: never negative, but without an interval. To fetch the result, a token
    needs the scope `read`.
    """
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        records = counted(stream, release.reports, say).joined()
    say(Step("estimates the shares", 0, None, "cells"))
    document = joint_table(records, **parameters.given()).to_dict()
    heading = {"verdict": document["verdict"], **parts.analysis.heading(row, release)}
    return json_result("table", row, {**heading, **document})


def weight(parts: Services, row: VersionRow, parameters: WeightParameters, say: OnStep) -> Result:
    """Ask a worker for the shares of several attributes by weights, strata and known margins.

    The design is that of `weighted-shares`, which answers at once where a survey is small or the
    design has one attribute. To fetch the result, a token needs the scope `read`.
    """
    design = SurveyDesign.from_dict(parameters.design.given())
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        records = counted(stream, release.reports, say).joined()
    shares = weighted_shares_of_several(
        records,
        parameters.attributes,
        design,
        confidence=parameters.confidence,
        on_attribute=lambda done, total: say(Step("weights", done, total, "attributes")),
    )
    return json_result("weight", row, {**parts.analysis.heading(row, release), **shares.to_dict()})


def dependencies(
    parts: Services, row: VersionRow, parameters: DependenciesParameters, say: OnStep
) -> Result:
    """Ask a worker for tests of independence of all pairs whose joint counts are kept.

    It is what the route `dependencies` answers at once where few pairs have rare answers. Of the
    others a pair takes up to a second. To fetch the result, a token needs the scope `read`.
    """
    source, query = parts.analysis.source(row, may_export=True), Dependencies(**parameters.given())
    outcomes = outcomes_of_pairs(
        query,
        in_domain(query, source),
        lambda done, total: say(Step("tests", done, total, "pairs")),
    )
    result = result_about(query, outcomes.result())
    answer = {**parts.analysis.heading(row, source.release), **result.to_dict()}
    return json_result("dependencies", row, answer)


def regress(parts: Services, row: VersionRow, parameters: RegressParameters, say: OnStep) -> Result:
    """Ask a worker for a regression of one attribute on others, perturbed or in clear.

    Maximum likelihood on the exact law of every record: which answers depend on which, other things
    equal. The result is kept until it is deleted. To fetch it, a token needs the scope `read`.
    """
    # numba and scipy are loaded where a regression is fitted, and nowhere else
    from hushpoll_analysis.regression.model import fit

    formula, values = parameters.formula, parameters.at or {}
    for_readers = parameters.for_readers
    options = parameters.given("formula", "at", "for_readers")
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
    card = summary_of(read, variables, parts.releases.describe(row))
    return replace(json_result("regress", row, whole), card=card)


def report(parts: Services, row: VersionRow, parameters: ReportParameters, say: OnStep) -> Result:
    """Ask a worker for a report of the last release that is too long to wait for.

    It is the file that `GET .../report` gives. A report depends on nothing that is not released. To
    fetch it, a token needs the scope `read`.
    """
    say(Step("draws the charts", 0, None, "charts"))
    choices = parts.survey_reports.choices(row, may_export=True, **parameters.given("format"))
    file = parts.survey_reports.file(
        row, choices, parameters.format, may_export=True, at_once=False
    )
    return Result(file.name, file.media_type, iter([file.body]))


def _require_records(parts: Services, row: VersionRow, _parameters: Parameters) -> None:
    parts.analysis.require_records(row)


def _check_nothing(_parts: Services, _row: VersionRow, _parameters: Parameters) -> None:
    pass


def _check_export(parts: Services, row: VersionRow, parameters: Parameters) -> None:
    parts.exports.check(row, **parameters.model_dump())


def _check_report(parts: Services, row: VersionRow, parameters: ReportParameters) -> None:
    choices = parameters.model_dump(exclude={"format"})
    parts.survey_reports.choices(row, may_export=True, **choices)
    parts.analysis.release(row)
    parts.survey_reports.require_form(parameters.format)


def _check_table(parts: Services, row: VersionRow, parameters: TableParameters) -> None:
    table_attributes(parts.surveys.published(row), parameters.attributes)
    parts.analysis.require_records(row)


def _check_dependencies(
    parts: Services, row: VersionRow, parameters: DependenciesParameters
) -> None:
    query = Dependencies(**parameters.given())
    check_pairs(parts.surveys.published(row), query.rate, query.where or ())
    in_domain(query, parts.analysis.source(row, may_export=True))
    parts.analysis.require_records(row)


def _check_regress(parts: Services, row: VersionRow, parameters: RegressParameters) -> None:
    groups = parts.analysis.seen(row, may_export=not parameters.for_readers)
    formula, family = parameters.formula, parameters.family
    if groups is None:
        published = parts.surveys.published(row)
        read = checked_formula(published, formula, family=family)
    else:
        published = groups.shown
        read = readers_formula(groups, formula, family=family)
    for name, value in (parameters.at or {}).items():
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


def _check_weight(parts: Services, row: VersionRow, parameters: WeightParameters) -> None:
    design = SurveyDesign.from_dict(parameters.design.given())
    check_outcomes(parts.surveys.published(row), parameters.attributes, design)
    parts.analysis.require_records(row)


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """One kind of job.

    Parameters
    ----------
    name : str
        Of its work: in ``JOB_KINDS``, and the last part of its route.
    parameters : type of Parameters
        Body of the request.
    check : callable
        Refuses at once what a worker would refuse after the job's turn.
    work : callable
        What a worker does; it takes the parameters, or what `prepare` returned of them, and calls
        its last argument with each step. Its docstring is the text of the route.
    own_process : bool
        Whether it computes for long in compiled code, where no thread can be ended.
    prepare : callable, optional
        Does what belongs to the request itself, once it was checked, and returns the parameters
        that the job keeps; the request's own by default.
    undo : callable, optional
        Undoes that where the job was not added; it takes what `prepare` returned.
    """

    name: str
    parameters: type[Parameters]
    check: Callable[[Services, VersionRow, Any], None]
    work: Callable[[Services, VersionRow, Any, OnStep], Result]
    own_process: bool = False
    prepare: Callable[[Services, VersionRow, Any], JsonObject] | None = None
    undo: Callable[[Services, JsonObject], None] | None = None

    @classmethod
    def of(
        cls,
        work: Callable[..., Result],
        check: Callable[..., None],
        prepare: Callable[..., JsonObject] | None = None,
        undo: Callable[..., None] | None = None,
        *,
        own_process: bool = False,
    ) -> JobKind:
        """Return the kind that is named after its work; what takes its parameters says which."""
        parameters = list(get_type_hints(work if prepare is None else check).values())[2]
        return cls(
            name=work.__name__,
            parameters=parameters,
            check=check,
            work=work,
            own_process=own_process,
            prepare=prepare,
            undo=undo,
        )

    def done(self, parts: Services, row: VersionRow, kept: JsonObject, say: OnStep) -> Result:
        """Do the work of a job whose parameters are kept as JSON."""
        read = self.parameters.model_validate if self.prepare is None else dict
        return self.work(parts, row, read(kept), say)

    @property
    def scope(self) -> str:
        """Scope of the token that may ask for it."""
        return JOB_KINDS[self.name].scope

    def ask(
        self, parts: Services, row: VersionRow, parameters: Parameters, *, by: str, actor: str
    ) -> JobRow:
        """Check the parameters, add the job, and record that `actor` asked; `by` may cancel it.

        Raises
        ------
        Refused, InvalidParameter
            What the kind's own check refuses; ``too-many-jobs``.
        """
        self.check(parts, row, parameters)
        kept: JsonObject = parameters.given()
        if self.prepare is not None:
            kept = self.prepare(parts, row, parameters)
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


KINDS: Final = {
    kind.name: kind
    for kind in (
        JobKind.of(seal, _check_nothing),
        JobKind.of(export, _check_export),
        JobKind.of(training.train, training.check_train, own_process=True),
        JobKind.of(training.tune, training.check_tune, own_process=True),
        JobKind.of(training.fairness, training.check_fairness, own_process=True),
        JobKind.of(shape, _require_records, own_process=True),
        JobKind.of(report, _check_report),
        JobKind.of(table, _check_table, own_process=True),
        JobKind.of(weight, _check_weight, own_process=True),
        JobKind.of(dependencies, _check_dependencies, own_process=True),
        JobKind.of(regress, _check_regress, own_process=True),
        JobKind.of(mailing.invite, mailing.check_invite, mailing.prepare_invite, mailing.undo),
        JobKind.of(mailing.remind, mailing.check_remind, mailing.prepare_remind, mailing.undo),
    )
}
