"""One measured figure, and how it is printed: one row of a table each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

HEADER = (
    "| database | figure | goal | measured | beside | |\n"  # the last one: reached or not
    "|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Figure:
    """One measured figure.

    Attributes
    ----------
    name : str
        What was measured.
    goal, measured, beside : str
        In words, with units; `beside` is the peer, the limit, or what else makes it understandable.
    reached : bool or None
        None: nothing was promised.
    """

    name: str
    goal: str
    measured: str
    beside: str = ""
    reached: bool | None = None

    def row(self, database: str) -> str:
        """Return the table's row."""
        words = {None: "", True: "reached", False: "missed"}[self.reached]
        cells = (database, self.name, self.goal, self.measured, self.beside, words)
        return f"| {' | '.join(cells)} |"


@dataclass(frozen=True)
class Options:
    """Of the command line.

    Attributes
    ----------
    rounds, seconds : int
        Rounds of each figure, and the length of one.
    reports : int
        That are sealed beside the load, or that analysts look at.
    respondents : int
        That ``hushpoll simulate`` plays, a round.
    server : tuple of str
        Further options of ``hushpoll serve``.
    carrier_python : str
        An interpreter that has granian.
    """

    rounds: int = 3
    seconds: int = 10
    reports: int = 1_000_000
    respondents: int = 1500
    server: tuple[str, ...] = ()
    carrier_python: str = ""


Case = Callable[[str, Options], Iterator[Figure]]


def at_least(name: str, value: float, goal: float, *, beside: str = "", unit: str = "") -> Figure:
    """Build a figure of which more is better."""
    return Figure(name, f"at least {goal:g}{unit}", f"{value:.2f}{unit}", beside, value >= goal)


def at_most(name: str, value: float, goal: float, *, beside: str = "", unit: str = "") -> Figure:
    """Build a figure of which less is better."""
    return Figure(name, f"at most {goal:g}{unit}", f"{value:.2f}{unit}", beside, value <= goal)


def lost(acknowledged: int, counted: int) -> Figure:
    """Build the figure of reports that were acknowledged and are not there."""
    missing = max(0, acknowledged - counted)
    beside = f"{acknowledged:,} acknowledged, {counted:,} counted"
    return Figure("acknowledged reports that are lost", "0", f"{missing}", beside, missing == 0)
