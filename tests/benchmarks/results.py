"""What the benchmarks found: printed, and kept as JSON by benchmark."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.harness import Figure

VERSIONS = (
    "hushpoll", "numpy", "numba", "lightgbm", "multi-freq-ldpy", "pure-ldp", "psycopg",
    "opacus", "torch",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The figures of one benchmark, with what they depend on.

    Attributes
    ----------
    figures : list of Figure
        What was measured.
    load : float
        Processes that wanted a processor when it began, this one not counted: the load average of
        the minute before.
    scale : float
        Share of the full size.
    """

    figures: list[Figure]
    load: float
    scale: float

    def document(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return {
            "day": datetime.now(UTC).date().isoformat(),
            "load": round(self.load, 1),
            "scale": self.scale,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
            "versions": {name: metadata.version(name) for name in VERSIONS if _installed(name)},
            "figures": [asdict(figure) | {"reached": figure.reached} for figure in self.figures],
        }


def show(figures: Sequence[Figure]) -> None:
    """Print a table of them."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="hushpoll benchmarks (medians; ratio = peer / ours)")
    for column in ("figure", "ours", "peer", "unit", "peer is", "ratio", "goal", ""):
        table.add_column(column, overflow="fold")
    for figure in figures:
        table.add_row(
            figure.name,
            f"{figure.ours:.4g}",
            f"{figure.peer:.4g}",
            figure.unit,
            figure.peer_name,
            f"{figure.ratio:.3g}",
            f"{figure.goal:g}",
            "[green]reached[/]" if figure.reached else "[red]MISSED[/]",
        )
    Console(width=150).print(table)


def keep(path: Path, names: Sequence[str] | None, results: dict[str, Result]) -> None:
    """Write the results to a file.

    Parameters
    ----------
    path : Path
        Benchmarks that did not run this time keep what it has of them.
    names : sequence of str
        All benchmarks, in order; others are dropped. None for those of the file, and then those of
        `results`.
    results : dict of str to Result
        Those that ran.
    """
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    new = {name: result.document() for name, result in results.items()}
    kept = names or (old | new)
    runs = {name: (old | new)[name] for name in kept if name in old or name in new}
    path.write_text(json.dumps(runs, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
