"""Training on collected records: the paper's setting where a panel in clear is at hand.

The panel (people who agreed to give their answers in clear) tests both models. The baseline is
fitted to the rows of `baseline` where they are given, as a simulation can; else to the panel
itself, cross-validated, since a real survey has no other rows in clear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.evaluation.evaluation import FOLDS, Evaluation, cross_validate, evaluate
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import Codes, Model, count_rows, fit_clear, fit_records
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.stopwatch import Stopwatch
from hushpoll_training.runs.training_run import TrainingRun

NO_PANEL = (
    "no panel was given, and records alone do not hold the truth to test on; give rows in clear "
    "with --panel"
)


def train_collected(
    records: Records,
    recipe: Recipe,
    options: FitOptions,
    *,
    panel: Codes | None = None,
    baseline: Codes | None = None,
) -> TrainingRun:
    """Fit to records; measure on a panel in clear, beside the NonDP baseline.

    Parameters
    ----------
    records : Records
        At least one.
    recipe : Recipe
        Learner and encoding.
    options : FitOptions
        Of each model; progress begins anew with each.
    panel : mapping of str to int64[m], optional
        Clear rows of people who are not among the respondents.
    baseline : mapping of str to int64[m], optional
        Clear rows to fit the baseline to; needs a panel.

    Raises
    ------
    InvalidParameter
        For a bad argument, a target that gives no labels, or rows too few to measure on.
    """
    return measure_collected(
        records.published,
        len(records),
        lambda: fit_records(records, recipe, options),
        recipe.learner,
        options,
        panel=panel,
        baseline=baseline,
    )


def measure_collected(
    published: Published,
    records: int,
    fit: Callable[[], Model],
    learner: Learner,
    options: FitOptions,
    *,
    panel: Codes | None = None,
    baseline: Codes | None = None,
    settings: Mapping[str, float] | None = None,
) -> TrainingRun:
    """Fit in whatever way, and measure like :func:`train_collected`.

    Parameters
    ----------
    published : Published
        The survey.
    records : int
        Records that are fitted to, at least 1.
    fit : callable
        Fits to them; called once, after what can be refused beforehand was.
    learner : Learner
        Of the baseline.
    options, panel, baseline
        See :func:`train_collected`.
    settings : mapping of str to float, optional
        What else the run depends on.

    Raises
    ------
    InvalidParameter
        As :func:`train_collected`, or as `fit`.
    """
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
    against: Evaluation | None = None
    baseline_is = None
    rows = {"records": records}
    if panel is not None and baseline is not None:
        other = fit_clear(published, baseline, learner, options)
        against = evaluate(other, panel, threads=options.threads)
        baseline_is = "fitted to the clear rows of baseline"
        rows["baseline"] = other.rows
    elif panel is not None:
        against = cross_validate(published, panel, learner, options)
        baseline_is = f"{FOLDS}-fold cross-validated on the panel"
        rows["baseline"] = against.rows["tested"]
    clock.lap("baseline")
    model = fit()
    clock.lap("fit")
    evaluation = None if panel is None else evaluate(model, panel, threads=options.threads)
    clock.lap("score")
    return TrainingRun(
        mode="records",
        model=model,
        ldp=evaluation,
        baseline=against,
        tested_on=None if panel is None else f"the panel of {count_rows(panel)} people in clear",
        baseline_is=baseline_is,
        unmeasured=NO_PANEL if panel is None else None,
        rows={**rows, "fitted": model.rows, **({} if evaluation is None else evaluation.rows)},
        timings=clock.laps,
        seed=options.seed,
        settings=settings or {},
    )
