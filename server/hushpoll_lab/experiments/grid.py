"""The cells of an experiment, each of which can be run by itself, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hushpoll_lab.experiments.configuration import REFERENCE, Experiment
from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS
from hushpoll_training.data.coded import attribute_name, describe_codes, override
from hushpoll_training.evaluation.evaluation import Evaluation
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import Codes
from hushpoll_training.runs.cell import BASELINE, baseline_cell, cell

ORDER = {name: at for at, name in enumerate((BASELINE, *PROTOCOLS, "none", *DRAFT_SPLITS))}
"""Place of each protocol and split in results."""


class Task(NamedTuple):
    """One cell, as results.csv names it; the baseline is ``NonDP``, ``none``, ``inf``."""

    protocol: str
    split: str
    epsilon: str
    seed: int

    def place(self) -> tuple[int, int, float, int]:
        """Return the key that results are sorted by."""
        return ORDER[self.protocol], ORDER[self.split], float(self.epsilon), self.seed

    def __str__(self) -> str:
        if self.protocol == BASELINE:
            return f"{BASELINE} seed {self.seed}"
        return f"{self.protocol} {self.split} epsilon {self.epsilon} seed {self.seed}"


def tasks(experiment: Experiment) -> list[Task]:
    """Return every cell of the grid, and the baseline's of each seed.

    Seeds come one after the other, so that a run that is stopped early has whole curves, and that
    the time left is estimated from cells of every kind.
    """
    return [
        task
        for seed in experiment.seeds
        for task in (
            Task(BASELINE, "none", "inf", seed),
            *(
                Task(protocol, split, epsilon, seed)
                for protocol in experiment.protocols
                for split in experiment.splits
                for epsilon in experiment.epsilons
            ),
        )
    ]


def sensitive_of(experiment: Experiment, seed: int) -> tuple[str, ...]:
    """Return the columns that a seed perturbs.

    Where they are drawn (the paper's appendix A), their number is uniform over the interval and
    the others than the protected one are drawn without replacement. All cells of one seed share
    them, so that protocols are compared on the same attributes.
    """
    if experiment.drawn is None:
        return experiment.sensitive
    rng = np.random.default_rng([seed, 0x5EED])
    others = [name for name in experiment.sensitive if name != experiment.protected]
    number = int(rng.integers(experiment.drawn[0], experiment.drawn[1], endpoint=True))
    chosen = set(rng.permutation(len(others))[: number - 1].tolist())
    kept = {name for at, name in enumerate(others) if at in chosen} | {experiment.protected}
    return tuple(name for name in experiment.sensitive if name in kept)


def publish(experiment: Experiment, codes: Codes, task: Task) -> Published:
    """Return the survey that a cell plays."""
    clear = task.protocol == BASELINE
    if experiment.manifest is not None:
        if clear:
            return experiment.manifest.resolve()
        return override(
            experiment.manifest, protocol=task.protocol, split=task.split, epsilon=task.epsilon
        ).resolve()
    # Nothing is perturbed for the baseline: any protocol, split and epsilon of a manifest will do.
    cell = Task("GRR", "uniform", "64", task.seed) if clear else task
    return draft(experiment, codes, cell, sensitive_of(experiment, task.seed)).resolve()


def draft(experiment: Experiment, codes: Codes, task: Task, sensitive: Sequence[str]) -> Manifest:
    """Return the manifest of a file of codes, with the protocol, split and epsilon of a cell."""
    return describe_codes(
        dict(codes),
        name=experiment.name,
        target=attribute_name(experiment.target),
        protected=attribute_name(experiment.protected),
        sensitive=list(map(attribute_name, sensitive)),
        protocol=task.protocol,
        split=task.split,
        epsilon=task.epsilon,
    )


def run_task(experiment: Experiment, codes: Codes, task: Task) -> JsonMembers:
    """Run one cell with one thread.

    The JSON has ``metrics`` (a number, or ``{"undefined": reason}``), ``rows``, ``timings``
    (seconds) and ``sensitive``, the columns that were perturbed.
    """
    evaluation, timings = run_cell(experiment, codes, task)
    return {
        **evaluation.to_json(),
        "timings": {name: round(seconds, 6) for name, seconds in timings.items()},
        "sensitive": list(sensitive_of(experiment, task.seed)),
    }


def run_cell(
    experiment: Experiment, codes: Codes, task: Task, *, threads: int = 1
) -> tuple[Evaluation, Mapping[str, float]]:
    """Run one cell by the experiment's engine, and return its metrics and seconds per step."""
    published = publish(experiment, codes, task)
    clear = task.protocol == BASELINE
    recipe, options = experiment.recipe, FitOptions(task.seed, threads)
    if experiment.engine == REFERENCE:
        # Its packages are another extra's.
        from hushpoll_lab.experiments.reference import reference_cell

        size = experiment.test_size
        learner = recipe.learner
        return reference_cell(
            published, codes, learner, options, perturbed=not clear, test_size=size
        )
    run = baseline_cell if clear else cell
    outcome = run(published, codes, recipe, options, test_size=experiment.test_size)
    return outcome.evaluation, outcome.timings
