"""What is said beside results about many intervals and many looks."""

from hushpoll_shared.spelling.intervals import how_to_read


def test_seventy_four_intervals_are_said_to_miss_three_point_seven_times():
    found = how_to_read(74, 0.95)
    assert "of these 74 at 95 %, 3.7 are expected to miss" in found
    assert "one look" in found
    assert "shape" not in found
    assert "shape" in how_to_read(74, 0.95, shape=True)


def test_few_intervals_at_a_high_confidence_keep_a_digit():
    assert "of these 2 at 99.9 %, 0.002 are expected to miss" in how_to_read(2, 0.999)
