"""Timing shared by the benchmarks.

Machines are noisy, so nothing here is an absolute promise: ours and the peer are timed alternately
in one process, at least five times each, and the figure is the ratio of the medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

REPEATS = 5


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


@contextmanager
def announced(title: str) -> Iterator[None]:
    """Say what is being measured, since some of it takes a while."""
    print(f"measuring: {title} ...", flush=True)
    yield
