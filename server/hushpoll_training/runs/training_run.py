"""One training: the model, and its metrics beside those of the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hushpoll_training.evaluation.evaluation import Evaluation
from hushpoll_training.models.model import Model


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A trained model and what is known about it.

    Attributes
    ----------
    mode : str
        ``records`` (collected ones) or ``simulation``.
    model : Model
        Fitted to LDP records.
    ldp, baseline : Evaluation or None
        Of the model and of the NonDP baseline, on the same clear rows; None if there were none.
    tested_on, baseline_is : str or None
        In words: which rows those are, and what the baseline was fitted to.
    unmeasured : str or None
        Why there are no metrics, where there are none.
    rows : mapping of str to int
        Rows per purpose.
    timings : mapping of str to float
        Seconds per step.
    seed : int
        Of everything that was drawn.
    settings : mapping
        Further settings that the run depends on.
    """

    mode: str
    model: Model
    ldp: Evaluation | None
    baseline: Evaluation | None
    tested_on: str | None
    baseline_is: str | None
    unmeasured: str | None
    rows: Mapping[str, int]
    timings: Mapping[str, float]
    seed: int
    settings: Mapping[str, float] = field(default_factory=dict)
