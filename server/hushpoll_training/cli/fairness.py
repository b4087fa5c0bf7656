"""``hushpoll fairness records``, ``model`` and ``predictions``: group fairness from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.model_options import (
    audit_options,
    confidence_option,
    cross_fitting_options,
)
from hushpoll_shared.cli.named_values import named_values
from hushpoll_shared.cli.out_file import is_json, out_option, save_table, write_text
from hushpoll_shared.cli.statistic_commands import FAIRNESS
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors, waiting
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.survey.option_texts import question_texts
from hushpoll_shared.tables.table_files import format_of, guarantee
from hushpoll_training.audits.records_fairness import (
    RecordsFairness,
    fairness_of_model,
    fairness_of_records,
)
from hushpoll_training.cli.options import (
    FILE,
    encoding_option,
    learner_option,
    seed_option,
    shown,
    threads_option,
)
from hushpoll_training.data.predictions_file import read_predictions
from hushpoll_training.data.rows import table_header
from hushpoll_training.evaluation.documents import ReportDocument, ReportsDocument
from hushpoll_training.evaluation.fairness.partition import partition_by
from hushpoll_training.evaluation.fairness.report import RESAMPLES, SMALLEST, fairness_report
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.reports.pages import fairness_page
from hushpoll_training.reports.tables import reports_table
from hushpoll_training.reports.training_report import report_text
from hushpoll_training.runs.saved import load_model


@click.command()
@click.argument("file", type=FILE)
@cross_fitting_options
@seed_option("Seed of the folds and of the learner.")
@encoding_option
@learner_option
@threads_option
@FAIRNESS.options
@json_option
@reports_errors
def records(
    file: Path,
    params: tuple[str, ...],
    learner: str,
    encoding: str,
    seed: int,
    threads: int,
    folds: int,
    groups: str | None,
    reference: str | None,
    expect: tuple[str, ...],
    out: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Estimate group fairness from the randomised records of FILE, which hushpoll export saved.

    Group metrics, such as DI and SPD, and the group rates behind them, with intervals. The
    protected attribute is not needed in clear. Models are cross-fitted to the records, so that each
    record is predicted by a model that never saw it. Where the records cannot tell, the answer says
    so.
    """
    _check_reference(groups, reference)
    with waiting(f"reading {file.name}"):
        collected = Records.read(file)
    recipe = Recipe.of(named_values(params), learner=learner, encoding=encoding)
    with shown(recipe.learner, FitOptions(seed, threads), fits=folds) as options:
        report = fairness_of_records(
            collected,
            recipe,
            options,
            folds=folds,
            groups=groups,
            reference=reference,
            expected=named_values(expect),
            **settings,
        )
    _show(report, collected, file, out, as_json=as_json)


