"""The record of one training run: a JSON document that explains itself years later.

It holds the metrics with the intervals of utility, and fairness group by group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from hushpoll_protocols import format_epsilon
from hushpoll_shared.group_metrics import CONFIDENCE
from hushpoll_shared.spelling.clock import Clock, SystemClock
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.evaluation.documents import ReportDocument, RunRecord
from hushpoll_training.evaluation.evaluation import Evaluation
from hushpoll_training.evaluation.fairness.partition import partition_of, protected_partition
from hushpoll_training.evaluation.fairness.report import fairness_report
from hushpoll_training.evaluation.utility_intervals import utility_intervals
from hushpoll_training.runs.cell import protocol_name
from hushpoll_training.runs.training_run import TrainingRun

FORMAT = 1
"""Version of the record itself."""


def run_record(
    run: TrainingRun,
    inputs: Mapping[str, str],
    *,
    clock: Clock | None = None,
    groupings: Sequence[Sequence[str]] = (),
    confidence: float = CONFIDENCE,
) -> RunRecord:
    """Describe a run.

    Parameters
    ----------
    run : TrainingRun
        What it gave.
    inputs : mapping of str to str
        Names of the files that it read, by option; no paths, which would describe a computer.
    clock : Clock, optional
        For the date; the computer's by default.
    groupings : sequence of sequences of str
        Attributes to report fairness by, besides the manifest's groups; see
        :func:`hushpoll_training.runs.record.uncertainty`.
    confidence : float
        Level of the intervals, in (0, 1).

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
    record = {
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
        **uncertainty(run, groupings, confidence=confidence),
        "timings": {name: round(seconds, 6) for name, seconds in run.timings.items()},
        "versions": model.fitted.learner.versions(),
        "manifest": published.to_dict(),
    }
    return cast("RunRecord", record)


def _metrics(evaluation: Evaluation | None) -> JsonMembers | None:
    if evaluation is None:
        return None
    return {name: metric.to_json() for name, metric in evaluation.metrics.items()}


def uncertainty(
    run: TrainingRun,
    groupings: Sequence[Sequence[str]] = (),
    *,
    confidence: float = CONFIDENCE,
) -> dict[str, object]:
    """Return ``intervals`` and ``fairness`` of both models; null where nothing was measured.

    Groupings are further attributes whose categories, crossed, make the groups of a report each;
    the manifest's two groups are always reported.
    """
    models = {"ldp": run.ldp, "baseline": run.baseline}
    return {
        "confidence": confidence,
        "intervals": {
            name: None
            if evaluation is None
            else utility_intervals(evaluation.scored, confidence=confidence)
            for name, evaluation in models.items()
        },
        "fairness": {
            name: None if evaluation is None else _reports(run, evaluation, groupings, confidence)
            for name, evaluation in models.items()
        },
    }


def _reports(
    run: TrainingRun,
    evaluation: Evaluation,
    groupings: Sequence[Sequence[str]],
    confidence: float,
) -> list[ReportDocument]:
    published, scored = run.model.published, evaluation.scored
    partitions = [
        protected_partition(published, scored.codes),
        *(partition_of(published, scored.codes, names) for names in groupings),
    ]
    return [
        fairness_report(
            scored.label, scored.predicted, partition, confidence=confidence, seed=run.seed
        ).to_dict()
        for partition in partitions
        if partition is not None and (partition.group >= 0).any()
    ]
