"""The cells of an experiment on methods: one split of the rows for every method of a seed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_lab.datasets.clear.rows import ClearRows
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import Method, Trial
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.data.coded import describe_codes
from hushpoll_training.data.target import THRESHOLD
from hushpoll_training.evaluation.metrics import METRICS as CLASSIFIER_METRICS
from hushpoll_training.evaluation.metrics import NEITHER, Metric, measure
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import fit_records, take
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import Stopwatch, perturbation, split_stratified

_FIRST: Final = ("accuracy", "over_constant", "balanced_acc", "positive_rate", "parity_gap")
METRICS: Final = (*_FIRST, *(name for name in CLASSIFIER_METRICS if name not in _FIRST))
"""Metrics of a cell, in the order of results.csv.

``parity_gap`` is the size of SPD, and ``over_constant`` the accuracy less that of the more frequent
class of the tested rows, which a constant prediction has with no gap at all.
"""

Rows = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Certificates = dict[str, dict[str, float]]


def run_trial(experiment: MethodsExperiment, rows: ClearRows, trial: Trial) -> JsonMembers:
    """Run one cell with one thread.

    The JSON has ``metrics`` (a number, or ``{"undefined": reason}``), ``rows``, ``timings``
    (seconds) and, where the method proves something of its fairness, ``certificates`` on the rows
    to ``train`` and to ``test`` on; see
    :meth:`hushpoll_training.learners.learner.Fitted.certificates`.
    """
    method = experiment.method(trial)
    train, test = split_rows(rows, trial.seed, experiment.test_size)
    # The rows are in the hands of the person who runs it; noise that can be drawn again is for
    # simulations like this one.
    noise = np.random.default_rng([trial.seed, zlib.crc32(repr(trial[:-1]).encode()), 1])
    options = FitOptions(trial.seed, noise_seed=int(noise.integers(2**62)))
    clock = Stopwatch()
    certificates: Certificates = {}
    if method.perturbed:
        scores = _perturbed(experiment, method, rows, train, test, options, clock)
    else:
        scores, certificates = _clear(method, rows, train, test, options, clock)
    clock.lap("score")
    return {
        **_measured(rows, test, scores),
        **({"certificates": certificates} if certificates else {}),
        "timings": {"perturb": 0.0, **{name: round(lap, 6) for name, lap in clock.laps.items()}},
    }


def split_rows(rows: ClearRows, seed: int, test_size: float) -> tuple[Rows, Rows]:
    """Return row numbers to train and to test on, as :func:`split_stratified` does."""
    return split_stratified(rows.codes[rows.target], seed, test_size, of=f" of {rows.name}")


def publish(experiment: MethodsExperiment, rows: ClearRows, method: Method) -> Published:
    """Return the survey that a method with perturbed records plays."""
    return describe_codes(
        rows.survey_codes(),
        name=rows.name,
        target=rows.target,
        protected=rows.protected,
        sensitive=experiment.sensitive or (rows.protected,),
        protocol=method.protocol,
        split=method.split,
        epsilon=method.local_epsilon,
    ).resolve()


def _clear(
    method: Method, rows: ClearRows, train: Rows, test: Rows, options: FitOptions, clock: Stopwatch
) -> tuple[Scores, Certificates]:
    whole = rows.design()
    learner = method.recipe.learner
    parts = {
        name: replace(whole, table=whole.table[chosen], label=whole.label[chosen])
        for name, chosen in (("train", train), ("test", test))
    }
    behind = learner.without_privacy() if method.noiseless else learner
    fitted = behind.fit(parts["train"], options)
    clock.lap("fit")
    proved = {name: dict(fitted.certificates(part)) for name, part in parts.items()}
    return fitted.scores(parts["test"].table), proved if any(proved.values()) else {}


def _perturbed(
    experiment: MethodsExperiment, method: Method, rows: ClearRows, train: Rows, test: Rows,
    options: FitOptions, clock: Stopwatch,
) -> Scores:  # fmt: skip
    """Fit to perturbed records; a learner that measures in clear does it on other rows."""
    published = publish(experiment, rows, method)
    codes = rows.survey_codes()
    learner = method.recipe.learner
    clear = None
    if method.noiseless:
        learner = learner.without_privacy()
    if learner.measures_in_clear:
        held = learner.held_out(train.size, options)
        train, clear = train[~held], take(codes, train[held])
    noise = perturbation(published, options.seed)
    records = Records.trusted(published, encode_many(published, take(codes, train), noise))
    clock.lap("perturb")
    model = fit_records(records, Recipe(learner, method.recipe.encoding), options, clear=clear)
    clock.lap("fit")
    return model.scores(take(codes, test))


def _measured(rows: ClearRows, test: Rows, scores: Scores) -> JsonObject:
    group = rows.codes[rows.protected][test]
    side = np.where(group > 1, NEITHER, group)
    predicted, label = (scores > THRESHOLD).astype(np.int64), rows.codes[rows.target][test]
    measured = dict(measure(label, predicted, scores, side))
    constant = max(label.mean(), 1 - label.mean())
    measured["over_constant"] = Metric(measured["accuracy"].number() - float(constant))
    gap = measured["SPD"]
    measured["positive_rate"] = Metric(float(predicted.mean()))
    measured["parity_gap"] = Metric(abs(gap.number())) if gap.defined else gap
    counted = {"privileged": 1, "unprivileged": 0, "neither": NEITHER}
    return {
        "metrics": {name: measured[name].to_json() for name in METRICS},
        "rows": {"tested": int(test.size)}
        | {name: int((side == code).sum()) for name, code in counted.items()},
    }


@dataclass(frozen=True, slots=True)
class MethodGrid:
    """Cells of a method and a seed; see :class:`~hushpoll_lab.experiments.kinds.Grid`."""

    experiment: MethodsExperiment

    def cells(self) -> list[Trial]:
        """Return every cell."""
        return self.experiment.trials()

    def learners(self) -> tuple[Learner, ...]:
        """Return the learner of each method."""
        return self.experiment.learners()

    def read(self) -> ClearRows:
        """Read the rows, and refuse a sensitive column or an epsilon that a survey would refuse."""
        for learner in self.learners():
            learner.require_extra()
        rows = self.experiment.source.load()
        for method in self.experiment.methods:
            if method.perturbed:
                publish(self.experiment, rows, method)
        return rows

    def describe(self, data: ClearRows) -> JsonMembers:
        """Return what results depend on."""
        used: dict[str, str] = {}
        for learner in self.learners():
            used |= learner.versions()
        # Python's own version changes no result, and changes often.
        del used["python"]
        return {
            "kind": "methods",
            "configuration": self.experiment.settings(),
            "data": {"rows": data.rows, "columns": list(data.columns), "sha256": data.digest()},
            "versions": used,
        }

    def run(self, data: ClearRows, cell: Trial) -> JsonMembers:
        """Run one cell."""
        return run_trial(self.experiment, data, cell)
