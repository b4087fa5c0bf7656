"""A site with one user, who has signed in at an OpenID Connect provider on loopback."""

from __future__ import annotations

import pytest

from hushpoll_shared.spelling.clock import FixedClock
from oidc_provider import oidc_provider

ADA = "ada@example.org"
NOON = "2026-03-01T12:00:00Z"


@pytest.fixture
def clock():
    return FixedClock(NOON)


@pytest.fixture
def provider(clock):
    with oidc_provider(lambda: int(clock.now().timestamp())) as provider:
        provider.sign_in("subject-1", ADA)
        yield provider


@pytest.fixture
def site(make_site, provider, clock):
    site = make_site(clock=clock, **provider.settings)
    site.services.users.add(ADA, None, {"work": "reader"})
    return site
