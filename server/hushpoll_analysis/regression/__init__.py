"""Regression with randomised answers: which answers depend on which, other things equal."""
