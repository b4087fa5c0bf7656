"""From support counts to frequencies with standard errors and intervals (extra ``kernels``)."""

from __future__ import annotations

from importlib.util import find_spec

from hushpoll_protocols.errors import MissingExtra

if find_spec("numpy") is None:
    raise MissingExtra("kernels", "estimation")

from hushpoll_protocols.estimation.frequencies import Estimate, estimate

__all__ = ["Estimate", "estimate"]
