"""Shares of the population from a sample with weights, strata and known margins."""
