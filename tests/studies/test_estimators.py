"""The comparison of estimators at a small size: shrinking pays where noise is large."""

import pytest

from studies.estimators import OF_RECORDS, OURS, markdown, run_study


@pytest.fixture(scope="module")
def rows():
    return run_study(surveys=6, protocols=["GRR", "RAPPOR"], epsilons=["0.5", "4"])


def test_every_cell_is_a_row_with_each_of_our_estimators(rows):
    assert len(rows) == 8
    assert all(set(row.ratios) == {*OURS, *OF_RECORDS} for row in rows)
    assert "Reached in" in markdown(rows).splitlines()[-1]


def test_shrunk_is_nearer_than_the_best_of_the_others_where_noise_hides_the_shares(rows):
    noisy = [row for row in rows if row.epsilon == "0.5"]
    assert all(row.ratios["shrunk"] < row.ratios["projected"] for row in noisy)
    assert all(row.ratios["shrunk"] < 1 for row in noisy)
