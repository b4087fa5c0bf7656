"""The ways of `hushpoll train`: on collected records, here or on a cluster, and in a simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.records.parquet import ParquetRecords
from hushpoll_analysis.records.records import Records
from hushpoll_shared.cli.terminal import progress, waiting
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.inputs import read_coded_data, read_described
from hushpoll_training.data.rows import read_rows
from hushpoll_training.evaluation.evaluation import FOLDS
from hushpoll_training.learners.cluster import connected
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.cluster_fit import fit_parquet
from hushpoll_training.models.model import Codes, Model
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import TEST_SIZE
from hushpoll_training.runs.collected import measure_collected, train_collected
from hushpoll_training.runs.simulation import train_simulated
from hushpoll_training.runs.training_run import TrainingRun

_OF_RECORDS = ("panel", "baseline")
_OF_CODES = ("target", "protected", "sensitive")
_OF_DATA = ("manifest", *_OF_CODES, "protocol", "split", "epsilon", "test_size")

Mode = Callable[[Sequence[str], Recipe, FitOptions], TrainingRun]
"""Trains, given the columns not to read, learner and encoding, and how to fit."""


def choose_mode(records: Path | None, data: Path | None, given: Mapping[str, Any]) -> Mode:
    """Return what trains in the way that the options ask for.

    Parameters
    ----------
    records, data : Path or None
        The options that choose; exactly one of them.
    given : mapping
        The options that go with one of them; None where not given.

    Raises
    ------
    click.UsageError
        Naming the option, if the options make neither way.
    """
    if records is not None and data is None:
        _check_records(given)
        return partial(from_records if given["dask"] is None else from_cluster, records, given)
    if data is not None and records is None:
        _check_data(given)
        return partial(from_data, data, given)
    raise click.UsageError(
        "give either --records, collected ones, or --data, clear rows to simulate with"
    )


def _check_records(given: Mapping[str, Any]) -> None:
    _refuse(given, _OF_DATA, "does not go with --records")
    if given["baseline"] is not None and given["panel"] is None:
        raise click.UsageError("--baseline needs --panel, clear rows to test on")


def _check_data(given: Mapping[str, Any]) -> None:
    _refuse(given, (*_OF_RECORDS, "dask"), "does not go with --data")
    if given["manifest"] is not None:
        _refuse(given, _OF_CODES, "is the manifest's to say")
        return
    for name in (*_OF_CODES, "protocol", "epsilon"):
        if given[name] is None:
            raise click.UsageError(
                f"--data without --manifest is a file of codes and needs --{name}"
            )


def _refuse(given: Mapping[str, Any], names: Sequence[str], why: str) -> None:
    for name in names:
        if given[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} {why}; leave it out")


def from_records(
    records: Path,
    given: Mapping[str, Any],
    ignore: Sequence[str],
    recipe: Recipe,
    options: FitOptions,
) -> TrainingRun:
    """Train on a file of records, with a progress bar."""
    collected = Records.read(records)
    _check_groups(collected.published, given)
    panel, baseline = _clear_rows(collected.published, given, ignore)
    with shown(recipe.learner, options, fits=1 + _others(panel, baseline)) as reported:
        return train_collected(collected, recipe, reported, panel=panel, baseline=baseline)


def from_cluster(
    records: Path,
    given: Mapping[str, Any],
    ignore: Sequence[str],
    recipe: Recipe,
    options: FitOptions,
) -> TrainingRun:
    """Train on a Parquet file of records on a Dask cluster; measure on this machine."""
    exported = ParquetRecords.of([records])
    _check_groups(exported.published, given)
    panel, baseline = _clear_rows(exported.published, given, ignore)
    with connected(given["dask"]) as client:

        def fit() -> Model:
            with waiting(f"training on {workers} workers") as say:
                say("running")
                return fit_parquet(exported, recipe, options, client=client)

        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        return measure_collected(
            exported.published,
            exported.n,
            fit,
            recipe.learner,
            options,
            panel=panel,
            baseline=baseline,
            settings={"workers": workers},
        )


def _clear_rows(
    published: Published, given: Mapping[str, Any], ignore: Sequence[str]
) -> tuple[Codes | None, Codes | None]:
    panel, baseline = (
        None
        if given[name] is None
        else read_rows(given[name], published, option=name, ignored=ignore)
        for name in _OF_RECORDS
    )
    return panel, baseline


def _others(panel: Codes | None, baseline: Codes | None) -> int:
    """Return how many models are fitted besides the one of the records."""
    return 0 if panel is None else FOLDS if baseline is None else 1


def from_data(
    data: Path,
    given: Mapping[str, Any],
    ignore: Sequence[str],
    recipe: Recipe,
    options: FitOptions,
) -> TrainingRun:
    """Train in a simulation, with a progress bar."""
    if given["manifest"] is not None:
        changes = {name: given[name] for name in ("protocol", "split", "epsilon")}
        published, codes = read_described(data, given["manifest"], ignored=ignore, **changes)
    else:
        published, codes = read_coded_data(
            data,
            target=given["target"],
            protected=given["protected"],
            sensitive=[one.strip() for one in given["sensitive"].split(",")],
            protocol=given["protocol"],
            split=given["split"] or "uniform",
            epsilon=given["epsilon"],
            ignored=ignore,
        )
    _check_groups(published, given)
    share = TEST_SIZE if given["test_size"] is None else given["test_size"]
    with shown(recipe.learner, options, fits=2) as reported:
        return train_simulated(published, codes, recipe, reported, test_size=share)


def _check_groups(published: Published, given: Mapping[str, Any]) -> None:
    # a misspelt name is found before minutes are spent on fitting
    for names in given.get("groups") or ():
        for name in names:
            published.attribute(name)


@contextmanager
def shown(learner: Learner, options: FitOptions, *, fits: int) -> Iterator[FitOptions]:
    """Show a progress bar over the steps of several fits; yield the options that report to it."""
    with progress(learner.progress_unit, fits * learner.steps) as advance:
        yield replace(options, on_progress=lambda _done, _steps: advance(1))
