"""The search: within its space, the same whatever is killed, pruned, and of one setting."""

from dataclasses import dataclass

import optuna
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.learner import Span
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.tuning.study import tune

SETTINGS = {"data": "abc", "seed": 5}
OPTIMUM = 0.12


@dataclass
class Bowl:
    """A problem with a known optimum at learning rate 0.12, and no model to fit."""

    seed: int = 5
    folds: tuple = (0, 1, 2)
    fail_at: int = -1
    asked: int = 0

    def scores(self, recipe, *, threads=1):
        if self.asked == self.fail_at:
            raise KeyboardInterrupt
        self.asked += 1
        for _ in self.folds:
            yield 1 - abs(recipe.learner.parameters["learning_rate"] - OPTIMUM)


def history(path):
    study = optuna.load_study(study_name="hushpoll", storage=f"sqlite:///{path}")
    finished = [one for one in study.get_trials() if one.state.name in {"COMPLETE", "PRUNED"}]
    return [(one.params, one.state.name) for one in finished], study


def test_the_space_is_the_papers():
    assert LightGBM.space["max_depth"] == (3, 50, 1)
    assert LightGBM.space["n_estimators"] == (50, 2000, 50)
    assert LightGBM.space["learning_rate"] == (0.01, 0.25, None)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A search of 30 trials: how it ended, its trials, and what it counted."""
    path, seen = tmp_path_factory.mktemp("searched") / "s.sqlite", []
    found = tune(Bowl(), path, SETTINGS, trials=30, on_trial=seen.append)
    return found, *history(path), seen


def test_it_finds_the_optimum_and_stays_in_the_space(searched):
    found, trials, _, seen = searched
    assert found.parameters["learning_rate"] == pytest.approx(OPTIMUM, abs=0.02)
    assert found.score == pytest.approx(1 - abs(found.parameters["learning_rate"] - OPTIMUM))
    assert (found.trials, found.resumed) == (30, 0)
    assert seen == list(range(31))
    assert len(trials) == 30
    for parameters, _ in trials:
        assert 3 <= parameters["max_depth"] <= 50
        assert parameters["n_estimators"] in range(50, 2001, 50)
        assert 0.01 <= parameters["learning_rate"] <= 0.25
    assert len({one["learning_rate"] for one, _ in trials}) == 30


def test_bad_trials_are_pruned_after_the_first_ten(searched):
    found, trials, study, _ = searched
    assert found.pruned == sum(state == "PRUNED" for _, state in trials) > 0
    assert all(state == "COMPLETE" for _, state in trials[:10])
    pruned = [one for one in study.get_trials() if one.state.name == "PRUNED"]
    # given up before the last fold, and worse than the best
    assert all(max(one.intermediate_values) < 3 for one in pruned)
    assert all(one.value < found.score for one in pruned)


def test_stopped_and_resumed_it_is_the_same_search(tmp_path):
    whole = tune(Bowl(), tmp_path / "whole.sqlite", SETTINGS, trials=16)
    path = tmp_path / "parts.sqlite"
    with pytest.raises(KeyboardInterrupt):
        tune(Bowl(fail_at=7), path, SETTINGS, trials=16)
    # a process that is killed leaves a trial that seems to run
    optuna.load_study(study_name="hushpoll", storage=f"sqlite:///{path}").ask()
    again = tune(Bowl(), path, SETTINGS, trials=16)
    assert again.resumed == 7
    assert history(path)[0] == history(tmp_path / "whole.sqlite")[0]
    assert (again.parameters, again.score) == (whole.parameters, whole.score)
    states = [one.state.name for one in history(path)[1].get_trials()]
    assert states.count("FAIL") == 2
    assert "RUNNING" not in states


def test_what_is_finished_already_is_not_done_again(tmp_path):
    path = tmp_path / "s.sqlite"
    first = tune(Bowl(), path, SETTINGS, trials=6)
    bowl = Bowl()
    again = tune(bowl, path, SETTINGS, trials=4)
    assert bowl.asked == 0
    assert (again.trials, again.resumed, again.score) == (6, 6, first.score)


def test_a_study_of_other_settings_is_refused_with_the_difference(tmp_path):
    path = tmp_path / "s.sqlite"
    tune(Bowl(), path, SETTINGS, trials=1)
    with pytest.raises(InvalidParameter, match='data was "abc" and is "abd"') as caught:
        tune(Bowl(), path, SETTINGS | {"data": "abd"}, trials=2)
    assert caught.value.field == "out"
    narrow = dict(LightGBM.space) | {"max_depth": Span(3, 9, 1)}
    with pytest.raises(InvalidParameter, match="space was"):
        tune(Bowl(), path, SETTINGS, trials=2, space=narrow)
    assert len(history(path)[0]) == 1


def test_no_trials_at_all_are_refused(tmp_path):
    with pytest.raises(InvalidParameter, match="trials is 0; it must be at least 1"):
        tune(Bowl(), tmp_path / "s.sqlite", SETTINGS, trials=0)
    assert not (tmp_path / "s.sqlite").exists()
