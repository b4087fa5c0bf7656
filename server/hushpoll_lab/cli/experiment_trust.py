"""``hushpoll experiment trust``: methods by accuracy and unfairness, and whom each trusts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_lab.experiments.journal import read_description, refuse_other_data
from hushpoll_lab.experiments.methods.trial import Trial
from hushpoll_lab.experiments.results.results import read_results
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_training.runs.whole_file import write_file


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
    try:
        from hushpoll_lab.experiments.results.trust import draw_plane, page, placed_methods
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("hushpoll_"):
            raise
        raise MissingExtra("lab", "drawing figures") from error

    descriptions = [_description(folder) for folder in results]
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
    out.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        write_file(out / file, content)
    emit(
        {"files": [str(out / file) for file in files]},
        f"{', '.join(files)} are in {out}.",
        as_json=as_json,
    )


def _description(folder: Path) -> dict[str, Any]:
    description = read_description(folder)
    if description.get("kind") != "methods":
        raise InvalidParameter(
            f"results {str(folder)!r} are of no experiment on methods; give the --out of one, or "
            "use hushpoll experiment plot",
            field="results",
        )
    return description
