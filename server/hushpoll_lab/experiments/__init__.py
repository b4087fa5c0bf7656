"""Experiments: a grid of reproducible cells, run by several processes, resumable, and its figures.

The grid is that of Arcolezi, Makhlouf and Palamidessi (DBSec 2023, section 5): protocol, split,
epsilon and seed, beside the NonDP baseline of each seed.
"""

from hushpoll_lab.experiments.configuration import Experiment, load_configuration
from hushpoll_lab.experiments.engine import Finished, run_experiment
from hushpoll_lab.experiments.grid import Task, tasks
from hushpoll_lab.experiments.results.results import COLUMNS, read_results
from hushpoll_lab.experiments.results.summaries import Curves, Summary

__all__ = [
    "COLUMNS",
    "Curves",
    "Experiment",
    "Finished",
    "Summary",
    "Task",
    "load_configuration",
    "read_results",
    "run_experiment",
    "tasks",
]
