"""The study of tests of independence with rare answers, at a small size."""

from studies import rare_answers
from studies.rare_answers import markdown, study_discoveries, study_power, study_sizes


def test_sizes_hold_where_the_chi_square_distribution_rejects_too_often(monkeypatch):
    monkeypatch.setattr(rare_answers, "SIZES", rare_answers.SIZES[:1])
    (row,) = study_sizes(60, 1)
    assert row.holds
    assert row.drawn == 1
    assert row.by_chi_square[1] > 0.03 >= row.rejected[1]


def test_power_is_that_of_the_chi_square_distribution_where_it_holds(monkeypatch):
    monkeypatch.setattr(rare_answers, "POWERS", rare_answers.POWERS[1:2])
    (row,) = study_power(30, 1)
    assert not row.level
    assert abs(row.rejected[0] - row.by_chi_square[0]) < 0.15


def test_few_surveys_of_independent_attributes_have_a_discovery():
    (row,) = study_discoveries(10, 1)
    assert row.rejected[0] <= 0.1
    assert markdown([row]).splitlines()[-1] == "No size above its level by 2 errors: 1 of 1."
