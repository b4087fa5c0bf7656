"""What metrics learn of each durable transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from hushpoll_server.metrics import Metrics
from hushpoll_server.store.reports import Outcome

_Upload = TypeVar("_Upload")
_Commit = Callable[[Sequence[_Upload]], Sequence[Sequence[Outcome] | None]]


def measured(commit: _Commit[_Upload], metrics: Metrics) -> _Commit[_Upload]:
    """Return `commit` such that metrics are told of every group it has stored.

    What was not accepted is counted where it is tallied; see ``TallyStore``.
    """

    def measure(uploads: Sequence[_Upload]) -> Sequence[Sequence[Outcome] | None]:
        started = time.perf_counter()
        outcomes = commit(uploads)
        known = [one for one in outcomes if one is not None]
        metrics.committed(sum(map(len, known)), time.perf_counter() - started)
        accepted = sum(one.count(Outcome.ACCEPTED) for one in known)
        if accepted:
            metrics.reports(Outcome.ACCEPTED.value, accepted)
        return outcomes

    return measure
