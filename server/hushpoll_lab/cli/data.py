"""``hushpoll data``: the paper's data sets as codes, categories and a manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hushpoll_lab.datasets import LOADERS, load
from hushpoll_protocols.errors import HushpollError
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_training.runs.whole_file import write_file


@click.command()
@click.argument("name", type=click.Choice(list(LOADERS)))
@click.option(
    "--from",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The raw file, where you have it; by default it is downloaded.",
)
@click.option("--url", help="Download it from this mirror.")
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="FILE.csv for the codes; the others are written beside it.",
)
@click.option("--unchecked", is_flag=True, help="Take rows that are not the paper's.")
@json_option
@reports_errors
def data(
    name: str, file: Path | None, url: str | None, out: Path, unchecked: bool, as_json: bool
) -> None:
    """Get a data set of the paper, cleaned as the paper did.

    Writes FILE.csv (integer codes), FILE.answers.csv (the same rows as categories),
    FILE.categories.json (what the codes mean) and FILE.manifest.json (a survey that would ask for
    them). Other rows than the paper's are refused, because the paper's results are not about
    them.
    """
    if file is not None and url is not None:
        raise click.UsageError("--from is a file and --url downloads one; give one of them")
    dataset = load(name, file, url=url)
    recipe = dataset.recipe
    if not dataset.is_the_papers and not unchecked:
        raise HushpollError(
            f"the {dataset.rows:,} rows are not the {recipe.rows:,} of the paper: the source has "
            "changed, or this is another file; give the right one with --from, or take them with "
            "--unchecked"
        )
    files = {
        out: dataset.csv(),
        out.with_suffix(".answers.csv"): dataset.answers_csv(),
        out.with_suffix(".categories.json"): _json(dataset.categories),
        out.with_suffix(".manifest.json"): _json(dataset.manifest()),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        write_file(path, content)
    document = {
        "name": recipe.name,
        "rows": dataset.rows,
        "papers": dataset.is_the_papers,
        "target": recipe.target,
        "protected": recipe.protected,
        "sensitive": list(recipe.sensitive),
        "files": [str(path) for path in files],
    }
    whose = "the paper's" if dataset.is_the_papers else "NOT the paper's"
    names = "\n".join(f"  {path}" for path in files)
    emit(document, f"{dataset.rows:,} rows, {whose}, are in\n{names}", as_json=as_json)


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
