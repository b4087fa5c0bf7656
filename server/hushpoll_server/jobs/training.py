"""The work of jobs that train: a model, a search of a learner's parameters, a fairness audit."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.errors import Refused
from hushpoll_server.jobs.limits import allowed_space, check_groups, check_limits
from hushpoll_server.jobs.progress import OnStep, Step
from hushpoll_server.jobs.result import Result, collected, json_result
from hushpoll_server.services.results.kept_results import summary_of_audit
from hushpoll_server.services.services import Services
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.jobs.training import Fairness, FitChoices, Train, Tune
from hushpoll_shared.querying.query import parameters_of
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.documents.audits import AuditDocument

if TYPE_CHECKING:
    # Only jobs that train need the extra `train`, and importing it takes seconds.
    from hushpoll_training.learners.learner import FitOptions
    from hushpoll_training.models.recipe import Recipe


_OF_FIT = tuple(one.name for one in parameters_of(FitChoices))


def train(parts: Services, row: VersionRow, asked: Train, say: OnStep) -> Result:
    """Fit a model, measure it where `folds` are given, and pack what `hushpoll train` writes."""
    from hushpoll_training.reports.card import model_card
    from hushpoll_training.runs.record import run_record
    from hushpoll_training.runs.saved import save_model
    from hushpoll_training.runs.training_run import train_collected

    records = collected(parts, row, say)
    trained = train_collected(records, *_how_to_fit(asked, say, "fits the model"))
    measured = None
    if asked.folds is not None:
        measured = _measured(records, asked, asked.folds, say)
    say(Step("writes the model", 0, None, "files"))
    run = run_record(trained, {}, clock=parts.settings.clock)
    run["on_records"] = measured
    card = model_card(run)
    with TemporaryDirectory(prefix="hushpoll-model-") as folder:
        directory = Path(folder) / "model"
        save_model(trained.model, directory, run, card=card)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(directory.iterdir()):
                file.write(path, path.name)
    name = f"{row.name}-{row.version}-model.zip"
    return Result(name, "application/zip", iter([archive.getvalue()]), card)


def _measured(records: Records, asked: Train, folds: int, say: OnStep) -> JsonObject:
    """Return accuracy and fairness as records alone tell them, and how to read them."""
    from hushpoll_training.audits.records_accuracy import accuracy_of_records
    from hushpoll_training.audits.records_fairness import fairness_of_records

    fitting = _how_to_fit(asked, say, f"fits {folds} models to measure accuracy")
    measured = accuracy_of_records(records, *fitting, folds=folds).to_dict()
    if records.published.protected is None:
        return {**measured, "fairness": None, "no_fairness": "no protected attribute is declared"}
    fitting = _how_to_fit(asked, say, f"fits {folds} models to audit fairness")
    try:
        audited = fairness_of_records(records, *fitting, folds=folds).to_dict()
    except InvalidParameter as error:  # such as a survey that asks nothing else
        return {**measured, "fairness": None, "no_fairness": str(error)}
    return {**measured, "fairness": audited["metrics"], "no_fairness": None}


def tune(parts: Services, row: VersionRow, asked: Tune, say: OnStep) -> Result:
    """Search a learner's parameters on the records alone."""
    from hushpoll_training.tuning.folds import RecordsProblem
    from hushpoll_training.tuning.study import tune as search

    records = collected(parts, row, say)
    recipe, options = _how_to_fit(asked)
    folds, trials = asked.folds, asked.trials
    problem = RecordsProblem.of(records, recipe.encoding, folds=folds, seed=options.seed)

    def tried(done: int) -> None:
        say(Step("searches parameters", done, trials, "trials"))

    with TemporaryDirectory(prefix="hushpoll-tune-") as folder:
        tuned = search(
            problem,
            Path(folder) / "study.sqlite",
            {},
            trials=trials,
            learner=recipe.learner.name,
            space=allowed_space(recipe.learner, parts.settings.job_parameter_limits),
            on_trial=tried,
        )
    document = {
        "learner": recipe.learner.name,
        "encoding": recipe.encoding.name,
        "seed": options.seed,
        "folds": folds,
        "parameters": dict(tuned.parameters),
        "score": {"accuracy_on_records": tuned.score},
        "interval": "none: the best of many scores is better than its parameters deserve",
        "trials": tuned.trials,
        "pruned": tuned.pruned,
        "versions": recipe.learner.versions(),
    }
    return json_result("tune", row, document)


