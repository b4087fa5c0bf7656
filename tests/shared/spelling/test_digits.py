"""An estimate has the digits that its interval supports; an end beside 1 is not rounded to it."""

import pytest

from hushpoll_shared.spelling.number_texts import decimals_of, ratio_texts, with_decimals


@pytest.mark.parametrize(
    ("error", "decimals"), [(0.021, 3), (0.7, 2), (3.1, 1), (8e-5, 6), (2400.0, 0), (0.0, 3)]
)
def test_a_standard_error_has_two_digits(error, decimals):
    assert decimals_of(error) == decimals


def test_without_a_standard_error_there_are_three_decimals_and_no_minus_zero():
    assert decimals_of(None) == decimals_of(float("inf")) == 3
    assert with_decimals(-0.0004, 3) == "0.000"
    assert with_decimals(-0.0006, 3) == "-0.001"


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        ((1.714, 1.21, 2.43), ("1.7", "1.2", "2.4")),
        ((3.79, 1.36, 10.5), ("3.8", "1.4", "10")),
        ((1.012, 1.0042, 1.0199), ("1.012", "1.004", "1.020")),
        ((1.62, 1.004, 2.6), ("1.6", "1.004", "2.6")),
        ((0.0304, None, 0.21), ("0.030", None, "0.21")),
        ((1e7, 1234.0, None), ("1e+07", "1234", None)),
        ((0.0, None, float("inf")), ("0", None, "inf")),
    ],
)
def test_ratio_has_two_digits_or_more(ratio, shown):
    assert ratio_texts(*ratio) == shown
