"""The study of estimates at a small size: what it says is told apart from the raw estimator."""

import pytest

from studies import estimates
from studies.estimates import markdown, run_study


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimates, "CELLS", estimates.CELLS[-2:])
        study = run_study(surveys=120)
    return {(row.setting, row.estimator): row for row in study}


def test_every_setting_is_shown_before_and_after(rows):
    assert {estimator for _, estimator in rows} == {"raw", "weighted"}
    assert len(rows) == 2 * (len(estimates.SINGLE) + 2)
    assert len(markdown(list(rows.values())).splitlines()) == len(rows) + 2


def test_a_yes_or_no_question_has_about_half_the_variance(rows):
    before, after = (
        rows["OUE, k = 2, ε = 1, n = 2,000, share 0.3", name] for name in ("raw", "weighted")
    )
    # the ratio of two standard deviations of the same 120 surveys
    assert after.deviation / before.deviation < 0.85


def test_weighted_estimates_cover_everywhere(rows):
    for (_, estimator), row in rows.items():
        if estimator == "weighted":
            assert row.covered > 0.95 - 4.5 * (0.95 * 0.05 / 120) ** 0.5