def fairness(parts: Services, row: VersionRow, asked: Fairness, say: OnStep) -> Result:
    """Estimate group metrics from the records alone, and sum them up for the list of audits."""
    from hushpoll_training.audits.records_fairness import fairness_of_records

    others = asked.to_json(*_OF_FIT)
    records = collected(parts, row, say)
    fitting = _how_to_fit(asked, say, f"fits {asked.folds} models to cross-fit")
    report = fairness_of_records(records, *fitting, **others).to_dict()
    summary = summary_of_audit(cast("AuditDocument", report), parts.releases.describe(row))
    return replace(json_result("fairness", row, report), card=summary)


def _how_to_fit(
    asked: FitChoices | Tune, say: OnStep | None = None, text: str = ""
) -> tuple[Recipe, FitOptions]:
    """Return learner, encoding and seed, by the tables of `hushpoll_training`."""
    from hushpoll_training.learners.learner import FitOptions
    from hushpoll_training.models.recipe import Recipe

    named = {"learner": asked.learner, "encoding": asked.encoding}
    own = asked.parameters if isinstance(asked, FitChoices) else None
    recipe = Recipe.of(own, **{name: word for name, word in named.items() if word})
    unit = recipe.learner.progress_unit

    def step(done: int, steps: int) -> None:
        if say is not None:
            say(Step(text, done, steps, unit))

    return recipe, FitOptions(asked.seed, on_progress=step)


def check_train(parts: Services, row: VersionRow, asked: Train) -> None:
    """Refuse what no model can be fitted to, and a model larger than this server trains."""
    recipe = _check_fit(parts, row, asked)
    check_limits(recipe.learner, parts.settings.job_parameter_limits)
    if asked.folds is not None:
        recipe.refuse_repeated_fits("cross-fitting")
        recipe.refuse_group_at_prediction("a measurement from records")
        _check_folds(parts, row, asked.folds)


def check_tune(parts: Services, row: VersionRow, asked: Tune) -> None:
    """Refuse a search that no worker could do."""
    fit = FitChoices(learner=asked.learner, encoding=asked.encoding, seed=asked.seed)
    recipe = _check_fit(parts, row, fit)
    recipe.refuse_repeated_fits("a search")
    recipe.refuse_group_at_prediction("a search")
    setting = parts.settings.job_parameter_limits
    # Those that are not searched have their defaults.
    least = {name: span.low for name, span in allowed_space(recipe.learner, setting).items()}
    check_limits(type(recipe.learner)(least), setting)
    _check_folds(parts, row, asked.folds)


def _check_folds(parts: Services, row: VersionRow, folds: int) -> None:
    reports = parts.analysis.release(row).reports
    if folds > reports:
        remedy = f"give a number in [2, {reports}]" if reports > 1 else "collect more"
        raise InvalidParameter(
            f"folds is {folds}, and there are {reports} records; {remedy}", field="folds"
        )


def _check_fit(parts: Services, row: VersionRow, asked: FitChoices) -> Recipe:
    """Return the recipe that a request asks for, if this server may fit it to the records."""
    try:
        from hushpoll_training.data.target import Target

        recipe, _ = _how_to_fit(asked)
        recipe.learner.require_extra()
        recipe.refuse_clear_rows("a job of a server")
    except MissingExtra as error:
        detail = f"{error}, on the web server as well as on its workers"
        raise Refused("missing-extra", detail) from None
    except InvalidParameter as error:
        of_the_learner = error.field not in _OF_FIT
        field = f"parameters.{error.field}" if of_the_learner else error.field
        raise InvalidParameter(str(error), field=field) from None
    published = parts.surveys.published(row)
    Target.of(published)
    check_groups(recipe.learner, published)
    parts.analysis.require_records(row)
    return recipe


def check_fairness(parts: Services, row: VersionRow, asked: Fairness) -> None:
    """Refuse an audit that no worker could do."""
    recipe = _check_fit(parts, row, asked)
    check_limits(recipe.learner, parts.settings.job_parameter_limits)
    from hushpoll_training.audits.predictions import AuditInputs
    from hushpoll_training.audits.records_fairness import check_together, compared_survey

    recipe.refuse_repeated_fits("cross-fitting")
    recipe.refuse_further_groups("an audit")
    if asked.protected_input == "dropped":
        recipe.refuse_group_at_prediction("an audit without the protected attribute")
    published = parts.surveys.published(row)
    compared = compared_survey(published, asked.groups, asked.reference)
    check_together(asked.together, asked.groups)
    AuditInputs.of(compared, asked.protected_input)
    _check_folds(parts, row, asked.folds)
