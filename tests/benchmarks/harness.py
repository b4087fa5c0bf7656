"""Timing and reporting shared by the benchmarks.

Machines are noisy, so nothing here is an absolute promise: ours and the peer are timed alternately
in one process, at least five times each, and the figure is the ratio of the medians.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

REPEATS = 5
VERSIONS = ("hushpoll", "numpy", "numba", "lightgbm", "multi-freq-ldpy", "pure-ldp")


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Attributes
    ----------
    name, unit : str
        What was measured, and the unit of `ours` and `peer`.
    ours, peer : float
        Medians. The peer of a limit is the limit itself.
    ratio : float
        How many times better than the peer or the limit we are.
    goal : float
        The ratio that is promised.
    repeats : int
        How many times each side was timed.
    """

    name: str
    unit: str
    ours: float
    peer: float
    peer_name: str
    ratio: float
    goal: float
    repeats: int

    @property
    def reached(self) -> bool:
        """Whether the promise holds in this run."""
        return self.ratio >= self.goal


def seconds(action: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def alternate(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int = REPEATS
) -> tuple[float, float]:
    """Median seconds of both, timed in turns so that a slow spell hits both alike."""
    pairs = [(seconds(ours), seconds(peer)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def against(
    name: str,
    *,
    unit: str,
    ours: float,
    peer: float,
    peer_name: str,
    goal: float,
    repeats: int = REPEATS,
) -> Figure:
    """Build the figure of two costs: lower is better."""
    return Figure(name, unit, ours, peer, peer_name, peer / ours, goal, repeats)


def report(figures: list[Figure], path: Path | None, page: Path | None = None) -> bool:
    """Print the table, write JSON and page, and say whether every promise was kept."""
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
    if path is not None:
        path.write_text(json.dumps(_document(figures), indent=2) + "\n", encoding="utf-8")
        print(f"written to {path}")
    if page is not None:
        page.write_text(_page(figures), encoding="utf-8")
        print(f"written to {page}")
    return all(figure.reached for figure in figures)


def _document(figures: list[Figure]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "versions": {name: metadata.version(name) for name in VERSIONS if _installed(name)},
        "figures": [asdict(figure) | {"reached": figure.reached} for figure in figures],
    }


def _page(figures: list[Figure]) -> str:
    document = _document(figures)
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    rows = [
        f"| {one.name} | {one.ours:.3g} {one.unit} | {one.peer:.3g} {one.unit} | {one.peer_name} "
        f"| {one.ratio:.3g} | {one.goal:g} |"
        for one in figures
    ]
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by one run of",
            "",
            "```sh",
            "scripts/bench --json docs/benchmarks.json --page docs/benchmarks.md",
            "```",
            "",
            "Each row sets ours beside a peer, or a limit, measured in that same run: medians of",
            "at least five. The ratio is how many times better than the peer we are; the goal is",
            "what is promised.",
            "",
            f"Python {document['python']}, {document['machine']}, {document['processors']} "
            f"processors; {versions}.",
            "",
            "| figure | ours | peer | peer is | ratio | goal |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


@contextmanager
def announced(title: str) -> Iterator[None]:
    """Say what is being measured, since some of it takes a while."""
    print(f"measuring: {title} ...", flush=True)
    yield
