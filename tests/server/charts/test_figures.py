"""Figures as people read them: digits, signs, percent, points."""

from __future__ import annotations

import pytest

from hushpoll_server.charts import figures
from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (figures.percent(0.25), "25.0 %"),
        (figures.percent(-0.0001), "0.0 %"),
        (figures.percent(-0.034), "\u22123.4 %"),
        (figures.points(0.123), "+12.3"),
        (figures.points(-0.123), "\u221212.3"),
        (figures.points(0.0001), "0.0"),
        (figures.scale_figure(4.0, 4.0, 4.0, (0, 10)), "4.0"),
        (figures.level("0.95"), "95 %"),
        (figures.level(0.999), "99.9 %"),
        (figures.share_figure(0.2512, 0.2432, 0.2592), "25.1 %"),
        (figures.share_figure(0.25, 0.17, 0.34), "25 %"),
        (figures.share_figure(-0.2, -0.4, -0.1), "about 0 %"),
        (figures.share_limits(-0.1, 0.14), "0 to 14 %"),
        (figures.points_figure(-0.19, -0.32, -0.06), "\u221219 points"),
        (figures.points_figure(0.01, -0.1, 0.1), "+1 point"),
        (figures.percent_of_error(0.123), "12.3 %"),
        (figures.percent_of_error(0.00042), "0.042 %"),
        (figures.percent_of_error(0.0000042), "0.00042 %"),
        (figures.scale_figure(-0.2, -0.4, 0.1, (0, 10)), "about 0.0"),
        (figures.scale_figure(10.2, 9.9, 10.4, (0, 10)), "about 10.0"),
        (figures.points_limits(-0.32, 0.06), "\u221232 to +6"),
        (figures.scale_figure(5.71, 4.8, 6.6, (0, 10)), "5.7"),
        (figures.scale_limits(-1.0, 6.6, (0, 10)), "0.0 to 6.6"),
        (figures.cell_of_shares("-0.1000 to 0.2000", SHARES), "\u221210.0 to 20.0 %"),
        (figures.cell_of_shares("+0.1234", DIFFERENCES), "+12.3"),
        (figures.cell_of_shares("-1.5 of 10", None), "\u22121.5 of 10"),
        (figures.cell_of_shares("18-24", None), "18-24"),
        (figures.cell_of_shares("0.0000 to 0.0123", SHARES), "0.0 to 1.2 %"),
    ],
)
def test_figure_has_one_notation(told, words):
    assert told.replace("\u00a0", " ") == words


def test_an_error_below_the_digits_of_a_terminal_is_not_said_to_be_none():
    """Guards: a standard error read 0.0 %."""
    columns = ["estimate", "std. error", "95 % interval"]
    texts = ["0.2501", "0.0000", "0.2500 to 0.2502"]
    told = figures.cells_of_line(texts, columns, SHARES)
    assert told[1].replace("\u00a0", " ") == "< 0.01 %"


def test_mean_has_the_digits_with_which_its_error_has_two():
    columns = ["estimate", "std. error", "95 % interval"]
    told = figures.cells_of_line(["-1.0013", "0.0234", "-1.0470 to 0.9552"], columns, None)
    assert told == ("\u22121.001", "0.023", "\u22121.047 to 0.955")
    shares = figures.cells_of_line(["0.0013", "0.0234", "0.0000 to 0.0470"], columns, SHARES)
    assert [one.replace("\u00a0", " ") for one in shares] == ["0.13 %", "2.3 %", "0.0 to 4.7 %"]
