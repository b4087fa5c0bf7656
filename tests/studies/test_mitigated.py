"""The study of what mitigation works with, at a small size."""

from studies import mitigated
from studies.mitigated import (
    markdown,
    study_intersections,
    study_skipped,
    study_small_groups,
)


def test_numbers_are_those_of_who_answered_and_covered(monkeypatch):
    monkeypatch.setattr(mitigated, "SKIPPED_SETTINGS", mitigated.SKIPPED_SETTINGS[1:2])
    rows = list(study_skipped(40, 1))
    assert len(rows) == 4
    assert all(abs(row.error) < 5 * row.spread / 40**0.5 for row in rows)
    assert all(row.covered is None or row.covered >= 0.8 for row in rows)
    assert rows[0].alone is not None
    assert abs(rows[0].alone) > 5 * rows[0].spread / 40**0.5
    assert len(markdown(rows).splitlines()) == 2 + len(rows)


def test_shares_and_rates_of_intersections_are_right_on_average_and_covered(monkeypatch):
    monkeypatch.setattr(mitigated, "INTERSECTIONS", mitigated.INTERSECTIONS[-1:])
    rows = list(study_intersections(40, 1))
    assert len(rows) == 2
    assert all(abs(row.error) < 5 * row.spread / 40**0.5 for row in rows)
    assert all(row.covered is not None and row.covered >= 0.8 for row in rows)


def test_intervals_of_small_groups_hold_the_truth(monkeypatch):
    monkeypatch.setattr(mitigated, "SMALL_GROUPS", mitigated.SMALL_GROUPS[1:2])
    (row,) = study_small_groups(60, 1)
    assert row.covered is not None
    assert row.covered >= 0.9
