"""``hushpoll tune``: search the learner's parameters, for ``train`` and ``experiment run``."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import click

from hushpoll_shared.cli.terminal import emit, json_option, progress, reports_errors
from hushpoll_training.cli.options import (
    TERMS,
    clear_data_options,
    ignore_option,
    learner_option,
    read_clear_data,
    refuse,
    seed_option,
    threads_option,
)
from hushpoll_training.evaluation.evaluation import FOLDS
from hushpoll_training.learner_registry import DEFAULT, create_learner
from hushpoll_training.runs.cell import TEST_SIZE
from hushpoll_training.runs.whole_file import write_file
from hushpoll_training.tuning.folds import SCORES, make_problem
from hushpoll_training.tuning.study import TRIALS, TuningResult, tune

STUDY: Final = "study.sqlite"
PARAMS: Final = "params.json"


@click.command("tune")
@clear_data_options("CSV or Parquet of clear answers.", "with --perturbed", required=True)
@click.option(
    "--perturbed", is_flag=True, help="Fit to randomised answers; by default to those in clear."
)
@click.option(
    "--score",
    type=click.Choice(SCORES),
    default="accuracy",
    show_default=True,
    help="What to make as large as possible.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=TRIALS,
    show_default=True,
    help="In all: run it again to do what is missing.",
)
@learner_option
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    default=FOLDS,
    show_default=True,
    help="Parts of the training rows, on each of which a model of the others is scored.",
)
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=TEST_SIZE,
    show_default=True,
    help="Share of --data that is kept out of tuning, by --seed as experiments do.",
)
@seed_option("Seed of the test rows, the folds and the learner.")
@threads_option
@ignore_option
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help=f"Folder of {STUDY}, to resume from, and of {PARAMS}, for --params.",
)
@json_option
@reports_errors
def tune_command(
    data: Path,
    perturbed: bool,
    score: str,
    trials: int,
    learner: str,
    folds: int,
    test_size: float,
    seed: int,
    threads: int,
    ignore: tuple[str, ...],
    out: Path,
    as_json: bool,
    **terms: Any,
) -> None:
    """Search the parameters of a learner by TPE, on folds of the training rows.

    The rows that an experiment of the same --seed tests on are cut away first and never scored on.
    """
    if not perturbed:
        refuse(terms, TERMS, "goes with --perturbed, which is not given")
    published, codes = read_clear_data(data, terms, ignore, perturbed=perturbed)
    problem = make_problem(
        published,
        codes,
        seed=seed,
        score=score,
        folds=folds,
        test_size=test_size,
        perturbed=perturbed,
    )
    versions = create_learner(learner).versions()
    settings = {
        # absent for the default learner, as in folders of versions that had no other
        **({} if learner == DEFAULT else {"learner": learner}),
        "data": hashlib.sha256(data.read_bytes()).hexdigest(),
        "survey": published.digest,
        "fitted_to": "randomised answers" if perturbed else "answers in clear",
        "score": score,
        "folds": folds,
        "test_size": test_size,
        "seed": seed,
        "versions": {name: value for name, value in versions.items() if name != "python"},
    }
    out.mkdir(parents=True, exist_ok=True)
    with progress("trials", trials) as advance:
        known = 0

        def count(done: int) -> None:
            nonlocal known
            advance(min(done, trials) - known)
            known = min(done, trials)

        tuned = tune(
            problem,
            out / STUDY,
            settings,
            trials=trials,
            threads=threads,
            learner=learner,
            on_trial=count,
        )
    write_file(out / PARAMS, (json.dumps(dict(tuned.parameters), indent=2) + "\n").encode())
    document = {
        "params": dict(tuned.parameters),
        "score": {score: tuned.score},
        "trials": tuned.trials,
        "pruned": tuned.pruned,
        "resumed": tuned.resumed,
        "study": str(out / STUDY),
        "file": str(out / PARAMS),
    }
    emit(document, lambda: _text(tuned, score, folds, out), as_json=as_json)


def _text(tuned: TuningResult, score: str, folds: int, out: Path) -> str:
    parameters = ", ".join(f"{name} {value:g}" for name, value in tuned.parameters.items())
    return (
        f"{parameters}: {score} {tuned.score:.4f} over {folds} folds, the best of {tuned.trials} "
        f"trials ({tuned.pruned} pruned).\nGive --params {out / PARAMS} to train or experiment run."
    )
