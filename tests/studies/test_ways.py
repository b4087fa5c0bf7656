"""The study of respondents needed, split, together and drawn: small, and as a whole."""

import pytest

from studies import ways


def test_widths_of_drawn_shares_and_follow_ups_are_as_planned(monkeypatch):
    wants = [one for one in ways.wants() if one.goal.kind == "width"]
    monkeypatch.setattr(ways, "wants", lambda: wants)
    rows = ways.run_study(surveys=2, seed=1)
    assert [row.way for row in rows] == ["split", "drawn", "split", "together", "drawn"]
    assert [row.answer for row in rows if row.way == "drawn"] == ["2 of 10", "1 of 9"]
    for row in rows:
        # two surveys of a fixed seed; widths of ratios differ by some percent between surveys
        assert row.simulated == pytest.approx(row.predicted, rel=0.25), row
    assert len(ways.markdown(rows).splitlines()) == 2 + len(rows)


@pytest.mark.slow
def test_every_way_takes_the_respondents_that_are_predicted():
    rows = ways.run_study(surveys=60, seed=2)
    assert len(rows) == 11
    for row in rows:
        if row.wanted < 0.5:
            assert row.simulated == pytest.approx(row.predicted, rel=0.03), row
        else:  # five standard errors of a power
            assert row.told == pytest.approx(0.8, abs=0.26), row
