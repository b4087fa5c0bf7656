"""What a run's record says of uncertainty: intervals of utility, and fairness group by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushpoll_training.evaluation.evaluation import Evaluation
from hushpoll_training.evaluation.fairness import fairness_report, partition_of, protected_partition
from hushpoll_training.evaluation.utility_intervals import utility_intervals
from hushpoll_training.runs.training_run import TrainingRun

CONFIDENCE = 0.95


def uncertainty(run: TrainingRun, groupings: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return ``intervals`` and ``fairness`` of both models; null where nothing was measured.

    Parameters
    ----------
    run : TrainingRun
        Of a training.
    groupings : sequence of sequences of str
        Further attributes whose categories, crossed, make the groups of a report each; the
        manifest's two groups are always reported.

    Raises
    ------
    InvalidParameter
        For a name that is no attribute of the survey.
    """
    models = {"ldp": run.ldp, "baseline": run.baseline}
    return {
        "confidence": CONFIDENCE,
        "intervals": {
            name: None if found is None else utility_intervals(found.scored, confidence=CONFIDENCE)
            for name, found in models.items()
        },
        "fairness": {
            name: None if found is None else _reports(run, found, groupings)
            for name, found in models.items()
        },
    }


def _reports(
    run: TrainingRun, found: Evaluation, groupings: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    published, scored = run.model.published, found.scored
    partitions = [
        protected_partition(published, scored.codes),
        *(partition_of(published, scored.codes, names) for names in groupings),
    ]
    return [
        fairness_report(
            scored.label, scored.predicted, one, confidence=CONFIDENCE, seed=run.seed
        ).to_dict()
        for one in partitions
        if one is not None and (one.group >= 0).any()
    ]
