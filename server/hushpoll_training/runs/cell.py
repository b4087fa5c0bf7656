"""One cell of an experiment: split, perturb the training part, fit, score on the truth.

A cell depends on nothing but its arguments, so that a grid of them can run in any order, in several
processes, and be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from hushpoll_analysis.records.records import Records
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.data.target import Target
from hushpoll_training.evaluation.evaluation import Evaluation, evaluate
from hushpoll_training.learners.learner import FitOptions, check_seed
from hushpoll_training.models.model import Codes, Model, fit_clear, fit_records, take
from hushpoll_training.models.recipe import Recipe


class Stopwatch:
    """Seconds between laps, by the name of each step."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        """End a step; the next one begins."""
        now = perf_counter()
        self.laps[name] = now - self._last
        self._last = now


BASELINE = "NonDP"
TEST_SIZE = 0.2


@dataclass(frozen=True, slots=True)
class Cell:
    """What one run gave.

    Attributes
    ----------
    protocol, split, epsilon : str
        As in results.csv; ``NonDP``, ``none`` and ``inf`` for the baseline.
    seed : int
        What the split, the noise and the learner drew by.
    evaluation : Evaluation
        On the clear test rows.
    model : Model
        Fitted to the training rows.
    timings : mapping of str to float
        Seconds for ``perturb``, ``fit`` (encoding included) and ``score``.
    """

    protocol: str
    split: str
    epsilon: str
    seed: int
    evaluation: Evaluation
    model: Model
    timings: Mapping[str, float]


def cell(
    published: Published,
    codes: Codes,
    recipe: Recipe,
    options: FitOptions,
    *,
    test_size: float = TEST_SIZE,
) -> Cell:
    """Train on the perturbed training part and test on the clear rest.

    Parameters
    ----------
    published : Published
        Protocols and budget.
    codes : mapping of str to int64[n]
        Every attribute of the survey in clear, codes in [0, k).
    recipe : Recipe
        Learner and encoding. For a learner with parity, a part of the training rows stays in clear.
    options : FitOptions
        The seed is that of the split, the noise and the learner. The noise also depends on the
        survey's digest, so that cells of one seed are split alike and perturbed independently.
    test_size : float
        Share of the rows to test on, in (0, 1).

    Raises
    ------
    InvalidParameter
        For a bad argument, or data too small to split.
    """
    train, test = split_rows(published, codes, options.seed, test_size)
    held = recipe.learner.held_out(train.size, simulated(published, options))
    clock = Stopwatch()
    noise = perturbation(published, options.seed)
    records = Records.trusted(published, encode_many(published, take(codes, train[~held]), noise))
    clock.lap("perturb")
    clear = take(codes, train[held]) if held.any() else None
    model = fit_records(records, recipe, simulated(published, options), clear=clear)
    clock.lap("fit")
    evaluation = evaluate(model, take(codes, test), threads=options.threads)
    clock.lap("score")
    return Cell(
        protocol=protocol_name(published),
        split=published.split.kind,
        epsilon=format_epsilon(published.epsilon),
        seed=options.seed,
        evaluation=evaluation,
        model=model,
        timings=clock.laps,
    )


def baseline_cell(
    published: Published,
    codes: Codes,
    recipe: Recipe,
    options: FitOptions,
    *,
    test_size: float = TEST_SIZE,
) -> Cell:
    """Train on the same rows as :func:`cell`, in clear: the NonDP baseline."""
    train, test = split_rows(published, codes, options.seed, test_size)
    clock = Stopwatch()
    model = fit_clear(published, take(codes, train), recipe.learner.without_privacy(), options)
    clock.lap("fit")
    evaluation = evaluate(model, take(codes, test), threads=options.threads)
    clock.lap("score")
    timings = {"perturb": 0.0, **clock.laps}
    return Cell(BASELINE, "none", "inf", options.seed, evaluation, model, timings)


def split_rows(
    published: Published, codes: Codes, seed: int, test_size: float = TEST_SIZE
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return row numbers to train and to test on: shuffled, stratified on the target.

    Refuses a category of the target with a single row.
    """
    check_seed(seed)
    if not 0 < test_size < 1:
        raise InvalidParameter(
            f"test size is {test_size}; it must lie between 0 and 1, such as 0.2", field="test_size"
        )
    return split_stratified(codes[Target.clear(published).name], seed, test_size)


def split_stratified(
    target: npt.NDArray[np.int64], seed: int, test_size: float, *, of: str = ""
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return row numbers to train and to test on, by the target of each row, int64[n].

    Refuses too few rows of a category; `of` says whose they are.
    """
    try:
        train, test = train_test_split(
            np.arange(len(target)), test_size=test_size, random_state=seed, stratify=target
        )
    except ValueError as error:
        raise InvalidParameter(
            f"{len(target)} rows{of} cannot be split with {test_size:g} of them to test on, "
            f"stratified on the target ({error}); give more rows of each category",
            field="data",
        ) from error
    return train, test


def perturbation(published: Published, seed: int) -> np.random.Generator:
    """Return the generator of one cell's noise."""
    return np.random.default_rng([seed, int(published.digest, 16)])


def simulated(published: Published, options: FitOptions) -> FitOptions:
    """Return the options with a seed for a private learner's noise, so that a cell can be repeated.

    The rows of a cell are in the hands of the person who runs it; its noise protects nobody.
    """
    seed = int(np.random.default_rng([options.seed, int(published.digest, 16), 1]).integers(2**62))
    return replace(options, noise_seed=seed)


def protocol_name(published: Published) -> str:
    """Return the one protocol of the sensitive attributes, or all, joined by ``+``."""
    names = {
        attribute.oracle.name: None
        for attribute in published.perturbed
        if attribute.role == "sensitive" and attribute.oracle is not None
    }
    return "+".join(names) or "none"
