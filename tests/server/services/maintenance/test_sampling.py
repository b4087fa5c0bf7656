"""The numbers that the database is asked for: inboxes, jobs, and how long a seal is due."""

from __future__ import annotations

import threading

from hushpoll_server.metrics import Metrics
from hushpoll_server.services.maintenance.sampling import Sampler, SealLag


def test_the_seal_lag_is_a_bound_that_seals_take_down():
    lag = SealLag()
    assert lag.look({}, 100.0) == 0
    assert lag.look({1: (5, 0)}, 110.0) == 10  # came after the look at 100
    assert lag.look({1: (9, 0)}, 120.0) == 20
    assert lag.look({1: (2, 9)}, 130.0) == 10  # sealed, and filled again since 120
    assert lag.look({1: (3, 9), 2: (1, 0)}, 140.0) == 20
    assert lag.look({2: (1, 0)}, 150.0) == 20
    assert lag.look({}, 160.0) == 0
    assert lag.look({1: (1, 12)}, 170.0) == 10


def test_an_inbox_that_was_there_before_the_first_look_is_counted_from_then():
    lag = SealLag()
    assert lag.look({1: (5, 7)}, 100.0) == 0
    assert lag.look({1: (5, 7)}, 107.0) == 7


def test_a_sampler_tells_inboxes_and_jobs_and_ends():
    metrics = Metrics()
    sampler = Sampler(
        metrics,
        waiting=lambda: {3: 4},
        counts=lambda version_id: (4, version_id),
        jobs=lambda: {"running": 2},
    )
    sampler.start()
    sampler.stop()
    lines = metrics.exposition()[0].decode().splitlines()
    assert {"hushpoll_inbox_reports 4.0", 'hushpoll_jobs{state="running"} 2.0'} <= set(lines)
    assert "hushpoll-sampler" not in {thread.name for thread in threading.enumerate()}
