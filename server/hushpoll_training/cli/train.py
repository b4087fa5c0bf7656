"""``hushpoll train`` and ``hushpoll predict``."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import click

from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.cli.given_parameters import given_parameters
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.survey.budget import DRAFT_SPLITS
from hushpoll_training.data.rows import read_rows
from hushpoll_training.encodings.registry import DEFAULT as DEFAULT_ENCODING
from hushpoll_training.encodings.registry import ENCODINGS
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.registry import DEFAULT, LEARNERS
from hushpoll_training.models.prediction import (
    predict_rows,
    save_predictions,
    summary,
    write_predictions,
)
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.models.saved import check_directory, load_model, save_model
from hushpoll_training.reports.card import model_card
from hushpoll_training.reports.training_report import metrics_table, training_report
from hushpoll_training.runs.cell import TEST_SIZE
from hushpoll_training.runs.modes import choose_mode
from hushpoll_training.runs.record import run_record

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(file_okay=False, path_type=Path)

threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processors to use; results do not depend on it. More than are idle make it slower.",
)
ignore_option = click.option(
    "--ignore", multiple=True, metavar="COLUMN", help="A column of the CSV files not to read."
)
learner_option = click.option(
    "--learner",
    type=click.Choice(list(LEARNERS)),
    default=DEFAULT,
    show_default=True,
    help="The training algorithm.",
)


@click.command()
@click.option("--records", type=_FILE, help="Collected records, as hushpoll export saves them.")
@click.option("--panel", type=_FILE, help="CSV of other people's clear answers, to test on.")
@click.option(
    "--baseline",
    type=_FILE,
    help="CSV of clear answers to fit the NonDP baseline to; by default it is cross-validated on "
    "the panel.",
)
@click.option("--data", type=_FILE, help="Simulate: CSV of clear answers, to split and perturb.")
@click.option("--manifest", type=_FILE, help="The survey that --data answers (.json, .yaml).")
@click.option("--target", metavar="COLUMN", help="For codes without a manifest; 1 is positive.")
@click.option("--protected", metavar="COLUMN", help="Likewise; code 1 is privileged, 0 is not.")
@click.option("--sensitive", metavar="COLUMN,...", help="Likewise: the columns to perturb.")
@click.option("--protocol", type=click.Choice(list(PROTOCOLS)), help="In place of the manifest's.")
@click.option("--split", type=click.Choice(DRAFT_SPLITS), help="Likewise; uniform for codes.")
@click.option("--epsilon", metavar="NUMBER", help="Likewise: the total of one person.")
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help=f"Share of --data to test on.  [default: {TEST_SIZE}]",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Train on the Dask cluster with this scheduler; --records is then Parquet, as hushpoll "
    "export --format parquet saves it, where every worker can read it.",
)
@click.option(
    "--encoding",
    type=click.Choice(list(ENCODINGS)),
    default=DEFAULT_ENCODING,
    show_default=True,
    help="How records become features: which categories they support, or how likely each is.",
)
@learner_option
@click.option(
    "--groups",
    multiple=True,
    metavar="ATTRIBUTE[,ATTRIBUTE]",
    help="Report fairness by these attributes as well, crossed if several; may be repeated.",
)
@click.option("--out", type=_DIRECTORY, help="Directory to save model and record in.")
@click.option("--overwrite", is_flag=True, help="Replace a model that --out holds.")
@click.option(
    "--params",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Parameters of the learner, as JSON or one by one; later ones win.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Of the learner, and of a simulation's split and noise.",
)
@threads_option
@ignore_option
@json_option
@reports_errors
def train(
    records: Path | None,
    data: Path | None,
    encoding: str,
    learner: str,
    groups: tuple[str, ...],
    out: Path | None,
    overwrite: bool,
    params: tuple[str, ...],
    seed: int,
    threads: int,
    ignore: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Train a classifier on randomised answers, and measure its utility and fairness.

    Either on collected --records, tested on a --panel of people who gave their answers in clear;
    or in a simulation on --data in clear, of which a part is randomised and the rest tests. The
    NonDP baseline, trained on answers in clear, stands beside it. Only the model that was trained
    on randomised answers is saved.
    """
    groupings = [tuple(name.strip() for name in one.split(",")) for one in groups]
    train_by_mode = choose_mode(records, data, {**given, "groups": groupings})
    recipe = Recipe.of(given_parameters(params), learner=learner, encoding=encoding)
    if out is not None:
        check_directory(out, overwrite=overwrite)
    trained = train_by_mode(ignore, recipe, FitOptions(seed, threads))
    files = {"records": records, "data": data} | {
        name: given[name] for name in ("manifest", "panel", "baseline")
    }
    names = {name: path.name for name, path in files.items() if path is not None}
    record = run_record(trained, names, groupings=groupings)
    if out is not None:
        save_model(trained.model, out, record, overwrite=overwrite, card=model_card(record))
    saved = f"\nModel, record and model card are in {out}." if out is not None else ""
    emit(record, lambda: training_report(record) + saved, as_json=as_json)


@click.command()
@click.option("--model", required=True, type=_DIRECTORY, help="Directory that train --out wrote.")
@click.option(
    "--data",
    required=True,
    type=_FILE,
    help="CSV of clear answers; with the target's column, the model is scored on it.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV file to write; by default it is printed.",
)
@threads_option
@ignore_option
@json_option
@reports_errors
def predict(
    model: Path,
    data: Path,
    out: Path | None,
    threads: int,
    ignore: tuple[str, ...],
    as_json: bool,
) -> None:
    """Predict with a saved model: a score in [0, 1] and a category for each row of --data."""
    if out is not None and out.resolve() == data.resolve():
        raise click.UsageError("--out is the file of --data, which would be lost")
    loaded = load_model(model, trial=True)
    target = loaded.target.name
    codes = read_rows(data, loaded.published, optional=(target,), ignored=ignore)
    found = predict_rows(loaded, codes, threads=threads)
    if out is not None:
        save_predictions(found, out)
    published = loaded.published
    document: dict[str, Any] = {
        "survey": {
            "name": published.name,
            "version": published.version,
            "digest": published.digest,
        },
        "target": loaded.target.to_json(),
        "rows": len(found.score),
        "predicted": summary(found),
        "evaluation": None if found.evaluation is None else found.evaluation.to_json(),
    }
    if out is None:
        document["predictions"] = found.to_json()
    else:
        document["out"] = str(out)

    def text() -> str:
        if out is None:
            buffer = StringIO(newline="")
            write_predictions(found, buffer)
            return buffer.getvalue().replace("\r\n", "\n").rstrip("\n")
        counts = ", ".join(f"{count} {name}" for name, count in document["predicted"].items())
        lines = [f"{document['rows']} rows predicted ({counts}), in {out}"]
        if found.evaluation is not None:
            lines.append(metrics_table({"model": document["evaluation"]["metrics"]}))
        return "\n".join(lines)

    emit(document, text, as_json=as_json)
