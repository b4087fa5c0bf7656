"""Waiting for conditions and for threads; five minutes end a hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

# Ends a hang; no test depends on how fast a condition comes.
LONGEST_SECONDS = 300.0


def wait_until(condition: Callable[[], Found], *, pause: float = 0.01) -> Found:
    """Return what a condition gives once that is true; fail if it is not within five minutes."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline, "the condition did not hold within five minutes"
        time.sleep(pause)
    return found


def run_together(*actions: Callable[[], object], longest: float = LONGEST_SECONDS) -> None:
    """Run each action on a thread of its own, and return when all have ended."""
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(longest)
        assert not thread.is_alive(), "a thread did not end"
