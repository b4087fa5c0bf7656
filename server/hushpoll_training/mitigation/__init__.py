"""Mitigation of disparities between groups that are known only through perturbed records."""
