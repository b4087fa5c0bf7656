from __future__ import annotations

import pytest

from hushpoll_client.config import ClientConfig
from hushpoll_client.delivery.retry import Pacing, with_retries
from hushpoll_protocols.errors import TransportError


def failing(times: int, *, retryable: bool = True, wait: float | None = None):
    calls = []

    def call(hint):
        calls.append(hint)
        if len(calls) <= times:
            hint.seconds = wait
            raise TransportError("down", retryable=retryable, status=503, problem={"a": 1})
        return "done"

    return call, calls


def run(call, fake_time, **config):
    return with_retries(
        call, config=ClientConfig(**config), pacing=fake_time.pacing(), what="POST /reports"
    )


@pytest.mark.parametrize(
    ("share", "waits"),
    [(0.0, [1, 2, 4, 8, 15, 15]), (1.0, [2, 4, 8, 16, 30, 30]), (0.5, [1.5, 3, 6, 12, 22.5, 22.5])],
)
def test_waits_double_from_1_to_30_seconds_with_jitter(fake_time, share, waits):
    fake_time.share = share
    call, calls = failing(6)
    assert run(call, fake_time) == "done"
    assert fake_time.slept == waits
    assert len(calls) == 7


def test_the_default_jitter_stays_within_its_bounds():
    pacing, config = Pacing(), ClientConfig()
    drawn = [pacing.delay(config, attempt) for attempt in range(2000)]
    assert all(1 <= seconds <= 30 for seconds in drawn)
    assert len(set(drawn)) > 1900


def test_retry_after_is_a_lower_limit(fake_time):
    call, _ = failing(1, wait=20.0)
    run(call, fake_time)
    call, _ = failing(1, wait=0.2)
    run(call, fake_time)
    assert fake_time.slept == [20.0, 1.0]


def test_a_terminal_failure_is_not_retried(fake_time):
    call, calls = failing(9, retryable=False)
    with pytest.raises(TransportError, match=r"^down$") as caught:
        run(call, fake_time)
    assert not caught.value.retryable
    assert (len(calls), fake_time.slept) == (1, [])


def test_attempts_are_limited_and_counted(fake_time):
    call, calls = failing(9)
    with pytest.raises(TransportError, match=r"3 times in 3 s\): down; try again in 4 s") as caught:
        run(call, fake_time, attempts=3)
    assert (len(calls), fake_time.slept) == (3, [1, 2])
    assert caught.value.retryable
    assert (caught.value.status, caught.value.problem) == (503, {"a": 1})


def test_patience_ends_attempts_before_a_wait_that_would_pass_it(fake_time):
    call, calls = failing(9, wait=3600.0)
    with pytest.raises(TransportError, match=r"failed \(once\).*try again in 3600 s"):
        run(call, fake_time)
    assert (len(calls), fake_time.slept) == (1, [])


def test_no_delay_at_all_is_possible(fake_time):
    call, _ = failing(3)
    run(call, fake_time, first_delay=0, longest_delay=0)
    assert fake_time.slept == [0, 0, 0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 120 ", 120.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:50 -0000", 30.0),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("١٢", None),
        ("9" * 400, 999_999_999_999.0),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(fake_time, header, seconds):
    assert fake_time.pacing().retry_after(header) == seconds
