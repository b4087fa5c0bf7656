"""``hushpoll experiment table``: results as a page and as CSV, beside a reference or a paper.

``hushpoll experiment trust``: methods by accuracy and unfairness, and whom each trusts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pandas as pd

from hushpoll_lab.experiments.journal import (
    DESCRIPTION,
    read_description,
    refuse_other_data,
)
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.results import paper, tables
from hushpoll_lab.experiments.results.comparison import compare
from hushpoll_lab.experiments.results.results import folder_of, kind_of, read_results
from hushpoll_lab.experiments.results.summaries import (
    Summaries,
    read_summaries,
    summarise_results,
)
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.reading.text_files import read_text
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.runs.whole_file import write_file

_FILE_OR_FOLDER = click.Path(path_type=Path)
REFERENCE = "Table of means and deviations per cell, or another run's results."


@click.command("table")
@click.argument("results", type=_FILE_OR_FOLDER, nargs=-1, required=True)
@click.option(
    "--out",
    required=True,
    type=_FILE_OR_FOLDER,
    help="FILE.md; CSV files are written beside it.",
)
@click.option("--title", required=True, help="Heading of the page.")
@click.option("--reference", type=_FILE_OR_FOLDER, help=REFERENCE)
@click.option(
    "--paper",
    "papers",
    multiple=True,
    metavar="NAME",
    help=f"Results of methods: figures of a paper, out of {', '.join(paper.paper_names())}.",
)
@click.option("--notes", type=_FILE_OR_FOLDER, help="Markdown to put into the page.")
@click.option("--made-by", multiple=True, metavar="COMMAND", help="What gave the results.")
@json_option
@reports_errors
def table_command(
    results: tuple[Path, ...],
    out: Path,
    title: str,
    reference: Path | None,
    papers: tuple[str, ...],
    notes: Path | None,
    made_by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write RESULTS as a page and as CSV: means, and how a reference or a paper compares.

    A reference is for a grid of protocols; --paper is for an experiment on methods, whose means are
    shown with their standard errors over the trials. Several RESULTS are of different methods on
    the same data.
    """
    descriptions = [description_of(one) for one in results]
    text = "" if notes is None else read_text(notes, field="notes")
    page: JsonMembers = {"description": descriptions[0], "made_by": made_by, "notes": text}
    if all(kind_of(one) is Trial for one in results):
        if reference is not None:
            raise InvalidParameter(
                f"reference is given, but {results[0]} holds results of methods; use --paper, or "
                "leave it out",
                field="reference",
            )
        refuse_other_data(results, descriptions)
        files = _methods(results, out, title, papers, page)
    else:
        if papers or len(results) > 1:
            raise InvalidParameter(
                f"{'paper is' if papers else 'several results are'} given, but "
                f"{results[0]} holds results of protocols; use --reference",
                field="paper" if papers else "results",
            )
        files = _protocols(results[0], out, title, reference, page)
    out.parent.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        write_file(path, content.encode())
    names = ", ".join(map(str, files))
    emit({"files": [str(path) for path in files]}, f"Written: {names}.", as_json=as_json)


def description_of(results: Path) -> JsonMembers | None:
    """Return what the folder of results, or of their file, says about its experiment, if at all."""
    folder = folder_of(results)
    return read_description(folder) if (folder / DESCRIPTION).is_file() else None


def _protocols(
    results: Path, out: Path, title: str, reference: Path | None, page: dict[str, Any]
) -> dict[Path, str]:
    ours: Summaries = summarise_results(read_results(results))
    comparison = None if reference is None else compare(ours, read_summaries(reference))
    files = {
        out: tables.page(title, ours, comparison=comparison, **page),
        out.with_suffix(".csv"): tables.summary_csv(ours),
    }
    if comparison is not None:
        files[out.with_name(f"{out.stem}-comparison.csv")] = tables.comparison_csv(comparison)
    return files


def _methods(
    results: tuple[Path, ...], out: Path, title: str, papers: tuple[str, ...], page: dict[str, Any]
) -> dict[Path, str]:
    settings = page["description"]["configuration"]
    data = settings["dataset"] or settings["name"]
    ours = paper.summarise_methods(pd.concat([read_results(one, Trial) for one in results]))
    printed = [figure for name in papers for figure in paper.read_paper(name)]
    beside = paper.beside(ours, printed, data) if papers else {}
    return {
        out: paper.methods_page(title, ours, tables=beside, **page),
        out.with_suffix(".csv"): paper.methods_csv(ours),
        **({out.with_name(f"{out.stem}-beside.csv"): paper.beside_csv(beside)}
           if papers else {}),
    }  # fmt: skip


@click.command("trust")
@click.argument(
    "results",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    nargs=-1,
    required=True,
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the figure and the page.",
)
@json_option
@reports_errors
def trust_command(results: tuple[Path, ...], out: Path, as_json: bool) -> None:
    """Draw methods in the plane of accuracy and unfairness, and say whom each of them trusts.

    RESULTS is the --out of a run whose configuration lists methods; it may be under way. Several
    RESULTS are of different methods on the same data; the first one names the files. The figure is
    SVG, the page Markdown. Intervals are 95 % intervals of the mean over seeds.
    """
    with drawing_figures():
        from hushpoll_lab.experiments.results.trust import draw_plane, page, placed_methods

    descriptions = [_methods_description(folder) for folder in results]
    refuse_other_data(results, descriptions)
    configurations = [description["configuration"] for description in descriptions]
    placed = [
        method
        for folder, configuration in zip(results, configurations, strict=True)
        for method in placed_methods(read_results(folder, Trial), configuration)
    ]
    name = configurations[0]["name"]
    files = {
        f"{name}.svg": draw_plane(placed, name),
        f"{name}.md": page(placed, name).encode(),
    }
    write_files(out, files, as_json=as_json)


@contextmanager
def drawing_figures() -> Iterator[None]:
    """Import what draws figures; the laboratory's extra packages may be missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("hushpoll_"):
            raise
        raise MissingExtra("lab", "drawing figures") from error


def write_files(out: Path, files: Mapping[str, bytes], *, as_json: bool) -> None:
    """Write files into a folder, and say so."""
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_file(out / name, content)
    emit(
        {"files": [str(out / name) for name in files]},
        f"{', '.join(files)} are in {out}.",
        as_json=as_json,
    )


def _methods_description(folder: Path) -> dict[str, Any]:
    description = read_description(folder)
    if description.get("kind") != "methods":
        raise InvalidParameter(
            f"results {str(folder)!r} are of no experiment on methods; give the --out of one, or "
            "use hushpoll experiment plot",
            field="results",
        )
    return description
