"""The states of a survey version, as docs/data-model.md draws them, second by second."""

from __future__ import annotations

import json

import pytest

from hushpoll_server.services.surveys.surveys import State
from hushpoll_server.store.schema import metadata
from sample_survey import VERSION, make_draft

CLOSE = f"{VERSION}/close"


def takes(site, published):
    """Whether a report is taken; if not, it is refused with the state's own code."""
    answer = site.send(published)
    if answer.status_code == 201:
        return True
    before = state(site) == "scheduled"
    refusal = (403, "survey-not-open") if before else (410, "survey-closed")
    assert site.problem(answer) == (*refusal, "digest")
    assert not before or "takes reports from 2026-03-01T1" in answer.json["detail"]
    return False


def state(site):
    """What analysts are told of the newest version, which a device is told as well."""
    told = site.get("/api/v1/surveys").json["surveys"][0]["state"]
    assert site.get("/api/v1/surveys/work").headers["Survey-State"] == told
    return told


def walk(site, published, steps):
    """Advance the clock by each number of seconds, and note what the version is and does."""
    seen = []
    for seconds in steps:
        site.clock.advance(seconds)
        seen.append((state(site), takes(site, published)))
    return seen


def test_a_scheduled_version_runs_through_every_state(make_site):
    site = make_site(CLOSE_GRACE_SECONDS=100)
    published = site.publish(opens="2026-03-01T12:01:00Z", closes="2026-03-01T12:02:00Z")
    assert walk(site, published, [0, 59, 1, 59, 1, 99, 1]) == [
        ("scheduled", False),
        ("scheduled", False),
        ("open", True),
        ("open", True),
        ("closing", True),
        ("closing", True),
        ("closed", False),
    ]
    assert site.counts(published)["rejected"] == {"survey-not-open": 2, "survey-closed": 1}


@pytest.mark.parametrize(
    ("closed_after", "steps", "expected"),
    [
        # by hand before its time: its own grace counts
        (10, [0, 49, 1], ["closing", "closing", "closed"]),
        # by hand in the last minute: the announced end is not moved out
        (3590, [0, 9, 1, 40], ["closing", "closing", "closing", "closed"]),
    ],
)
def test_the_earlier_end_counts(make_site, closed_after, steps, expected):
    site = make_site(CLOSE_GRACE_SECONDS=50)
    published = site.publish(closes="2026-03-01T13:00:00Z")
    site.clock.advance(closed_after)
    assert site.post(CLOSE).json["state"] == "closing"
    found = walk(site, published, steps)
    assert found == [(one, one != "closed") for one in expected]


def test_a_version_closed_before_it_opened_never_takes_a_report(site):
    """Guards: its grace period used to take reports although it had never been open."""
    published = site.publish(opens="2026-03-01T13:00:00Z")
    answer = site.post(CLOSE, json={"grace_seconds": 600}).json
    assert answer["state"] == "closed"
    assert answer["accepts_until"] == answer["closed_at"]
    for seconds in (0, 60, 3600):
        site.clock.advance(seconds)
        assert not takes(site, published)


def test_closing_again_shortens_the_grace_and_never_lengthens_it(site, debug_log):
    """Guards: the second grace_seconds was ignored without a word, and logged as a closing."""
    published = site.publish()

    def close(**body):
        answer = site.post(CLOSE, json=body).json
        assert answer["closed_at"] == "2026-03-01T12:00:00Z"
        return answer["state"], answer["accepts_until"][-9:]

    def logged():
        found = [json.loads(one.message) for one in debug_log.records if "grace" in one.message]
        return [(one["event"], one["grace_seconds"]) for one in found]

    assert close(grace_seconds=600) == ("closing", "12:10:00Z")
    site.clock.advance(60)
    for body in ({}, {"grace_seconds": 600}, {"grace_seconds": 540}):
        assert close(**body) == ("closing", "12:10:00Z")
    assert logged() == [("closed", 600)]
    assert close(grace_seconds=120) == ("closing", "12:03:00Z")
    assert walk(site, published, [119]) == [("closing", True)]
    assert close(grace_seconds=0) == ("closed", "12:02:59Z")
    assert close(grace_seconds=600) == ("closed", "12:02:59Z")
    assert not takes(site, published)
    assert logged() == [("closed", 600), ("grace-shortened", 120), ("grace-shortened", 0)]


def test_no_version_opens_again(site):
    published = site.publish()
    site.post(CLOSE, json={"grace_seconds": 0})
    for body in ({"grace_seconds": 600}, None):
        assert site.post(CLOSE, json=body).json["state"] == "closed"
    assert site.post("/api/v1/surveys", json=make_draft()).status_code == 200  # changes nothing
    assert not takes(site, published)


def test_the_data_model_names_every_table_state_and_problem_of_a_report(root):
    """docs/data-model.md is where an auditor looks first."""
    text = (root / "docs" / "data-model.md").read_text(encoding="utf-8")
    for table in metadata.tables:
        assert f"| `{table}` |" in text
    for one in State:
        assert f"| {one} |" in text
    for code in ("survey-not-open", "survey-closed", "report-conflict", "not-enough-reports"):
        assert f"`{code}`" in text
    assert "](threat-model.md)" in text