@click.command()
@click.argument("model", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("file", type=FILE)
@click.option(
    "--unseen", is_flag=True, help="Declare that MODEL was fitted to none of these records."
)
@audit_options
@threads_option
@FAIRNESS.options
@json_option
@reports_errors
def model(
    model: Path,
    file: Path,
    unseen: bool,
    groups: str | None,
    reference: str | None,
    expect: tuple[str, ...],
    threads: int,
    out: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Audit MODEL, which train --out wrote, on randomised records of FILE that it has not seen.

    The answer has the form that hushpoll fairness records gives.
    """
    if not unseen:
        raise click.UsageError(
            "a model is audited only on records that it was not fitted to; declare that with "
            "--unseen, or cross-fit models with: hushpoll fairness records"
        )
    _check_reference(groups, reference)
    with waiting(f"fairness of {model.name} on {file.name}"):
        collected = Records.read(file)
        report = fairness_of_model(
            load_model(model, trial=True),
            collected,
            name=model.name,
            groups=groups,
            reference=reference,
            expected=named_values(expect),
            threads=threads,
            **settings,
        )
    _show(report, collected, file, out, as_json=as_json)


def _check_reference(groups: str | None, reference: str | None) -> None:
    if reference is not None and groups is None:
        raise click.UsageError("--reference needs --groups, the attribute that it is a category of")


def _show(
    report: RecordsFairness, collected: Records, file: Path, out: Path | None, *, as_json: bool
) -> None:
    document = {**report.to_dict(), "inputs": {"records": file.name}}
    published = collected.published
    FAIRNESS.show(
        document,
        out,
        as_json=as_json,
        guarantee=lambda: guarantee(published),
        questions=lambda: question_texts(published),
    )


def _is_page(out: Path) -> bool:
    return out.suffix.lower() in (".html", ".htm")


def _check_ending(out: Path) -> None:
    if _is_page(out) or is_json(out):
        return
    try:
        format_of(out)
    except InvalidParameter as error:
        raise InvalidParameter(
            f"--out is {str(out)!r}; its ending must be .html, .csv, .xlsx or .json", field="out"
        ) from error


@click.command()
@click.argument("file", type=FILE)
@click.option(
    "--data",
    type=FILE,
    help="The rows that were predicted, in their order, if labels and groups are there: the file "
    "that `hushpoll predict --data` was given.",
)
@click.option(
    "--groups",
    multiple=True,
    required=True,
    metavar="COLUMN[,COLUMN]",
    help="What tells groups apart, crossed if several; may be repeated.",
)
@click.option(
    "--reference",
    metavar="COLUMN=CATEGORY[,...]",
    help="The group that the others are compared with.  [default: the largest]",
)
@click.option(
    "--label",
    metavar="COLUMN",
    default="label",
    show_default=True,
    help="The column of the true categories.",
)
@click.option(
    "--predicted",
    metavar="COLUMN",
    default="predicted",
    show_default=True,
    help="The column of predictions.",
)
@click.option(
    "--positive",
    metavar="CATEGORY",
    default="1",
    show_default=True,
    help="The category that counts as 1.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=0),
    default=RESAMPLES,
    show_default=True,
    help="Samples that the bootstrap draws again; 0 for no bootstrap.",
)
@click.option(
    "--smallest-group",
    type=click.IntRange(min=1),
    default=SMALLEST,
    show_default=True,
    help="Fewest rows of which a rate is shown.",
)
@seed_option("Seed of the bootstrap.")
@confidence_option
@out_option(
    "Write the reports into this file as well; its ending says how: .html for a page, .csv or "
    ".xlsx for a table, or .json.",
    check=_check_ending,
)
@json_option
@reports_errors
def predictions(
    file: Path,
    data: Path | None,
    groups: tuple[str, ...],
    reference: str | None,
    label: str,
    predicted: str,
    positive: str,
    resamples: int,
    smallest_group: int,
    seed: int,
    confidence: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare any number of groups, and their intersections, by the predictions of FILE.

    FILE is a CSV or Parquet file of labels, predictions and groups in clear; or, with --data, of
    predictions alone, as `hushpoll predict --out` writes it.
    """
    header = table_header(data or file, "data" if data else "predictions")
    groupings = [tuple(read_list(names, field="--groups", names=header)) for names in groups]
    if reference is not None and len(groupings) > 1:
        raise click.UsageError("--reference goes with one --groups; leave one of them out")
    with waiting(f"fairness of {file.name}") as say:
        say("reading")
        rows = read_predictions(
            file,
            label=label,
            predicted=predicted,
            positive=positive,
            groups=list(dict.fromkeys(name for names in groupings for name in names)),
            beside=data,
        )
        say(f"computing, {len(rows.label)} rows")
        reports = [
            fairness_report(
                rows.label,
                rows.predicted,
                partition_by({name: rows.columns[name] for name in names}, reference=reference),
                confidence=confidence,
                resamples=resamples,
                seed=seed,
                smallest=smallest_group,
            ).to_dict()
            for names in groupings
        ]
    document: ReportsDocument = {
        "kind": "fairness reports",
        "setting": "on rows in clear",
        "reports": reports,
        "inputs": {"predictions": file.name},
        "versions": create_learner().versions(),
    }
    if out is not None and not _is_page(out):
        save_table(document, lambda: reports_table(document), out)
    elif out is not None:
        introduction = (
            f"Predictions of {file.name} beside the truth, in clear. Intervals are about other "
            "people drawn like these, with the same model."
        )
        write_text(out, fairness_page("Fairness report", introduction, reports))
    emit(document, lambda: _text(reports, out), as_json=as_json)


def _text(reports: Sequence[ReportDocument], out: Path | None) -> str:
    parts = [report_text(report) for report in reports]
    return "\n\n".join(parts) + ("" if out is None else f"\nThe report is in {out}.")
