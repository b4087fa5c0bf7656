"""The record of one training run: a JSON document that explains itself years later."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from hushpoll_protocols import format_epsilon
from hushpoll_shared.spelling.clock import Clock, SystemClock
from hushpoll_training.evaluation.evaluation import Evaluation
from hushpoll_training.learners.parameters import check_parameters
from hushpoll_training.runs.cell import protocol_name
from hushpoll_training.runs.outcome import Outcome
from hushpoll_training.runs.uncertainty import uncertainty

FORMAT = 1
"""Version of the record itself."""

_DISTRIBUTIONS = ("hushpoll", "lightgbm", "numpy", "scikit-learn")


def run_record(
    outcome: Outcome,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, str],
    *,
    clock: Clock | None = None,
    groupings: Sequence[Sequence[str]] = (),
) -> dict[str, Any]:
    """Describe a run.

    Parameters
    ----------
    outcome : Outcome
        What it gave.
    parameters : mapping
        The learner's, as given; defaults are filled in.
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
    model, published = outcome.model, outcome.model.published
    now = (clock or SystemClock()).now()
    return {
        "format": FORMAT,
        "kind": "training run",
        "mode": outcome.mode,
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
        "seed": outcome.seed,
        **outcome.settings,
        "encoding": model.features.encoding,
        "parameters": check_parameters(parameters),
        "target": model.target.to_json(),
        "rows": dict(outcome.rows),
        "tested_on": outcome.tested_on,
        "baseline_is": outcome.baseline_is,
        "unmeasured": outcome.unmeasured,
        "ldp": _metrics(outcome.ldp),
        "baseline": _metrics(outcome.baseline),
        **uncertainty(outcome, groupings),
        "timings": {name: round(seconds, 6) for name, seconds in outcome.timings.items()},
        "versions": versions(),
        "manifest": published.to_dict(),
    }


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    return {
        **{name: version(name) for name in _DISTRIBUTIONS},
        "python": platform.python_version(),
    }


def _metrics(found: Evaluation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {name: metric.to_json() for name, metric in found.metrics.items()}
