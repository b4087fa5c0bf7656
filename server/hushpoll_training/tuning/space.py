"""The paper's search space for LightGBM (section 5.1, "Evaluated methods")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Span(NamedTuple):
    """The closed interval of a parameter, and the step of a whole number."""

    low: float
    high: float
    step: int | None


# The text gives the intervals; its code goes through the numbers of trees in steps of 50.
SPACE: Final[Mapping[str, Span]] = {
    "max_depth": Span(3, 50, 1),
    "n_estimators": Span(50, 2000, 50),
    "learning_rate": Span(0.01, 0.25, None),
}


def suggest(trial: Any, space: Mapping[str, Span] = SPACE) -> dict[str, int | float]:
    """Return parameters that a trial of Optuna's suggests."""
    return {
        name: (
            float(trial.suggest_float(name, span.low, span.high))
            if span.step is None
            else int(trial.suggest_int(name, int(span.low), int(span.high), step=span.step))
        )
        for name, span in space.items()
    }
