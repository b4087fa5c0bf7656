"""Tuning: the learner's parameters, searched on folds of the training rows."""
