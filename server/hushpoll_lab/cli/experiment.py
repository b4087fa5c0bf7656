"""``hushpoll experiment``: run a grid, draw, compare and tabulate it, list the paper's grids."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from hushpoll_lab.cli.experiment_table import (
    REFERENCE,
    description_of,
    drawing_figures,
    table_command,
    trust_command,
    write_files,
)
from hushpoll_lab.experiments import shipped
from hushpoll_lab.experiments.cluster_grid import run_on_cluster
from hushpoll_lab.experiments.configuration import ENGINES, Experiment
from hushpoll_lab.experiments.engine import Finished, run_experiment
from hushpoll_lab.experiments.journal import (
    CELLS,
    DESCRIPTION,
    read_description,
    refuse_other_data,
)
from hushpoll_lab.experiments.kinds import AnyCell, AnyExperiment
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import methods_named
from hushpoll_lab.experiments.remaining import Remaining
from hushpoll_lab.experiments.results import tables
from hushpoll_lab.experiments.results.comparison import (
    SHARE,
    STANDARD_ERRORS,
    Comparison,
    compare,
    comparison_table,
)
from hushpoll_lab.experiments.results.results import CSV, FAILURES, PARQUET, folder_of, read_results
from hushpoll_lab.experiments.results.summaries import (
    Curves,
    read_summaries,
    summarise_results,
)
from hushpoll_lab.experiments.roles import OF_MANIFEST
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.model_options import params_option
from hushpoll_shared.cli.named_values import named_values
from hushpoll_shared.cli.out_file import save_table, table_out_option
from hushpoll_shared.cli.terminal import (
    FAILED,
    CommandGroup,
    emit,
    json_option,
    rendered,
    reports_errors,
)
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS, NAMED_SPLITS
from hushpoll_training.cli.options import LearnerName
from hushpoll_training.encodings.registry import ENCODINGS
from hushpoll_training.learner_registry import DEFAULT, LEARNERS
from hushpoll_training.runs.cell import TEST_SIZE

_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE_OR_FOLDER = click.Path(path_type=Path)
_SHOWN = 5


@click.group(cls=CommandGroup)
def experiment() -> None:
    """Rerun the paper, or an experiment like it: protocols, splits, epsilons and seeds."""


@experiment.command()
@click.argument("config", required=False)
@click.option(
    "--data", metavar="FILE", help="CSV or Parquet of integer codes, one column an attribute."
)
@click.option(
    "--manifest",
    metavar="FILE",
    help="A manifest, which says roles, domains and questions; --data then holds its categories.",
)
@click.option(
    "--coded/--categories", default=None, help="With --manifest: --data holds codes of its domains."
)
@click.option("--target", metavar="COLUMN", help="What is predicted; code 1 is positive.")
@click.option("--protected", metavar="COLUMN", help="Code 1 is privileged, 0 is not.")
@click.option("--sensitive", metavar="COLUMN,...", help="The columns to perturb.")
@click.option(
    "--protocols", metavar="NAME,...", help=f"Out of {', '.join(PROTOCOLS)}.  [default: all]"
)
@click.option(
    "--splits",
    metavar="NAME,...",
    help=f"Out of {', '.join(DRAFT_SPLITS)}.  [default: {','.join(NAMED_SPLITS)}]",
)
@click.option(
    "--epsilons", "--epsilon", metavar="NUMBER,...", help="Epsilons that one person spends in all."
)
@click.option("--seeds", metavar="0-19|N,...", help="Numbers and ranges, both ends included.")
@params_option
@click.option("--test-size", type=float, help=f"Share of rows to test on.  [default: {TEST_SIZE}]")
@click.option("--ignore", metavar="COLUMN,...", help="Columns not to read.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="Ours, or the paper's way: multi-freq-ldpy's clients, row by row.  [default: hushpoll]",
)
@click.option(
    "--learner",
    type=LearnerName(),
    metavar="NAME",
    help=f"The training algorithm: {', '.join(LEARNERS)}.  [default: {DEFAULT}]",
)
@click.option(
    "--encoding",
    type=click.Choice(list(ENCODINGS)),
    help="How records become features.  [default: indicator]",
)
@click.option(
    "--methods",
    metavar="NAME,...",
    help="Of the methods that CONFIG lists, those to run.  [default: all]",
)
@click.option(
    "--name", help="Name of the survey; the noise depends on it.  [default: that of --data]"
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Cells at a time, each with one thread; results do not depend on it.  "
    "[default: the number of processors]",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run the cells on the Dask cluster with this scheduler instead; results do not depend on "
    "it.",
)
@click.option("--out", required=True, type=_FOLDER, help="Folder of the results, to resume from.")
@json_option
@reports_errors
def run(
    config: str | None,
    params: tuple[str, ...],
    jobs: int | None,
    dask: str | None,
    out: Path,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run a grid of cells, and the NonDP baseline of each seed; or methods on rows in clear.

    CONFIG is a YAML file, or the name of one that hushpoll experiment configs lists; flags win over
    it, or say everything without it. Run it again with the same --out to do what is missing: cells
    that were not reached, and cells that failed.
    """
    if dask is not None and jobs is not None:
        raise click.UsageError("--jobs is for this machine; leave it out with --dask")
    settings = {} if config is None else shipped.find(config)
    if flags["manifest"] is not None:
        # Flags win over the file: what the manifest says, the file need not.
        settings = {name: value for name, value in settings.items() if name not in OF_MANIFEST}
    picked = flags.pop("methods")
    settings |= {name: value for name, value in flags.items() if value is not None}
    if params:
        own = settings.get("params") or {}
        settings["params"] = (own if isinstance(own, dict) else {}) | named_values(params)
    checked = _checked(settings, picked)
    shown: list[Remaining] = []

    def begin(total: int, done: int) -> None:
        earlier = f", of which {done} are there already" if done else ""
        click.echo(
            f"{total} cells into {out}{earlier}. Ctrl-C loses none that is finished: the same "
            "command does the others.",
            err=True,
        )
        shown.append(Remaining(total, done))

    def count(_task: AnyCell, result: JsonMembers) -> None:
        shown[0].advance(failed="error" in result)

    try:
        finished = run_experiment(
            checked,
            out,
            jobs=jobs,
            runner=None if dask is None else partial(run_on_cluster, address=dask),
            on_start=begin,
            on_cell=count,
        )
    finally:
        for display in shown:
            display.close()
    document = {
        "cells": finished.cells,
        "resumed": finished.resumed,
        "failed": [{**task._asdict(), "error": error} for task, error in finished.failed.items()],
        "results": str(out / CSV),
    }
    emit(document, lambda: _words(finished, out), as_json=as_json)
    if finished.failed:
        _complain(finished, out)
        sys.exit(FAILED)


