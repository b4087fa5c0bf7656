"""The line that says how far a run is."""

from io import StringIO

import pytest

from hushpoll_lab.experiments.remaining import Remaining, duration


class Terminal(StringIO):
    def isatty(self):
        return True


class Seconds:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_only_this_run_tells_the_speed():
    clock = Seconds()
    shown = Remaining(110, 90, stream=StringIO(), clock=clock)
    assert str(shown) == "90 of 110 cells"
    clock.now += 40
    shown.advance(failed=False)
    shown.advance(failed=True)
    # two cells in 40 seconds: 18 more take 360
    assert str(shown) == "92 of 110 cells, 1 failed, about 6 min 0 s left"


def test_a_terminal_has_one_line_that_is_cleared():
    stream = Terminal()
    shown = Remaining(2, 0, stream=stream, clock=Seconds())
    shown.advance(failed=False)
    shown.close()
    assert stream.getvalue() == "\r\x1b[2K1 of 2 cells, about 0 s left\r\x1b[2K"


def test_a_log_has_a_line_every_half_minute():
    clock, stream = Seconds(), StringIO()
    shown = Remaining(100, 0, stream=stream, clock=clock)
    for _ in range(65):
        clock.now += 1
        shown.advance(failed=False)
    shown.close()
    assert stream.getvalue().splitlines() == [
        "30 of 100 cells, about 1 min 10 s left",
        "60 of 100 cells, about 40 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (3660, "1 h 1 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
