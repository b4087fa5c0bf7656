"""The figures of ``scripts/bench``, from the file that it keeps them in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from directives.markdown import table

FILE = Path(__file__).parents[1] / "benchmarks.json"


def text() -> str:
    """Return a heading and a table for each benchmark, with the machine where it changes."""
    lines = []
    named = ""
    for name, run in json.loads(FILE.read_text(encoding="utf-8")).items():
        versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
        machine = (
            f"Python {run['python']}, {run['machine']}, {run['processors']} processors; {versions}."
        )
        shown, named = "the same versions." if machine == named else machine, machine
        size = "" if run["scale"] == 1 else f", at {run['scale']:g} of the full size"
        lines += [
            f"## {name}",
            f"{run['day']}, load {run['load']:g}{size}; {shown}",
            table(
                ("figure", "ours", "peer", "peer is", "ratio", "goal", ""),
                (_row(figure) for figure in run["figures"]),
            ),
        ]
    return "\n\n".join(lines)


def _row(figure: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        figure["name"],
        f"{figure['ours']:.3g} {figure['unit']}",
        f"{figure['peer']:.3g} {figure['unit']}",
        figure["peer_name"],
        f"{figure['ratio']:.3g}",
        f"{figure['goal']:g}",
        "reached" if figure["reached"] else "**missed**",
    )
