"""The study of what thresholds leave, at a small size."""

from studies.left_over import SEED, SETTINGS, markdown, row_of


def test_mean_size_of_what_is_left_is_larger_in_a_small_group_behind_noise():
    in_clear, behind = (row_of(number, SETTINGS[number], 4, SEED) for number in (0, 5))
    assert SETTINGS[0][0] is None
    assert SETTINGS[5][:3] == ("OUE", "1", 0.1)
    assert min(in_clear.before, behind.before) > 0.15
    assert abs(in_clear.mean) <= in_clear.size < behind.size
    assert len(markdown([in_clear, behind]).splitlines()) == 4
