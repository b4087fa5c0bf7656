"""How many connections a process may hold, by what the system gives it."""

from __future__ import annotations

import resource

import pytest

from hushpoll_server import descriptors
from hushpoll_server.descriptors import CONNECTIONS, OF_DATABASE, OTHERS, connections

RESERVE = 2 * OF_DATABASE * 10 + 32 + OTHERS
ENOUGH = CONNECTIONS + RESERVE
ENDLESS = resource.RLIM_INFINITY


class System:
    """The limits of a process that is not this one."""

    def __init__(self, soft, hard, *, refuses=False):
        self.limits, self._refuses = (soft, hard), refuses

    def getrlimit(self, kind):
        assert kind == resource.RLIMIT_NOFILE
        return self.limits

    def setrlimit(self, kind, limits):
        assert kind == resource.RLIMIT_NOFILE
        if self._refuses:
            raise ValueError("current limit exceeds maximum limit")
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "raised", "expected"),
    [
        (1024, 524_288, ENOUGH, CONNECTIONS),
        (1024, ENDLESS, ENOUGH, CONNECTIONS),
        (1024, ENOUGH - 1, ENOUGH - 1, CONNECTIONS - 1),
        (ENOUGH, ENOUGH, ENOUGH, CONNECTIONS),
        (65_536, ENDLESS, 65_536, CONNECTIONS),  # somebody has a reason
        (ENDLESS, ENDLESS, ENDLESS, CONNECTIONS),
        (256, 1024, 1024, 1024 - RESERVE),
        (128, 128, 128, 32),
        (2, 2, 2, 1),
    ],
)
def test_the_limit_is_raised_as_far_as_needed(monkeypatch, soft, hard, raised, expected):
    system = System(soft, hard)
    for name in ("getrlimit", "setrlimit"):
        monkeypatch.setattr(descriptors.resource, name, getattr(system, name))
    assert connections(pool_size=10, threads=32) == expected
    assert system.limits == (raised, hard)


def test_a_limit_that_cannot_be_raised_is_kept(monkeypatch):
    system = System(1024, ENDLESS, refuses=True)
    for name in ("getrlimit", "setrlimit"):
        monkeypatch.setattr(descriptors.resource, name, getattr(system, name))
    assert connections(pool_size=10, threads=32) == 1024 - RESERVE
