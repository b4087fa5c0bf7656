"""``hushpoll tune``: search the learner's parameters, for ``train`` and ``experiment run``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.terminal import emit, json_option, progress, reports_errors
from hushpoll_shared.survey.budget import DRAFT_SPLITS
from hushpoll_shared.survey.published import Published
from hushpoll_training.cli.train import learner_option
from hushpoll_training.data.inputs import read_coded_data, read_described
from hushpoll_training.evaluation.evaluation import FOLDS
from hushpoll_training.experiments.journal import write_file
from hushpoll_training.learners.registry import DEFAULT, create_learner
from hushpoll_training.models.model import Codes
from hushpoll_training.runs.cell import TEST_SIZE
from hushpoll_training.tuning.folds import SCORES, make_problem
from hushpoll_training.tuning.study import TRIALS, Tuned, tune

STUDY: Final = "study.sqlite"
PARAMS: Final = "params.json"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("tune")
@click.option("--data", required=True, type=_FILE, help="CSV of clear answers.")
@click.option("--manifest", type=_FILE, help="The survey that --data answers (.json, .yaml).")
@click.option("--target", metavar="COLUMN", help="For codes without a manifest; 1 is positive.")
@click.option("--protected", metavar="COLUMN", help="Likewise; code 1 is privileged, 0 is not.")
@click.option("--sensitive", metavar="COLUMN,...", help="Likewise: the columns to perturb.")
@click.option(
    "--perturbed", is_flag=True, help="Fit to randomised answers; by default to those in clear."
)
@click.option("--protocol", type=click.Choice(list(PROTOCOLS)), help="With --perturbed.")
@click.option("--split", type=click.Choice(DRAFT_SPLITS), help="Likewise.")
@click.option("--epsilon", metavar="NUMBER", help="Likewise.")
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
@click.option("--folds", type=click.IntRange(min=2), default=FOLDS, show_default=True)
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=TEST_SIZE,
    show_default=True,
    help="Share of --data that is kept out of tuning, by --seed as experiments do.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column not to read.")
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
    **given: Any,
) -> None:
    """Search the parameters of a learner by TPE, on folds of the training rows.

    The rows that an experiment of the same --seed tests on are cut away first and never scored on.
    """
    published, codes = _read(data, given, ignore, perturbed=perturbed)
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

        found = tune(
            problem,
            out / STUDY,
            settings,
            trials=trials,
            threads=threads,
            learner=learner,
            on_trial=count,
        )
    write_file(out / PARAMS, (json.dumps(dict(found.parameters), indent=2) + "\n").encode())
    document = {
        "params": dict(found.parameters),
        "score": {score: found.score},
        "trials": found.trials,
        "pruned": found.pruned,
        "resumed": found.resumed,
        "study": str(out / STUDY),
        "file": str(out / PARAMS),
    }
    emit(document, lambda: _text(found, score, folds, out), as_json=as_json)


def _text(found: Tuned, score: str, folds: int, out: Path) -> str:
    parameters = ", ".join(f"{name} {value:g}" for name, value in found.parameters.items())
    return (
        f"{parameters}: {score} {found.score:.4f} over {folds} folds, the best of {found.trials} "
        f"trials ({found.pruned} pruned).\nGive --params {out / PARAMS} to train or experiment run."
    )


def _read(
    data: Path, given: Mapping[str, Any], ignore: tuple[str, ...], *, perturbed: bool
) -> tuple[Published, Codes]:
    for name in ("protocol", "split", "epsilon"):
        if given[name] is not None and not perturbed:
            raise click.UsageError(f"--{name} goes with --perturbed; give that, or leave it out")
    roles = ("target", "protected", "sensitive")
    if given["manifest"] is not None:
        for name in roles:
            if given[name] is not None:
                raise click.UsageError(f"--{name} is the manifest's to say; leave it out")
        changes = {name: given[name] for name in ("protocol", "split", "epsilon")}
        return read_described(data, given["manifest"], ignored=ignore, **changes)
    needed = (*roles, *(("protocol", "epsilon") if perturbed else ()))
    for name in needed:
        if given[name] is None:
            raise click.UsageError(
                f"--data without --manifest is a file of codes and needs --{name}"
            )
    sensitive = [one.strip() for one in given["sensitive"].split(",") if one.strip()]
    if not sensitive:
        raise InvalidParameter("sensitive names no column; give at least one", field="sensitive")
    return read_coded_data(
        data,
        target=given["target"],
        protected=given["protected"],
        sensitive=sensitive,
        # Nothing is perturbed in clear: whatever a manifest accepts will do.
        protocol=given["protocol"] or "GRR",
        split=given["split"] or "uniform",
        epsilon=given["epsilon"] or "64",
        ignored=ignore,
    )
