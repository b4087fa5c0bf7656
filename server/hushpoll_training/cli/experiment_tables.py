"""``hushpoll experiment compare`` and ``table``: results beside a reference, and as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from hushpoll_shared.cli.terminal import FAILED, emit, json_option, reports_errors
from hushpoll_training.experiments.journal import DESCRIPTION, read_description, write_file
from hushpoll_training.experiments.results import tables
from hushpoll_training.experiments.results.comparison import (
    SHARE,
    STANDARD_ERRORS,
    Comparison,
    compare,
)
from hushpoll_training.experiments.results.results import read_results
from hushpoll_training.experiments.results.summaries import (
    Summaries,
    read_summaries,
    summarise_results,
)

_PATH = click.Path(path_type=Path)
_REFERENCE = "Table of means and deviations per cell, or another run's results."


@click.command("compare")
@click.argument("results", type=_PATH)
@click.option("--reference", required=True, type=_PATH, help=_REFERENCE)
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
@json_option
@reports_errors
def compare_command(
    results: Path, reference: Path, within: float, share: float, partial: bool, as_json: bool
) -> None:
    """Compare the means of RESULTS with a reference, cell by cell and metric by metric.

    The standard error is sd * sqrt(1/n + 1/m), with the reference's sd over its m seeds and our n.
    Every mean outside is listed. Ends with exit code 1 if too many are, or cells are missing.
    """
    comparison = compare(
        summarise_results(read_results(results)), read_summaries(reference), limit=within
    )
    emit(_document(comparison), lambda: _text(comparison), as_json=as_json)
    if comparison.share < share or (comparison.missing and not partial):
        sys.exit(FAILED)


@click.command("table")
@click.argument("results", type=_PATH)
@click.option(
    "--out", required=True, type=_PATH, help="FILE.md; the CSV files are written beside it."
)
@click.option("--title", required=True, help="Heading of the page.")
@click.option("--reference", type=_PATH, help=_REFERENCE)
@click.option("--notes", type=_PATH, help="Markdown to put into the page.")
@click.option("--made-by", multiple=True, metavar="COMMAND", help="What gave the results.")
@json_option
@reports_errors
def table_command(
    results: Path,
    out: Path,
    title: str,
    reference: Path | None,
    notes: Path | None,
    made_by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write RESULTS as a page and as CSV: means and deviations, and how a reference compares."""
    ours: Summaries = summarise_results(read_results(results))
    comparison = None if reference is None else compare(ours, read_summaries(reference))
    folder = results if results.is_dir() else results.parent
    files = {
        out: tables.page(
            title,
            ours,
            comparison=comparison,
            description=(read_description(folder) if (folder / DESCRIPTION).is_file() else None),
            made_by=made_by,
            notes="" if notes is None else notes.read_text(encoding="utf-8"),
        ),
        out.with_suffix(".csv"): tables.summary_csv(ours),
    }
    if comparison is not None:
        files[out.with_name(f"{out.stem}-comparison.csv")] = tables.comparison_csv(comparison)
    out.parent.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        write_file(path, text.encode())
    names = ", ".join(map(str, files))
    emit({"files": [str(path) for path in files]}, f"Written: {names}.", as_json=as_json)


def _document(comparison: Comparison) -> dict[str, Any]:
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


def _text(comparison: Comparison) -> str:
    lines = [tables.agreement(comparison)]
    if comparison.misses:
        lines += ["Farther away (ours, reference, standard errors):"]
        lines += [f"  {'  '.join(row)}" for row in tables.misses(comparison)]
    if comparison.missing:
        lines += [f"Not run: {', '.join(map(str, comparison.missing))}"]
    return "\n".join(lines)
