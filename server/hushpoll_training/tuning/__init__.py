"""Tuning: the learner's parameters, searched on folds of the training rows."""

from hushpoll_training.tuning.folds import SCORES, Problem, make_problem
from hushpoll_training.tuning.space import SPACE, Span
from hushpoll_training.tuning.study import TRIALS, Tuned, tune

__all__ = ["SCORES", "SPACE", "TRIALS", "Problem", "Span", "Tuned", "make_problem", "tune"]