def _checked(settings: JsonMembers, methods: str | None) -> AnyExperiment:
    if methods is not None:
        settings["methods"] = methods_named(settings.get("methods"), methods)
    if settings.get("methods") is not None:
        return MethodsExperiment.from_dict(settings)
    return Experiment.from_dict(settings)


def _words(finished: Finished, out: Path) -> str:
    done = finished.cells - len(finished.failed)
    text = f"{done} of {finished.cells} cells are in {out / CSV} and {out / PARQUET}"
    return (
        f"{text}; {finished.resumed} of them were there already."
        if finished.resumed
        else f"{text}."
    )


def _complain(finished: Finished, out: Path) -> None:
    click.echo(f"Error: {len(finished.failed)} of {finished.cells} cells failed:", err=True)
    for task, error in list(finished.failed.items())[:_SHOWN]:
        click.echo(f"  {task}: {error}", err=True)
    more = len(finished.failed) - _SHOWN
    if more > 0:
        click.echo(f"  and {more} more", err=True)
    click.echo(
        f"All are in {out / FAILURES}, with details in {out / CELLS}; run again to try them again.",
        err=True,
    )


@experiment.command()
@click.argument("results", type=_FILE_OR_FOLDER)
@click.option("--out", required=True, type=_FOLDER, help="Folder of the figures and the report.")
@click.option(
    "--beside",
    type=_FILE_OR_FOLDER,
    help="Another run's results, such as --engine reference gave, drawn dotted.",
)
@click.option("--beside-name", default="reference", show_default=True, help="What to call them.")
@json_option
@reports_errors
def plot(results: Path, out: Path, beside: Path | None, beside_name: str, as_json: bool) -> None:
    """Draw fairness and utility by epsilon as SVG and PNG, and write an HTML report.

    RESULTS is the --out of a run, or its results.csv or results.parquet. Bands are 95 % intervals
    of the mean over seeds.
    """
    with drawing_figures():
        from hushpoll_lab.experiments.results.figures import PANELS, draw
    from hushpoll_lab.experiments.results.html_report import html_report

    curves = Curves.of(read_results(results))
    others = None if beside is None else Curves.of(read_results(beside))
    description = description_of(results)
    drawings = {family: draw(curves, family, beside=others, name=beside_name) for family in PANELS}
    files: dict[str, bytes] = {}
    for family, drawing in drawings.items():
        files |= {f"{family}.svg": drawing.svg, f"{family}.png": drawing.png}
    report = html_report(curves, drawings, description, beside=others, beside_name=beside_name)
    files["report.html"] = report.encode()
    write_files(out, files, as_json=as_json)


