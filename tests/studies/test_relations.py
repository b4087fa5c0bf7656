"""The study of answers about several questions at a small size."""

from studies import relations
from studies.relations import markdown, study_dependencies, study_shares


def test_shares_and_differences_cover_where_nothing_is_rare(monkeypatch):
    monkeypatch.setattr(relations, "SHARES", relations.SHARES[3:4])
    rows = list(study_shares(40, 1))
    assert [row.answer for row in rows] == ["share in a group", "difference of two groups"]
    assert all(row.covered > 0.88 and row.unbounded == 0 for row in rows)
    assert len(markdown(rows).splitlines()) == 4


def test_few_of_the_pairs_that_are_called_dependent_are_not():
    false, found = study_dependencies(20, 1)
    assert false.covered <= 0.1
    assert found.covered >= 0.9
