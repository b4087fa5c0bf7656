"""Estimates with intervals: frequencies and cross-tables."""
