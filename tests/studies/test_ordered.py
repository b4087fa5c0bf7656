"""The study of ordered answers at a small size."""

from studies import ordered
from studies.ordered import STUDIES
from studies.relations import markdown


def test_intervals_cover_where_nothing_is_rare(monkeypatch):
    monkeypatch.setattr(ordered, "SCALES", ordered.SCALES[1:2])
    monkeypatch.setattr(ordered, "ANSWERED", ordered.ANSWERED[:1])
    monkeypatch.setattr(ordered, "GROUPED", ordered.GROUPED[1:2])
    monkeypatch.setattr(ordered, "CHANGES", ordered.CHANGES[:1])
    rows = [row for study in STUDIES.values() for row in study(25, 1)]
    covered = [row for row in rows if "squared error" not in row.answer]
    assert len(covered) == 5 + 2 + 2 + 2 + 3 + 2
    assert all(row.covered >= 0.84 and row.unbounded == 0 for row in covered)
    assert len(markdown(rows).splitlines()) == 2 + len(rows)
