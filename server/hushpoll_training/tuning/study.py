"""The search: Optuna's TPE over a space. Every trial is kept on the disk, so a search can resume.

Each trial draws from a sampler of its own, seeded by how many are finished: a search that was
stopped and goes on suggests what it would have suggested, where one generator for all would begin
again with its first suggestions. A trial whose mean over the folds so far is worse than the median
of earlier trials at that fold is pruned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Protocol

import numpy as np

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_training.learner_registry import DEFAULT, create_learner
from hushpoll_training.learners.learner import Learner, Span
from hushpoll_training.models.recipe import Recipe

TRIALS: Final = 100
_NAME: Final = "hushpoll"
_SETTINGS: Final = "settings"


class Scorer(Protocol):
    """What a search makes as large as possible."""

    @property
    def seed(self) -> int:
        """What the search and the learner draw by."""

    @property
    def folds(self) -> Sized:
        """The parts that each set of parameters is scored on."""

    def scores(self, recipe: Recipe, *, threads: int = 1) -> Iterator[float]:
        """Yield the score on each fold."""


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The result of a search."""

    parameters: Mapping[str, int | float]
    """Those of the best trial."""
    score: float
    """Its mean over the folds."""
    trials: int
    """Finished trials."""
    pruned: int
    """Those of them that were given up."""
    resumed: int
    """Trials that an earlier run has finished."""


def tune(
    problem: Scorer,
    storage: Path,
    settings: JsonObject,
    *,
    trials: int = TRIALS,
    threads: int = 1,
    learner: str = DEFAULT,
    space: Mapping[str, Span] | None = None,
    on_trial: Callable[[int], None] | None = None,
) -> TuningResult:
    """Search until `trials` are finished, those of earlier runs included; needs Optuna.

    The storage is an SQLite file of the study, new or of the same settings: what the scores depend
    on, kept with the study; refuses others, and names each difference. The space is the learner's
    own by default. `on_trial` is called with the number of finished trials, at first and after
    each.
    """
    if trials < 1:
        raise InvalidParameter(f"trials is {trials}; it must be at least 1", field="trials")
    try:
        import optuna
        from optuna.trial import TrialState
    except ModuleNotFoundError as error:
        raise MissingExtra("train", "tuning") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kind = type(create_learner(learner))
    space = kind.space if space is None else space
    described = dict(settings) | {"space": {name: list(span) for name, span in space.items()}}
    study = _open(optuna, storage, described)
    finished = (TrialState.COMPLETE, TrialState.PRUNED)
    for stale in study.get_trials(states=(TrialState.RUNNING,)):
        # A process that was killed left this trial.
        study.tell(stale.number, state=TrialState.FAIL)
    resumed = done = len(study.get_trials(states=finished))
    if on_trial is not None:
        on_trial(done)
    while done < trials:
        study.sampler = optuna.samplers.TPESampler(seed=_seed(problem.seed, done))
        trial = study.ask()
        try:
            score = _score(trial, problem, kind, space, threads)
        except BaseException:
            study.tell(trial, state=TrialState.FAIL)
            raise
        if score is None:
            study.tell(trial, state=TrialState.PRUNED)
        else:
            study.tell(trial, score)
        done = len(study.get_trials(states=finished))
        if on_trial is not None:
            on_trial(done)
    best = study.best_trial
    return TuningResult(
        dict(best.params),
        float(best.value),
        done,
        len(study.get_trials(states=(TrialState.PRUNED,))),
        resumed,
    )


def _score(
    trial: Any, problem: Scorer, learner: type[Learner], space: Mapping[str, Span], threads: int
) -> float | None:
    recipe = Recipe(learner(_suggest(trial, space)))
    values: list[float] = []
    for value in problem.scores(recipe, threads=threads):
        values.append(value)
        trial.report(fmean(values), len(values))
        if len(values) < len(problem.folds) and trial.should_prune():
            return None
    return fmean(values)


def _suggest(trial: Any, space: Mapping[str, Span]) -> dict[str, int | float]:
    return {
        name: (
            float(trial.suggest_float(name, span.low, span.high))
            if span.step is None
            else int(trial.suggest_int(name, int(span.low), int(span.high), step=span.step))
        )
        for name, span in space.items()
    }


def _open(optuna: Any, storage: Path, settings: JsonMembers) -> Any:
    # As it comes back from the file.
    settings = json.loads(json.dumps(settings))
    study = optuna.create_study(
        storage=f"sqlite:///{storage}",
        study_name=_NAME,
        direction="maximize",
        # With fewer trials behind it, a median says little.
        pruner=optuna.pruners.MedianPruner(n_startup_trials=10),
        load_if_exists=True,
    )
    before = study.user_attrs.get(_SETTINGS)
    if before is None:
        study.set_user_attr(_SETTINGS, settings)
    elif before != settings:
        names = (name for name in {**before, **settings} if before.get(name) != settings.get(name))
        changed = "; ".join(
            f"{name} was {json.dumps(before.get(name))} and is {json.dumps(settings.get(name))}"
            for name in names
        )
        raise InvalidParameter(
            f"{storage} holds another search: {changed}. Give another folder, or search with what "
            "was there",
            field="out",
        )
    return study


def _seed(seed: int, trial: int) -> int:
    return int(np.random.SeedSequence([seed, trial]).generate_state(1)[0])
