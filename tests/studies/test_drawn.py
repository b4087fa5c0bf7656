"""The study of statistics of draws, numbers and select-alls: small, and as a whole."""

import pytest

from studies import drawn

FEW = 400
"""Respondents of a small survey."""


def test_intervals_of_draws_numbers_and_select_alls_cover(monkeypatch):
    everybody = drawn.population(n=20_000)
    monkeypatch.setattr(drawn, "population", lambda: everybody)
    monkeypatch.setattr(drawn, "PEOPLE", 20_000)
    rows = drawn.run_study(2, 3, protocols=["SS"], n=FEW)
    assert [row.statistic for row in rows] == list(drawn.STATISTICS)
    # few surveys: a wrong law misses far more often, and the seed is fixed
    assert sum(row.covered for row in rows) / len(rows) > 0.9
    assert drawn.markdown(rows).count("\n") == len(drawn.STATISTICS) + 2


@pytest.mark.slow
@pytest.mark.parametrize("protocol", drawn.PROTOCOLS)
def test_coverage_of_draws_numbers_and_select_alls_is_what_is_said(protocol):
    surveys = 300
    rows = drawn.run_study(surveys, 5, protocols=[protocol])
    for row in rows:
        # Intervals of a survey go together, so the errors are those of a single one: 1.3 %.
        assert row.covered > 0.93 - 3 * 0.013, row
    assert 0.94 <= sum(row.covered for row in rows) / len(rows) <= 0.97
