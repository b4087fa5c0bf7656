"""The services of a site whose passwords are hashed at little cost."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher


@pytest.fixture(autouse=True)
def cheap_hash(monkeypatch):
    """A hash that costs little: the costs of argon2 are the library's to test."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr("hushpoll_server.services.people.users.PasswordHasher", lambda: cheap)


@pytest.fixture
def people(site):
    return site.services
