"""``hushpoll fairness``: from collected records, the protected attribute unseen, or in clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.auditing.rates import LARGEST_CONFIDENCE
from hushpoll_shared.cli.fairness_text import fairness_text
from hushpoll_shared.cli.given_parameters import given_parameters
from hushpoll_shared.cli.terminal import emit, json_option, progress, reports_errors
from hushpoll_shared.survey.published import Published
from hushpoll_training.audits.audit_inputs import PROTECTED_INPUTS
from hushpoll_training.audits.crossfit import FOLDS
from hushpoll_training.audits.external import external_predictions
from hushpoll_training.audits.records_fairness import (
    RecordsFairness,
    declared_shares,
    fairness_of_records,
)
from hushpoll_training.cli.clear_fairness import NAMES, OPTIONS, report_predictions
from hushpoll_training.cli.train import threads_option
from hushpoll_training.data.inputs import read_collected
from hushpoll_training.encodings.encoding import ENCODINGS
from hushpoll_training.learners.parameters import read_parameters
from hushpoll_training.models.saved import load_model

_ALSO = dict.fromkeys(("groups", "reference"), " or with cross-fitting")


def _with(
    options: Sequence[Callable[[Callable[..., Any]], Callable[..., Any]]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options, the first on top."""
    return lambda command: reduce(lambda found, option: option(found), reversed(options), command)


@click.command()
@click.option(
    "--records",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Collected records, as hushpoll export saves them.",
)
@click.option(
    "--predictions",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="In place of records: CSV of labels, predictions and groups in clear.",
)
@click.option(
    "--params",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Parameters of LightGBM, as JSON or one by one; later ones win.",
)
@click.option(
    "--folds", type=click.IntRange(min=2), help=f"Parts to cross-fit.  [default: {FOLDS}]"
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    help="Of the folds and of the learner, or of the bootstrap.  [default: 0]",
)
@click.option(
    "--encoding",
    type=click.Choice(ENCODINGS),
    help="How records become features.  [default: indicator]",
)
@click.option(
    "--model",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Audit a model that train --out wrote, instead of cross-fitting; needs --unseen.",
)
@click.option(
    "--unseen", is_flag=True, help="Declare that --model was fitted to none of these records."
)
@click.option(
    "--protected-input",
    type=click.Choice(PROTECTED_INPUTS),
    default="dropped",
    show_default=True,
    help="What the model gets of the protected attribute, never its record: nothing, or each of "
    "its values in turn.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, LARGEST_CONFIDENCE, min_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
@click.option(
    "--expect",
    multiple=True,
    metavar="NAME=SHARE",
    help="A share declared or found earlier, of unprivileged, positive (predicted in that group) "
    "or base (positive labels): what such a survey can find is said for these.  [default: those "
    "that the records give]",
)
@_with(OPTIONS)
@threads_option
@json_option
@reports_errors
def fairness(
    records: Path | None,
    predictions: Path | None,
    model: Path | None,
    unseen: bool,
    protected_input: str,
    confidence: float,
    expect: tuple[str, ...],
    threads: int,
    as_json: bool,
    **given: Any,
) -> None:
    """Estimate a classifier's group fairness: from randomised answers alone, or in clear.

    DI, SPD, EOD, OAD and the group rates behind them, with intervals. Nobody's protected attribute
    is needed in clear. By default models are cross-fitted to the records, so that each record is
    predicted by a model that never saw it. Where the records cannot tell, the answer says so.

    With --predictions, of rows in clear: any number of groups and their intersections.
    """
    if (records is None) == (predictions is None):
        raise click.UsageError("give either --records, collected ones, or --predictions, in clear")
    if records is None:
        assert predictions is not None  # noqa: S101  (exactly one is given)
        _check_clear(model, unseen, protected_input, {**given, "expect": expect})
        seed = given["seed"] or 0
        report_predictions(predictions, given, confidence=confidence, seed=seed, as_json=as_json)
        return
    _check_options(model, unseen, given)
    published, rows = read_collected(records)
    expected = given_parameters(expect)
    if model is None:
        about = {"protected_input": protected_input, "expected": expected}
        found = _cross_fitted(published, rows, given, confidence, threads, **about)
    else:
        loaded = load_model(model, trial=True)
        predicted = external_predictions(
            loaded, published, rows, protected_input=protected_input, threads=threads
        )
        audited = audit(
            published,
            rows,
            predicted,
            confidence=confidence,
            expected=declared_shares(expected),
        )
        found = RecordsFairness(audited, {"model": model.name}, protected_input)
    document = {**found.to_dict(), "inputs": {"records": records.name}}
    emit(document, lambda: fairness_text(document), as_json=as_json)


def _check_clear(
    model: Path | None, unseen: bool, protected_input: str, given: dict[str, Any]
) -> None:
    others = {
        "--model": model is not None,
        "--unseen": unseen,
        "--protected-input": protected_input != "dropped",
        **{f"--{name}": bool(given[name]) for name in ("params", "folds", "encoding", "expect")},
    }
    for name, used in others.items():
        if used:
            raise click.UsageError(f"{name} goes with --records; leave it out with --predictions")


def _check_options(model: Path | None, unseen: bool, given: dict[str, Any]) -> None:
    if len(given["groups"]) > 1 or any("," in one for one in given["groups"]):
        raise click.UsageError("--records takes one attribute as --groups; leave the others out")
    if given["reference"] is not None and not given["groups"]:
        raise click.UsageError("--reference needs --groups, the attribute that it is a category of")
    for name in NAMES:
        if name in ("groups", "reference") and model is None:
            continue
        if given[name] not in (None, ()):
            option = name.replace("_", "-")
            raise click.UsageError(
                f"--{option} goes with --predictions{_ALSO.get(name, '')}; leave it out"
            )
    if model is None:
        if unseen:
            raise click.UsageError("--unseen is about --model; leave it out")
        return
    if not unseen:
        raise click.UsageError(
            "--model is audited only on records that it was not fitted to; declare that with "
            "--unseen, or leave --model out to cross-fit"
        )
    for name in ("params", "folds", "seed", "encoding"):
        if given[name] not in (None, ()):
            raise click.UsageError(f"--{name} is for cross-fitting; leave it out with --model")


def _cross_fitted(
    published: Published,
    rows: npt.NDArray[np.uint8],
    given: dict[str, Any],
    confidence: float,
    threads: int,
    **about: Any,
) -> RecordsFairness:
    parameters = read_parameters(given["params"])
    folds = FOLDS if given["folds"] is None else given["folds"]
    with progress("boosting rounds", folds * int(parameters["n_estimators"])) as advance:
        return fairness_of_records(
            published,
            rows,
            parameters=parameters,
            seed=0 if given["seed"] is None else given["seed"],
            folds=folds,
            encoding=given["encoding"] or "indicator",
            groups=given["groups"][0] if given["groups"] else None,
            reference=given["reference"],
            confidence=confidence,
            threads=threads,
            on_round=lambda _done, _all: advance(1),
            **about,
        )
