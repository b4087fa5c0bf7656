"""The record of one training run: a JSON document that explains itself years later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_protocols import format_epsilon
from hushpoll_shared.spelling.clock import Clock, SystemClock
from hushpoll_training.evaluation.evaluation import Evaluation
from hushpoll_training.runs.cell import protocol_name
from hushpoll_training.runs.training_run import TrainingRun
from hushpoll_training.runs.uncertainty import uncertainty

FORMAT = 1
"""Version of the record itself."""


def run_record(
    run: TrainingRun,
    inputs: Mapping[str, str],
    *,
    clock: Clock | None = None,
    groupings: Sequence[Sequence[str]] = (),
) -> dict[str, Any]:
    """Describe a run.

    Parameters
    ----------
    run : TrainingRun
        What it gave.
    inputs : mapping of str to str
        Names of the files that it read, by option. Names only: a path tells of somebody's computer.
    clock : Clock, optional
        For the date; the computer's by default.
    groupings : sequence of sequences of str
        Attributes to report fairness by, besides the manifest's groups; see
        :func:`hushpoll_training.runs.uncertainty.uncertainty`.

    Returns
    -------
    dict
        JSON. ``ldp`` and ``baseline`` map each metric to a number or to ``{"undefined": reason}``,
        in the order of :data:`hushpoll_training.evaluation.metrics.METRICS`; both are null without
        rows in clear, and ``unmeasured`` says why. ``intervals`` and ``fairness`` have the same
        keys.
    """
    model, published = run.model, run.model.published
    now = (clock or SystemClock()).now()
    return {
        "format": FORMAT,
        "kind": "training run",
        "mode": run.mode,
        "finished": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "survey": {
            "name": published.name,
            "version": published.version,
            "digest": published.digest,
        },
        "protocol": protocol_name(published),
        "split": published.split.kind,
        "epsilon": format_epsilon(published.epsilon),
        "inputs": dict(inputs),
        "seed": run.seed,
        **run.settings,
        **model.recipe.to_json(),
        "target": model.target.to_json(),
        "rows": dict(run.rows),
        "tested_on": run.tested_on,
        "baseline_is": run.baseline_is,
        "unmeasured": run.unmeasured,
        "ldp": _metrics(run.ldp),
        "baseline": _metrics(run.baseline),
        **uncertainty(run, groupings),
        "timings": {name: round(seconds, 6) for name, seconds in run.timings.items()},
        "versions": model.fitted.learner.versions(),
        "manifest": published.to_dict(),
    }


def _metrics(found: Evaluation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {name: metric.to_json() for name, metric in found.metrics.items()}
