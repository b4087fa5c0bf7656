"""From support counts to frequencies with standard errors and intervals (extra ``kernels``)."""

from __future__ import annotations

from hushpoll_protocols.estimation.frequencies import Estimate, estimate

__all__ = ["Estimate", "estimate"]
