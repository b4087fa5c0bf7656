"""The peers: the row-by-row way of the paper's code, as the reference engine runs it."""

from __future__ import annotations

from hushpoll_lab.experiments.reference import encoder

__all__ = ["encoder"]
