"""``scripts/certificate-study``: measures certificates in full, and writes the page of results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from studies.private_models import fairdp as fairdp_page
from studies.private_models.page import page as certificates_page
from studies.private_models.problem import PROBLEMS, Problem
from studies.private_models.table import MODELS, PENALTIES, POINTS, bounds, curves, draw
from studies.private_models.theorem import SETTINGS, study

DRAWS = 1_000
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
@click.option("--data", type=_FOLDER, default=os.environ.get("HUSHPOLL_DATA"), required=True)
@click.option("--out", type=_FOLDER, default="docs/results", show_default=True)
@click.pass_context
def main(context: click.Context, data: Path, out: Path) -> None:
    """Study certificates of fairness; results go to files of --out."""
    out.mkdir(parents=True, exist_ok=True)
    context.obj = (data, out)


@main.command()
@click.option("--draws", type=click.IntRange(min=1), default=DRAWS, show_default=True)
@click.option("--only", help="A part of the settings: those whose text holds this.")
@click.pass_obj
def theorem(places: tuple[Path, Path], draws: int, only: str | None) -> None:
    """Count how often the bounds of Theorem 4.4 hold: private-bounds.json."""
    data, out = places
    path = out / "private-bounds.json"
    settings = [
        setting for setting in SETTINGS if only is None or only in f"{setting.data} {setting.text}"
    ]
    done: dict[tuple[str, str], dict[str, Any]] = {}
    if path.is_file():
        done = {(row["data"], row["setting"]): row for row in json.loads(path.read_text())}

    def keep(row: dict[str, Any]) -> None:
        done[row["data"], row["setting"]] = row
        order = [(setting.data, setting.text) for setting in SETTINGS]
        rows = [done[key] for key in order if key in done]
        path.write_text(json.dumps(rows, indent=1) + "\n")
        click.echo(f"{row['data']}, {row['setting']}: {row['held_from_best']} of {row['draws']}")

    study(lambda name: _problem(name, data), draws, settings, keep)


@main.command()
@click.pass_obj
def table(places: tuple[Path, Path]) -> None:
    """Compute Table 1: private-table.json."""
    data, out = places
    rows = []
    for name in PROBLEMS:
        problem = _problem(name, data)
        rows += [bounds(problem, penalty) for penalty in PENALTIES]
        click.echo(f"{name}: {problem.dimension} weights, {problem.train.label.size} rows")
    (out / "private-table.json").write_text(json.dumps(rows, indent=1) + "\n")


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(PROBLEMS)))
@click.option("--models", type=click.IntRange(min=1), default=MODELS, show_default=True)
@click.option("--points", type=click.IntRange(min=2), default=POINTS, show_default=True)
@click.pass_obj
def figure(places: tuple[Path, Path], names: tuple[str, ...], models: int, points: int) -> None:
    """Draw Fig. 1 for each data set: private-NAME.json and private-NAME.svg."""
    data, out = places
    for name in names or tuple(PROBLEMS):
        drawing = curves(_problem(name, data), points=points, models=models)
        path = out / f"private-{name.lower()}"
        path.with_suffix(".json").write_text(json.dumps(drawing) + "\n")
        path.with_suffix(".svg").write_bytes(draw(drawing))


@main.command()
@click.pass_obj
def page(places: tuple[Path, Path]) -> None:
    """Write the page fairness-certificates.md from what the other commands have written."""
    _, out = places
    theorem_rows, table_rows = (
        json.loads((out / f"private-{name}.json").read_text()) for name in ("bounds", "table")
    )
    figures = {
        name: json.loads(path.read_text())
        for name in PROBLEMS
        if (path := out / f"private-{name.lower()}.json").is_file()
    }
    text = certificates_page(theorem_rows, table_rows, figures)
    (out / "fairness-certificates.md").write_text(text, encoding="utf-8")


@main.command()
@click.argument("runs", type=_FOLDER)
@click.pass_obj
def fairdp(places: tuple[Path, Path], runs: Path) -> None:
    """Write the page fairdp.md, its figures and fairdp.json from the folders in RUNS."""
    data, out = places
    results: dict[str, Any] = {
        name: fairdp_page.read(runs / name)
        for name in ("two-groups", *fairdp_page.TITLES, fairdp_page.SEVERAL)
        if (runs / name).is_dir()
    }
    present = [name for name in fairdp_page.TITLES if name in results]
    results["sizes"] = {name: fairdp_page.sizes(name, data) for name in present}
    lines = [
        f"{json.dumps(name)}: "
        + (
            "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
            if name != "sizes"
            else json.dumps(rows)
        )
        for name, rows in results.items()
    ]
    (out / "fairdp.json").write_text("{" + ",\n".join(lines) + "}\n")
    for name in present:
        (out / f"fairdp-{name}.svg").write_bytes(fairdp_page.draw(name, results[name]))
    table = fairdp_page.methods(results)
    (out / "study" / fairdp_page.METHODS).write_text(table, encoding="utf-8")
    (out / "fairdp.md").write_text(fairdp_page.page(results) + "\n", encoding="utf-8")


def _problem(name: str, data: Path) -> Problem:
    return PROBLEMS[name](data)


if __name__ == "__main__":
    main()
