"""No exchange of these tests is given up because the machine is busy."""

from __future__ import annotations

import pytest

from waiting import LONGEST_SECONDS


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short `flush` gives its exchange a second, which a busy machine may need for itself."""
    monkeypatch.setattr("hushpoll_client.device.device._SHORTEST_FLUSH_SECONDS", LONGEST_SECONDS)
