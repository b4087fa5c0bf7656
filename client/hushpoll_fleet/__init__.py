"""Simulated respondents: they answer like devices, misbehave on request, and are counted."""
