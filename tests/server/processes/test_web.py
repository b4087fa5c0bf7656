"""The web process, before its first question."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

from hushpoll_server.processes import children
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


def test_a_process_that_answers_collects_garbage(monkeypatch):
    """Guards: a child whose collector is off from its start, as `Child` starts it, for good."""
    said = []
    monkeypatch.setattr(os, "write", lambda descriptor, text: said.append((descriptor, text)))
    gc.disable()
    try:
        children.ready()
        assert gc.isenabled()
    finally:
        gc.enable()
    assert said == [(1, b"ready\n")]
