"""Training on collected records: the paper's setting where a panel in clear is at hand.

The panel (people who agreed to give their answers in clear) tests both models. The baseline is
fitted to the rows of `baseline` where they are given, as a simulation can; else to the panel
itself, cross-validated, since a real survey has no other rows in clear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import check_encoding
from hushpoll_training.evaluation.evaluation import FOLDS, Evaluation, cross_validate, evaluate
from hushpoll_training.learners.lightgbm_learner import check_seed
from hushpoll_training.models.model import Codes, Model, OnRound, count_rows, fit_clear, fit_records
from hushpoll_training.runs.outcome import Outcome
from hushpoll_training.runs.stopwatch import Stopwatch

NO_PANEL = (
    "no panel was given, and records alone do not hold the truth to test on; give rows in clear "
    "with --panel"
)


def train_collected(
    published: Published,
    records: npt.NDArray[np.uint8],
    parameters: Mapping[str, Any],
    *,
    seed: int,
    threads: int = 1,
    panel: Codes | None = None,
    baseline: Codes | None = None,
    on_round: OnRound | None = None,
    encoding: str = "indicator",
) -> Outcome:
    """Fit to records; measure on a panel in clear, beside the NonDP baseline.

    Parameters
    ----------
    published : Published
        The survey that the records belong to.
    records : uint8[n, L]
        Well-formed records, n at least 1.
    parameters, seed, threads, on_round
        See :func:`hushpoll_training.learners.lightgbm_learner.fit`; `on_round` is told of each
        model's rounds.
    panel : mapping of str to int64[m], optional
        Clear rows of people who are not among the respondents.
    baseline : mapping of str to int64[m], optional
        Clear rows to fit the baseline to; needs a panel.
    encoding : {"indicator", "posterior"}
        How records become features; see :mod:`hushpoll_training.encodings.encoding`.

    Raises
    ------
    InvalidParameter
        For a bad argument, a target that gives no labels, or rows too few to measure on.
    MalformedRecord
        If a record is malformed.
    """
    options: dict[str, Any] = {"seed": seed, "threads": threads, "on_round": on_round}
    return measure_collected(
        published,
        len(records),
        lambda: fit_records(published, records, parameters, encoding=encoding, **options),
        parameters,
        panel=panel,
        baseline=baseline,
        encoding=encoding,
        **options,
    )


def measure_collected(
    published: Published,
    records: int,
    fit: Callable[[], Model],
    parameters: Mapping[str, Any],
    *,
    seed: int,
    threads: int = 1,
    panel: Codes | None = None,
    baseline: Codes | None = None,
    on_round: OnRound | None = None,
    encoding: str = "indicator",
    settings: Mapping[str, float] | None = None,
) -> Outcome:
    """Fit in whatever way, and measure like :func:`train_collected`.

    Parameters
    ----------
    published : Published
        The survey.
    records : int
        Records that are fitted to, at least 1.
    fit : callable
        Fits to them; called once, after what can be refused beforehand was.
    parameters, seed, threads, panel, baseline, on_round, encoding
        See :func:`train_collected`.
    settings : mapping of str to float, optional
        What else the outcome depends on.

    Raises
    ------
    InvalidParameter
        As :func:`train_collected`, or as `fit`.
    """
    check_seed(seed)
    check_encoding(encoding)
    # what a person can correct is found before minutes are spent on fitting
    Target.of(published)
    if not records:
        raise InvalidParameter(
            "there are 0 records, and there is nothing to learn from; collect some", field="records"
        )
    if baseline is not None and panel is None:
        raise InvalidParameter(
            "baseline rows were given and no panel, so there is nothing to test on; give a panel",
            field="panel",
        )
    clock = Stopwatch()
    options: dict[str, Any] = {"seed": seed, "threads": threads, "on_round": on_round}
    against: Evaluation | None = None
    baseline_is = None
    rows = {"records": records}
    if panel is not None and baseline is not None:
        other = fit_clear(published, baseline, parameters, **options)
        against = evaluate(other, panel, threads=threads)
        baseline_is = "fitted to the clear rows of baseline"
        rows["baseline"] = other.rows
    elif panel is not None:
        against = cross_validate(published, panel, parameters, **options)
        baseline_is = f"{FOLDS}-fold cross-validated on the panel"
        rows["baseline"] = against.rows["tested"]
    clock.lap("baseline")
    model = fit()
    clock.lap("fit")
    found = None if panel is None else evaluate(model, panel, threads=threads)
    clock.lap("score")
    return Outcome(
        mode="records",
        model=model,
        ldp=found,
        baseline=against,
        tested_on=None if panel is None else f"the panel of {count_rows(panel)} people in clear",
        baseline_is=baseline_is,
        unmeasured=NO_PANEL if panel is None else None,
        rows={**rows, "fitted": model.rows, **({} if found is None else found.rows)},
        timings=clock.laps,
        seed=seed,
        settings=settings or {},
    )
