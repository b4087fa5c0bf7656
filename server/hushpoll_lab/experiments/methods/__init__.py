"""Experiments on rows in clear: methods with a curator, or with perturbed records, side by side."""
