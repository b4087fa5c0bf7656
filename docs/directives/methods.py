"""The methods of one experiment on trust: means of the runs that its file of results holds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from directives.markdown import table
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.results.trust import METRICS, placed_methods
from hushpoll_lab.experiments.shipped import find

RESULTS = Path(__file__).parents[1] / "results"


def text(name: str) -> str:
    """Return the means of each method, with intervals, in the order of the configuration."""
    settings = MethodsExperiment.from_dict(find(name)).settings()
    runs = pd.read_csv(RESULTS / f"{name}.csv")
    return table(
        ("method", "seeds", *METRICS),
        (
            (
                item.method if item.protocol == "none" else f"{item.method}, {item.protocol}",
                item.seeds,
                *(item.means[metric] for metric in METRICS),
            )
            for item in placed_methods(runs, settings)
        ),
    )
