"""The two kinds of experiment that the engine runs: protocols of one learner, or whole methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.grid import Task
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.methods.run import MethodGrid
from hushpoll_lab.experiments.protocol_grid import ProtocolGrid
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.learner import Learner

AnyExperiment: TypeAlias = Experiment | MethodsExperiment
AnyCell: TypeAlias = Task | Trial


class Grid(Protocol):
    """The cells of an experiment, each of which can be run by itself, in any order."""

    def cells(self) -> Sequence[Any]:
        """Return every cell, in the order to run them: those of a seed before those of the next."""
        ...

    def learners(self) -> tuple[Learner, ...]:
        """Return the learners, whose versions results depend on."""
        ...

    def read(self) -> Any:
        """Read the rows, and refuse a configuration that they do not fit."""
        ...

    def describe(self, data: Any) -> JsonMembers:
        """Return what results depend on: settings, the data's content, versions; JSON."""
        ...

    def run(self, data: Any, cell: Any) -> JsonMembers:
        """Run one cell with one thread: ``metrics``, ``rows`` and ``timings``, as JSON."""
        ...


def grid_of(experiment: AnyExperiment) -> Grid:
    """Return the cells of an experiment."""
    if isinstance(experiment, MethodsExperiment):
        return MethodGrid(experiment)
    return ProtocolGrid(experiment)
