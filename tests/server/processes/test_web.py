"""The web process, before its first question."""

from __future__ import annotations

import subprocess
import sys

from waiting import LONGEST_SECONDS


def test_what_is_loaded_is_out_of_full_passes_of_the_collector():
    """Of a process of its own: nothing else may be frozen."""
    program = (
        "import gc\n"
        "from hushpoll_server.processes.web import settle\n"
        "loaded = len(gc.get_objects())\n"
        "settle()\n"
        "print(gc.get_freeze_count() > 0.9 * loaded, len(gc.get_objects()) < 0.1 * loaded)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.stdout.split() == ["True", "True"]