@experiment.command("compare")
@click.argument("results", type=_FILE_OR_FOLDER)
@click.option("--reference", required=True, type=_FILE_OR_FOLDER, help=REFERENCE)
@click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True),
    default=STANDARD_ERRORS,
    show_default=True,
    help="Standard errors that a mean may be away.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1),
    default=SHARE,
    show_default=True,
    help="Share of the means that must be within.",
)
@click.option(
    "--partial", is_flag=True, help="Do not mind cells of the reference that were not run."
)
@table_out_option
@json_option
@reports_errors
def compare_command(
    results: Path,
    reference: Path,
    within: float,
    share: float,
    partial: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare the means of RESULTS with a reference, cell by cell and metric by metric.

    The standard error is sd * sqrt(1/n + 1/m), with the reference's sd over its m seeds and our n.
    Every mean outside is listed, and --out has them all. Ends with exit code 1 if too many are
    outside, or cells are missing. A reference that is a run on other data is refused; a published
    table does not say on which data it rests.
    """
    runs = [path for path in (results, reference) if (folder_of(path) / DESCRIPTION).is_file()]
    refuse_other_data(runs, [read_description(folder_of(path)) for path in runs])
    comparison = compare(
        summarise_results(read_results(results)), read_summaries(reference), limit=within
    )
    document = _comparison(comparison)
    if out is not None:
        save_table(document, lambda: comparison_table(comparison), out)
    emit(document, lambda: _comparison_text(comparison), as_json=as_json)
    if comparison.share < share or (comparison.missing and not partial):
        sys.exit(FAILED)


def _comparison(comparison: Comparison) -> JsonMembers:
    header = ("protocol", "split", "epsilon", "metric", "ours", "reference", "distance")
    return {
        "compared": len(comparison.rows),
        "within": len(comparison.rows) - len(comparison.misses),
        "share": comparison.share,
        "standard_errors": comparison.limit,
        "spread": comparison.spread,
        "misses": [dict(zip(header, row, strict=True)) for row in tables.misses(comparison)],
        "missing": [str(cell) for cell in comparison.missing],
    }


def _comparison_text(comparison: Comparison) -> str:
    parts: list[str | Table] = [tables.agreement(comparison)]
    if comparison.misses:
        table = Table("protocol", "split", "epsilon", "metric", box=None, pad_edge=False)
        for heading in ("ours", "reference", "distance"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in tables.misses(comparison):
            table.add_row(*row)
        parts += ["Farther away (the distance is in standard errors):", table]
    if comparison.missing:
        parts.append(_not_run(comparison.missing))
    return rendered(*parts)


def _not_run(cells: tuple[object, ...]) -> str:
    # The paper's table has 127 cells, and a part of an experiment lacks most of them.
    named = ", ".join(map(str, cells[:_SHOWN]))
    if len(cells) <= _SHOWN:
        return f"Not run: {named}"
    return f"Not run: {len(cells)} of the reference's cells (--json names all), such as {named}"


experiment.add_command(table_command)
experiment.add_command(trust_command)


@experiment.command()
@click.argument("name", required=False)
@json_option
@reports_errors
def configs(name: str | None, as_json: bool) -> None:
    """List the configurations that come with hushpoll, or print the one of that NAME."""
    if name is not None:
        if as_json:
            raise InvalidParameter("--json lists configurations; leave out the name", field="name")
        click.echo(shipped.text(name), nl=False)
        return
    titles = {key: shipped.title(key) for key in shipped.names()}
    emit(
        [{"name": key, "title": title} for key, title in titles.items()],
        lambda: _listed(titles),
        as_json=as_json,
    )


def _listed(titles: Mapping[str, str]) -> str:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    for row in titles.items():
        table.add_row(*row)
    return rendered(table)
