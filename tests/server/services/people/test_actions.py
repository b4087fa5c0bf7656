"""The action log and the tables of people, on both databases."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from sqlalchemy.exc import IntegrityError

from sample_survey import VERSION


def acts(site):
    return [(line.actor.partition(":")[0], line.act) for line in site.services.actions.newest(100)]


def test_log_names_who_looked_at_exported_and_deleted(site):
    published = site.publish()
    site.fill(published, 5)
    for _ in range(3):
        site.get(f"{VERSION}/estimates")
    site.get(f"{VERSION}/records")
    site.close()
    site.delete_records()
    assert acts(site)[::-1] == [
        ("token", "published"),
        ("token", "looked-at-estimates"),
        ("token", "exported"),
        ("token", "closed"),
        ("token", "deleted-records"),
    ]
    line = site.services.actions.newest(1)[0]
    assert (line.survey, line.version) == ("work", 1)
    assert line.actor.removeprefix("token:") in site.admin["Authorization"]


def test_look_is_written_again_after_ten_minutes(site):
    published = site.publish()
    site.fill(published, 5)
    for _ in range(2):
        site.get(f"{VERSION}/estimates")
        site.get(f"{VERSION}/estimates")
        site.clock.advance(600)
    assert acts(site).count(("token", "looked-at-estimates")) == 2


def test_refused_look_is_not_written(site):
    site.publish()
    assert site.get(f"{VERSION}/estimates").status_code == 409
    assert ("token", "looked-at-estimates") not in acts(site)


def test_reports_leave_no_line(site):
    published = site.publish()
    before = acts(site)
    site.send(published)
    site.fill(published, 5)
    assert acts(site) == before


@pytest.mark.parametrize(
    "statement", ["DELETE FROM actions", "UPDATE actions SET actor = 'nobody'"]
)
def test_line_cannot_be_changed_or_deleted(site, statement):
    site.publish()
    before = site.services.actions.newest(10)
    # PostgreSQL does nothing, SQLite says why.
    sqlite = site.services.database.engine.dialect.name == "sqlite"
    refusing = pytest.raises(IntegrityError, match="append-only") if sqlite else nullcontext()
    with refusing:
        site.execute(statement)
    assert before
    assert site.services.actions.newest(10) == before
