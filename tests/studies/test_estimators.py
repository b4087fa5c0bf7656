"""The comparison of estimators at a small size: shrinking pays where noise is large."""

import pytest

from studies.estimators import OF_RECORDS, OURS, POPULATIONS, markdown, run_study


@pytest.fixture(scope="module")
def rows():
    return run_study(surveys=6, protocols=["GRR", "RAPPOR"], epsilons=["0.5", "4"])


def test_shrunk_has_hardly_more_error_than_others_that_know_as_much_in_any_shape(rows):
    """Likelihood knows the records of RAPPOR, and not only the counts, as shrunk does; of GRR both
    say the same. Ten percent are for the few surveys here."""
    assert {row.population for row in rows} == set(POPULATIONS)
    for row in rows:
        names = ("unbiased", "projected", *(("likelihood",) if row.protocol == "GRR" else ()))
        others = [row.ratios[name] for name in names]
        assert row.ratios["shrunk"] <= 1.1 * min(others), row


def test_every_cell_is_a_row_with_each_of_our_estimators(rows):
    assert len(rows) == 4 * len(POPULATIONS)
    assert all(set(row.ratios) == {*OURS, *OF_RECORDS} for row in rows)
    assert "Reached in" in markdown(rows).splitlines()[-1]


def test_shrunk_is_nearer_than_the_best_of_the_others_where_noise_hides_the_shares(rows):
    noisy = [row for row in rows if row.epsilon == "0.5" and row.population in ("uniform", "Zipf")]
    assert all(row.ratios["shrunk"] < row.ratios["projected"] for row in noisy)
    assert all(row.ratios["shrunk"] < 1 for row in noisy)
