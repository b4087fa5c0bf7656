"""Waiting for a condition that another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

# Ends a hang; no test depends on how fast a condition comes.
LONGEST_SECONDS = 60.0


def wait_until(condition: Callable[[], object], *, pause: float = 0.01) -> None:
    """Return once a condition holds; fail if it does not within a minute."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold within a minute"
        time.sleep(pause)
