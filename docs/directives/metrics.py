"""The table of the server's metrics, as the server explains them to Prometheus."""

from __future__ import annotations

import re

from directives.markdown import table
from hushpoll_server.metrics import Metrics

_EXPLAINED = re.compile(r"^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$", re.MULTILINE)


def text() -> str:
    """Return the table of all metrics, by name, but for when the library began to count each."""
    shown = Metrics().exposition()[0].decode()
    return table(
        ("metric", "kind", ""),
        sorted(
            (f"`{name}`", kind, words)
            for name, words, kind in _EXPLAINED.findall(shown)
            if not name.endswith("_created")
        ),
    )
