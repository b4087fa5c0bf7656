"""What the process that takes reports hands on to the web process."""

from __future__ import annotations

import pytest

from hushpoll_server.ingest.forwarding import share_of_web
from hushpoll_server.settings import Settings


@pytest.mark.parametrize(
    ("threads", "waiting", "workers", "share"),
    [(32, 256, 1, 288), (32, 256, 4, 72), (32, 256, 5, 57), (1, 0, 8, 1)],
)
def test_workers_share_the_requests_that_the_web_process_takes(threads, waiting, workers, share):
    """Guards: each worker could ask for all of them, and the web process kept them waiting."""
    settings = Settings(threads=threads, queue_requests=waiting, workers=workers)
    assert share_of_web(settings) == share
