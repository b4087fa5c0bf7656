from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.clock import (
    Clock,
    FixedClock,
    SystemClock,
    format_timestamp,
    parse_timestamp,
)


def test_a_timestamp_is_utc_to_the_second() -> None:
    moment = parse_timestamp("2026-01-31T09:00:00Z", field="opens")
    assert moment == datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert format_timestamp(moment) == "2026-01-31T09:00:00Z"
    assert format_timestamp(datetime(7, 1, 2, tzinfo=UTC)) == "0007-01-02T00:00:00Z"


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-31",
        "2026-01-31T09:00:00",
        "2026-01-31T09:00:00+00:00",
        "2026-01-31 09:00:00Z",
        "2026-01-31T09:00:00.5Z",
        "2026-02-30T09:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T09:00:60Z",
        "0000-01-01T00:00:00Z",
        "２026-01-31T09:00:00Z",
        "2026-01-31T09:00:00Z\n",
        1769850000,
        None,
        datetime(2026, 1, 31, tzinfo=UTC),
    ],
)
def test_other_timestamps_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="YYYY-MM-DDTHH:MM:SSZ") as caught:
        parse_timestamp(value, field="closes")
    assert caught.value.field == "closes"


def test_fixed_clock_moves_only_by_advance() -> None:
    clock: Clock = FixedClock("2026-01-31T09:00:00Z")
    assert clock.now() == clock.now() == datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert isinstance(clock, FixedClock)
    clock.advance(90)
    assert format_timestamp(clock.now()) == "2026-01-31T09:01:30Z"
    east = timezone(timedelta(hours=2))
    assert FixedClock(datetime(2026, 1, 31, 11, tzinfo=east)).now().hour == 9


def test_a_fixed_clock_refuses_a_time_without_a_zone() -> None:
    with pytest.raises(InvalidParameter, match="time zone") as caught:
        FixedClock(datetime(2026, 1, 31))
    assert caught.value.field == "moment"


def test_the_system_clock_tells_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert now.utcoffset() == timedelta(0)
    assert before - timedelta(minutes=1) < now < datetime.now(UTC) + timedelta(minutes=1)
