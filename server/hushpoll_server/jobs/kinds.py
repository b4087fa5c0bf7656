"""The table of job kinds: which parameters a kind takes, what is refused, and what a worker does.

A kind is a name in ``hushpoll_shared.wire.job_kinds``, its parameters as a request gives them and
OpenAPI documents them, and a function that returns the result's file.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from hushpoll_analysis.poisoning.report_shape import report_shape
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.relations.three_way import chosen_attributes
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.limits import check_limits
from hushpoll_server.jobs.parameters import (
    ExportParameters,
    FairnessParameters,
    Parameters,
    SealParameters,
    ShapeParameters,
    TableParameters,
    TrainParameters,
)
from hushpoll_server.jobs.progress import OnStep, Step, counted
from hushpoll_server.services.services import Services
from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.survey.terms import IMMEDIATE
from hushpoll_shared.wire.job_kinds import SCOPE_OF_KIND

if TYPE_CHECKING:
    # Only jobs that train need the extra `train`, and importing it takes seconds.
    from hushpoll_training.learners.learner import FitOptions
    from hushpoll_training.models.recipe import Recipe


@dataclass(frozen=True)
class Result:
    """A file, streamed.

    Parameters
    ----------
    file_name, media_type : str
        Of the file.
    blocks : iterator of bytes
        The file, in order; consumed once.
    """

    file_name: str
    media_type: str
    blocks: Iterator[bytes]


def seal(parts: Services, row: VersionRow, _parameters: Mapping[str, Any], _say: OnStep) -> Result:
    """Ask a worker to seal reports that wait: a minimum batch, or all after the survey's end.

    Sealing releases nothing, and the result has no numbers of reports that are not released.
    """
    over = parts.surveys.state(row) is State.CLOSED
    moved = parts.sealing.seal(row, last=over)
    shown = moved if row.release == IMMEDIATE else None
    account = parts.releases.account(row)
    waiting = {key: account[key] for key in ("inbox", "sealed")}
    return _json("seal", row, {"moved": shown, **waiting})


def export(parts: Services, row: VersionRow, parameters: Mapping[str, Any], say: OnStep) -> Result:
    """Ask a worker for a file of the version's records that is too large to wait for."""
    file = parts.exports.export(
        row,
        on_rows=lambda done, total: say(Step("writes the file", done, total, "records")),
        **parameters,
    )
    return Result(file.name, file.media_type, file.blocks)


def train(parts: Services, row: VersionRow, parameters: Mapping[str, Any], say: OnStep) -> Result:
    """Ask a worker to fit a model to the version's records.

    The result is a ZIP of what `hushpoll train --out` writes; `hushpoll predict` reads it. To fetch
    it, a token needs the scope `read`.
    """
    from hushpoll_training.models.saved import save_model
    from hushpoll_training.reports.card import model_card
    from hushpoll_training.runs.record import run_record
    from hushpoll_training.runs.training_run import train_collected

    records = _collected(parts, row, say)
    trained = train_collected(records, *_how_to_fit(parameters, say, "fits the model"))
    say(Step("writes the model", 0, None, "files"))
    run = run_record(trained, {})
    with TemporaryDirectory(prefix="hushpoll-model-") as folder:
        directory = Path(folder) / "model"
        save_model(trained.model, directory, run, card=model_card(run))
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(directory.iterdir()):
                file.write(path, path.name)
    name = f"{row.name}-{row.version}-model.zip"
    return Result(name, "application/zip", iter([archive.getvalue()]))


def fairness(
    parts: Services, row: VersionRow, parameters: Mapping[str, Any], say: OnStep
) -> Result:
    """Ask a worker for group metrics with intervals, estimated from the records alone.

    Models are cross-fitted, so that none saw the records that it is audited on. A survey without a
    protected attribute or a target is refused. Where an interval has no bound, the result has null
    and says that it cannot conclude. It is the JSON that `hushpoll fairness --json` prints. To
    fetch it, a token needs the scope `read`.
    """
    from hushpoll_training.audits.records_fairness import fairness_of_records

    fitted_by = TrainParameters.model_fields
    others = {name: value for name, value in parameters.items() if name not in fitted_by}
    records = _collected(parts, row, say)
    fitting = _how_to_fit(parameters, say, f"fits {parameters['folds']} models to cross-fit")
    report = fairness_of_records(records, *fitting, **others)
    return _json("fairness", row, report.to_dict())


def shape(parts: Services, row: VersionRow, parameters: Mapping[str, Any], say: OnStep) -> Result:
    """Ask a worker whether the reports look like those that devices make.

    Parts of a record's form have a law that no answer changes, such as the number of bits that OUE
    sets, and careless fakes miss it. The result is JSON: per attribute a p-value and what deviates
    most, and `flagged`. GRR, SS and answers in clear leave nothing to test. The test does not find
    careful fakes; `poisoning` beside each estimate says what they can do.
    """
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        tested = report_shape(counted(stream, release.reports, say), **parameters)
    about = {"name": row.name, "version": row.version, "digest": row.digest}
    document = {"kind": "report shape", "survey": about, **tested.to_dict()}
    about_release = parts.releases.describe(row)
    return _json("shape", row, {**document, "pending": release.pending, **about_release})


