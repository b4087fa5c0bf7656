"""The study of answers about several questions at a small size."""

from studies import relations
from studies.relations import markdown, study_shares


def test_shares_and_differences_cover_where_nothing_is_rare(monkeypatch):
    monkeypatch.setattr(relations, "SHARES", relations.SHARES[3:4])
    rows = list(study_shares(40, 1))
    assert [row.answer for row in rows] == ["share in a group", "difference of two groups"]
    assert all(row.covered > 0.88 and row.unbounded == 0 for row in rows)
    assert len(markdown(rows).splitlines()) == 4
