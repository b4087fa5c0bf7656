"""Means, quantiles and shares of ordered answers, and shares among those who answered."""