def table(parts: Services, row: VersionRow, parameters: Mapping[str, Any], say: OnStep) -> Result:
    """Ask a worker for the joint table of two or three attributes.

    Each cell has the unbiased share with its interval and, unless `likelihood` is false, the share
    by maximum likelihood: never negative, but without an interval. To fetch the result, a token
    needs the scope `read`.
    """
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        records = counted(stream, release.reports, say).joined()
    say(Step("estimates the shares", 0, None, "cells"))
    found = joint_table(records, **parameters)
    return _json("table", row, {**parts.analysis.heading(row, release), **found.to_dict()})


def _collected(parts: Services, row: VersionRow, say: OnStep) -> Records:
    """Return the records of a survey's release, held at once."""
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        return counted(stream, release.reports, say).joined()


def _how_to_fit(
    parameters: Mapping[str, Any], say: OnStep | None = None, text: str = ""
) -> tuple[Recipe, FitOptions]:
    """Return learner, encoding and seed, by the tables of `hushpoll_training`."""
    from hushpoll_training.learners.learner import FitOptions
    from hushpoll_training.models.recipe import Recipe

    names = {name: parameters[name] for name in ("learner", "encoding") if parameters.get(name)}
    recipe = Recipe.of(parameters.get("parameters"), **names)
    unit = recipe.learner.progress_unit

    def step(done: int, steps: int) -> None:
        if say is not None:
            say(Step(text, done, steps, unit))

    return recipe, FitOptions(int(parameters.get("seed", 0)), on_progress=step)


def _json(kind: str, row: VersionRow, document: Mapping[str, Any]) -> Result:
    name = f"{row.name}-{row.version}-{kind}.json"
    return Result(name, "application/json", iter([json.dumps(document).encode()]))


def _require_records(parts: Services, row: VersionRow, _parameters: Parameters) -> None:
    parts.analysis.require_records(row)


def _check_nothing(_parts: Services, _row: VersionRow, _parameters: Parameters) -> None:
    pass


def _check_export(parts: Services, row: VersionRow, parameters: Parameters) -> None:
    parts.exports.check(row, **parameters.model_dump())


def _check_table(parts: Services, row: VersionRow, parameters: TableParameters) -> None:
    chosen_attributes(parts.surveys.published(row), parameters.attributes)
    parts.analysis.require_records(row)


def _check_train(parts: Services, row: VersionRow, parameters: TrainParameters) -> None:
    """Refuse what no model can be fitted to, and a model larger than this server trains."""
    try:
        from hushpoll_training.data.target import Target

        recipe, _ = _how_to_fit(parameters.model_dump(exclude_none=True))
        recipe.learner.require_extra()
        recipe.refuse_clear_rows("a job of a server")
    except MissingExtra as error:
        detail = f"{error}, on the web server as well as on its workers"
        raise Refused("missing-extra", detail) from None
    except InvalidParameter as error:
        of_the_learner = error.field not in TrainParameters.model_fields
        field = f"parameters.{error.field}" if of_the_learner else error.field
        raise InvalidParameter(str(error), field=field) from None
    Target.of(parts.surveys.published(row))
    check_limits(recipe.learner, parts.settings.job_parameter_limits)
    parts.analysis.require_records(row)


def _check_fairness(parts: Services, row: VersionRow, parameters: FairnessParameters) -> None:
    _check_train(parts, row, parameters)
    from hushpoll_training.audits.predictions import AuditInputs
    from hushpoll_training.audits.records_fairness import check_together, compared_survey

    recipe, _ = _how_to_fit(parameters.model_dump(exclude_none=True))
    recipe.refuse_repeated_fits("cross-fitting")
    published = parts.surveys.published(row)
    compared = compared_survey(published, parameters.groups, parameters.reference)
    check_together(parameters.together, parameters.groups)
    AuditInputs.of(compared, parameters.protected_input)
    reports = parts.analysis.release(row).reports
    if parameters.folds > reports:
        remedy = f"give a number in [2, {reports}]" if reports > 1 else "collect more"
        raise InvalidParameter(
            f"folds is {parameters.folds}, and there are {reports} records; {remedy}",
            field="folds",
        )


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """One kind of job.

    Parameters
    ----------
    name : str
        In ``SCOPE_OF_KIND``, and the last part of its route.
    parameters : type of Parameters
        Body of the request.
    check : callable
        Refuses at once what a worker would refuse after the job's turn.
    work : callable
        What a worker does; it takes the parameters as JSON gives them, and calls its last argument
        with each step. Its docstring is the text of the route.
    own_process : bool
        Whether it computes for long in compiled code, where no thread can be ended.
    """

    name: str
    parameters: type[Parameters]
    check: Callable[[Services, VersionRow, Any], None]
    work: Callable[[Services, VersionRow, Mapping[str, Any], OnStep], Result]
    own_process: bool = False

    @property
    def scope(self) -> str:
        """Scope of the token that may ask for it."""
        return SCOPE_OF_KIND[self.name]


KINDS: Final = {
    kind.name: kind
    for kind in (
        JobKind(name="seal", parameters=SealParameters, check=_check_nothing, work=seal),
        JobKind(name="export", parameters=ExportParameters, check=_check_export, work=export),
        JobKind(
            name="train",
            parameters=TrainParameters,
            check=_check_train,
            work=train,
            own_process=True,
        ),
        JobKind(
            name="fairness",
            parameters=FairnessParameters,
            check=_check_fairness,
            work=fairness,
            own_process=True,
        ),
        JobKind(
            name="shape",
            parameters=ShapeParameters,
            check=_require_records,
            work=shape,
            own_process=True,
        ),
        JobKind(
            name="table",
            parameters=TableParameters,
            check=_check_table,
            work=table,
            own_process=True,
        ),
    )
}
