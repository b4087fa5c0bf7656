"""``hushpoll train`` fits a model to records; ``hushpoll predict`` applies it to clear rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from hushpoll_analysis.records.parquet import ParquetRecords
from hushpoll_analysis.records.records import Records
from hushpoll_shared.cli.model_options import confidence_option, params_option
from hushpoll_shared.cli.named_values import named_values
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors, waiting
from hushpoll_shared.reading.pairs import read_list
from hushpoll_shared.survey.published import Published
from hushpoll_training.cli.options import (
    FILE,
    ROLES,
    TERMS,
    clear_data_options,
    encoding_option,
    ignore_option,
    learner_option,
    read_clear_data,
    refuse,
    seed_option,
    shown,
    threads_option,
)
from hushpoll_training.data.rows import read_rows
from hushpoll_training.evaluation.evaluation import FOLDS
from hushpoll_training.evaluation.prediction import (
    predict_rows,
    save_predictions,
    summary,
    write_predictions,
)
from hushpoll_training.learners.cluster import connected
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.cluster_fit import fit_parquet
from hushpoll_training.models.model import Codes, Model
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.reports.card import model_card
from hushpoll_training.reports.training_report import metrics_table, training_report
from hushpoll_training.runs.cell import TEST_SIZE
from hushpoll_training.runs.record import run_record
from hushpoll_training.runs.saved import check_directory, load_model, save_model
from hushpoll_training.runs.training_run import (
    TrainingRun,
    measure_collected,
    train_collected,
    train_simulated,
)

_DIRECTORY = click.Path(file_okay=False, path_type=Path)
_GOES_WITH: Final = {
    "records": ("panel", "baseline", "dask"),
    "data": ("manifest", *ROLES, *TERMS, "test_size"),
}
"""The two ways to train, and the options of each."""

Training: TypeAlias = Callable[[Recipe, FitOptions], TrainingRun]


@click.command()
@click.option("--records", type=FILE, help="Collected records, as hushpoll export saves them.")
@click.option(
    "--panel", type=FILE, help="CSV or Parquet of other people's clear answers, to test on."
)
@click.option(
    "--baseline",
    type=FILE,
    help="CSV or Parquet of clear answers to fit the NonDP baseline to; by default it is "
    "cross-validated on the panel.",
)
@clear_data_options(
    "Simulate: CSV or Parquet of clear answers, to split and perturb.",
    "in place of the manifest's",
)
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
@encoding_option
@learner_option
@click.option(
    "--groups",
    multiple=True,
    metavar="ATTRIBUTE[,ATTRIBUTE]",
    help="Report fairness by these attributes as well, crossed if several; may be repeated.",
)
@confidence_option
@click.option("--out", type=_DIRECTORY, help="Directory to save model and record in.")
@click.option("--overwrite", is_flag=True, help="Replace a model that --out holds.")
@params_option
@seed_option("Seed of the learner, and of a simulation's split and noise.")
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
    confidence: float,
    out: Path | None,
    overwrite: bool,
    params: tuple[str, ...],
    seed: int,
    threads: int,
    ignore: tuple[str, ...],
    as_json: bool,
    **settings: Any,
) -> None:
    """Train a classifier on randomised answers, and measure its utility and fairness.

    Either on collected --records, tested on a --panel of people who gave their answers in clear;
    or in a simulation on --data in clear, of which a part is randomised and the rest tests. The
    NonDP baseline, trained on answers in clear, stands beside it. Only the model that was trained
    on randomised answers is saved.
    """
    if (records is None) == (data is None):
        raise click.UsageError(
            "give either --records, collected ones, or --data, clear rows to simulate with"
        )
    way, other = ("data", "records") if records is None else ("records", "data")
    refuse(settings, _GOES_WITH[other], f"does not go with --{way}")
    if settings["baseline"] is not None and settings["panel"] is None:
        raise click.UsageError("--baseline needs --panel, clear rows to test on")
    recipe = Recipe.of(named_values(params), learner=learner, encoding=encoding)
    recipe.learner.require_extra()
    with waiting("reading files"):
        if records is None:
            assert data is not None  # noqa: S101  (one of the two is given)
            published, train_it = _simulation(data, settings, ignore)
        else:
            published, train_it = _collection(records, settings, ignore)
    # A misspelt name and a full directory are found before minutes are spent on fitting.
    groupings = [tuple(read_list(names, field="--groups")) for names in groups]
    for name in (name for names in groupings for name in names):
        published.attribute(name)
    if out is not None:
        check_directory(out, overwrite=overwrite)
    trained = train_it(recipe, FitOptions(seed, threads))
    files = {"records": records, "data": data} | {
        name: settings[name] for name in ("manifest", "panel", "baseline")
    }
    names = {name: path.name for name, path in files.items() if path is not None}
    with waiting("fairness of the model"):
        record = run_record(trained, names, groupings=groupings, confidence=confidence)
    if out is not None:
        save_model(trained.model, out, record, overwrite=overwrite, card=model_card(record))
    saved = f"\nModel, record and model card are in {out}." if out is not None else ""
    emit(record, lambda: training_report(record) + saved, as_json=as_json)


def _simulation(
    data: Path, settings: Mapping[str, Any], ignored: Sequence[str]
) -> tuple[Published, Training]:
    """Read rows in clear, and return what trains in a simulation on them."""
    published, codes = read_clear_data(data, settings, ignored)
    share = settings["test_size"] or TEST_SIZE

    def simulate(recipe: Recipe, options: FitOptions) -> TrainingRun:
        with shown(recipe.learner, options, fits=2) as reported:
            return train_simulated(published, codes, recipe, reported, test_size=share)

    return published, simulate


def _collection(
    file: Path, settings: Mapping[str, Any], ignored: Sequence[str]
) -> tuple[Published, Training]:
    """Read collected records, and return what trains on them, here or on a cluster."""
    address = settings["dask"]
    collected = Records.read(file) if address is None else ParquetRecords.of([file])
    published = collected.published
    clear = {
        name: read_rows(settings[name], published, option=name, ignored=ignored)
        for name in ("panel", "baseline")
        if settings[name] is not None
    }
    if isinstance(collected, Records):
        return published, partial(_fit_here, collected, clear)
    return published, partial(_fit_on_cluster, collected, clear, address)


def _fit_here(
    collected: Records, clear: Mapping[str, Codes], recipe: Recipe, options: FitOptions
) -> TrainingRun:
    # One model of the records; the baseline is one model, or one for each fold of the panel.
    others = 0 if "panel" not in clear else 1 if "baseline" in clear else FOLDS
    with shown(recipe.learner, options, fits=1 + others) as reported:
        return train_collected(collected, recipe, reported, **clear)


def _fit_on_cluster(
    exported: ParquetRecords,
    clear: Mapping[str, Codes],
    address: str,
    recipe: Recipe,
    options: FitOptions,
) -> TrainingRun:
    with connected(address) as client:
        workers = len(client.scheduler_info(n_workers=-1)["workers"])

        def fit() -> Model:
            with waiting(f"training on {workers} workers") as say:
                say("running")
                return fit_parquet(exported, recipe, options, client=client)

        settings = {"workers": workers}
        return measure_collected(
            exported.published, exported.n, fit, recipe.learner, options, settings=settings, **clear
        )


@click.command()
@click.option("--model", required=True, type=_DIRECTORY, help="Directory that train --out wrote.")
@click.option(
    "--data",
    required=True,
    type=FILE,
    help="CSV or Parquet of clear answers; with the target's column, the model is scored on it.",
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
    with waiting(f"predictions of {data.name}") as say:
        say("reading")
        codes = read_rows(data, loaded.published, optional=(target,), ignored=ignore)
        say("predicting")
        predictions = predict_rows(loaded, codes, threads=threads)
        if out is not None:
            say("writing")
            save_predictions(predictions, out)
    published = loaded.published
    document: dict[str, Any] = {
        "survey": {
            "name": published.name,
            "version": published.version,
            "digest": published.digest,
        },
        "target": loaded.target.to_json(),
        "rows": len(predictions.score),
        "predicted": summary(predictions),
        "evaluation": None if predictions.evaluation is None else predictions.evaluation.to_json(),
    }
    if out is None:
        document["predictions"] = predictions.to_json()
    else:
        document["out"] = str(out)

    def text() -> str:
        if out is None:
            buffer = StringIO(newline="")
            write_predictions(predictions, buffer)
            return buffer.getvalue().replace("\r\n", "\n").rstrip("\n")
        counts = ", ".join(f"{count} {name}" for name, count in document["predicted"].items())
        lines = [f"{document['rows']} rows predicted ({counts}), in {out}"]
        if predictions.evaluation is not None:
            lines.append(metrics_table({"model": document["evaluation"]["metrics"]}))
        return "\n".join(lines)

    emit(document, text, as_json=as_json)
