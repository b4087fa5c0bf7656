"""The ends of the periods after which a survey releases."""

from __future__ import annotations

import pytest

from hushpoll_server.services.surveys.schedule import period_end
from hushpoll_shared.spelling.clock import parse_timestamp


def seconds(moment):
    return int(parse_timestamp(moment, field="moment").timestamp())


@pytest.mark.parametrize(
    ("release", "now", "end"),
    [
        ("daily", "2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z"),
        ("daily", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"),
        ("weekly", "2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z"),
        ("weekly", "2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("weekly", "1970-01-01T00:00:00Z", "1970-01-05T00:00:00Z"),
    ],
)
def test_period_ends_after_now(release, now, end):
    assert period_end(release, seconds(now)) == seconds(end)


@pytest.mark.parametrize("release", ["end", "immediate"])
def test_release_that_goes_by_no_period_has_no_period_end(release):
    assert period_end(release, 0) is None
