"""Means, quantiles and shares of ordered answers, their differences, and who answered."""
