"""Moves the clock of a server: its processes find this module, and are ahead by a file's seconds.

Tests that hold a server in their own process give it a `FixedClock`; the processes of ``hushpoll
serve`` take their time from `SystemClock`.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hushpoll_shared.spelling.clock import SystemClock

_ahead = Path(os.environ["SOAK_AHEAD"])


def _now(_clock: SystemClock) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=float(_ahead.read_text()))


SystemClock.now = _now
