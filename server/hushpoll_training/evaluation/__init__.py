"""Utility and group fairness of a model on clear rows."""
