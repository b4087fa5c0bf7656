"""One training, on collected records or in a simulation, with its metrics beside the baseline's.

On collected records, a panel (people who agreed to give their answers in clear) tests both models.
The baseline is fitted to the rows of `baseline` where they are given, as a simulation can; else to
the panel itself, cross-validated, since a real survey has no other rows in clear. A simulation
splits clear rows: one part is perturbed, the other tests in clear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import Target
from hushpoll_training.evaluation.evaluation import FOLDS, Evaluation, cross_validate, evaluate
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import Codes, Model, count_rows, fit_clear, fit_records, take
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import (
    TEST_SIZE,
    Stopwatch,
    baseline_cell,
    cell,
    simulated,
)


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
        How the model and the NonDP baseline did on the same clear rows; None if there were none.
    tested_on, baseline_is : str or None
        In words: which rows those are, and what the baseline was fitted to.
    unmeasured : str or None
        Why there are no metrics, where there are none.
    rows : mapping of str to int
        Rows per purpose.
    timings : mapping of str to float
        Seconds per step.
    seed : int
        What everything was drawn by.
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
        Those of each model; progress begins anew with each.
    panel : mapping of str to int64[m], optional
        Clear rows of people who are not among the respondents. A learner with parity measures its
        rates on a part of them, and the others test.
    baseline : mapping of str to int64[m], optional
        Clear rows to fit the baseline to; needs a panel.

    Raises
    ------
    InvalidParameter
        For a bad argument, a target that gives no labels, or rows too few to measure on.
    """
    learner, clear = recipe.learner, None
    if learner.measures_in_clear:
        if panel is None:
            raise learner.without_clear_rows()
        held = learner.held_out(count_rows(panel), options)
        clear, panel = take(panel, held), take(panel, ~held)
    run = measure_collected(
        records.published,
        len(records),
        lambda: fit_records(records, recipe, options, clear=clear),
        learner,
        options,
        panel=panel,
        baseline=baseline,
    )
    return run if clear is None else replace(run, rows={**run.rows, "rates": count_rows(clear)})


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
    """Fit by a function of the caller, and measure like :func:`train_collected`.

    `fit` is called once, after what can be refused beforehand was; `records` is how many it fits
    to. The learner fits the baseline; `settings` are what else the run depends on.
    """
    # mistakes of the caller are refused before minutes are spent on fitting
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
        other = fit_clear(published, baseline, learner.without_privacy(), options)
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


def train_simulated(
    published: Published,
    codes: Codes,
    recipe: Recipe,
    options: FitOptions,
    *,
    test_size: float = TEST_SIZE,
) -> TrainingRun:
    """Run one cell and its baseline; see :func:`hushpoll_training.runs.cell.cell`."""
    # a target that gives no labels is refused before the baseline is fitted
    Target.of(published)
    against = baseline_cell(published, codes, recipe, options, test_size=test_size)
    ours = cell(published, codes, recipe, options, test_size=test_size)
    tested = sum(ours.evaluation.rows[name] for name in ("tested", "unanswered"))
    trained = count_rows(codes) - tested
    seeded = simulated(published, options)
    clear = int(recipe.learner.held_out(trained, seeded).sum())
    return TrainingRun(
        mode="simulation",
        model=ours.model,
        ldp=ours.evaluation,
        baseline=against.evaluation,
        tested_on=f"{tested} rows in clear that were not trained on",
        baseline_is="fitted to the same rows in clear",
        unmeasured=None,
        rows={
            "records": trained - clear,
            "fitted": ours.model.rows,
            "baseline": against.model.rows,
            **({"rates": clear} if clear else {}),
            **ours.evaluation.rows,
        },
        timings={"baseline": against.timings["fit"], **ours.timings},
        seed=options.seed,
        settings={"test_size": test_size},
    )
