"""How the server does, over HTTP and on the dashboard's page."""

from __future__ import annotations

import json
import time

import pytest

from hushpoll_server.services.maintenance.operations import LEAST_RATE_SECONDS, RATE_SECONDS

OPERATIONS = "/api/v1/operations"


def look(site):
    answer = site.get(OPERATIONS)
    assert answer.status_code == 200, answer.json
    return answer.json


def test_numbers_are_of_all_surveys_together(site):
    for name in ("work", "home"):
        published = site.publish(name=name, release="daily")
        site.fill(published, 30)
    site.seal("home")
    site.fill(published, 5)
    numbers = look(site)
    assert (numbers["reports_waiting"], numbers["reports_sealed"]) == (35, 30)
    assert numbers["database_bytes"] > 10_000
    assert numbers["overdue_versions"] == 0
    assert "queue_reports" not in numbers
    assert set(numbers["jobs"].values()) == {0}
    # A survey that releases daily shows nothing of itself here.
    assert not {"work", "home"} & set(json.dumps(numbers).split('"'))


@pytest.mark.sqlite
def test_disk_of_a_database_file_is_seen(site):
    numbers = look(site)
    assert numbers["database"] == "sqlite"
    assert 0 < numbers["disk_free_bytes"] <= numbers["disk_bytes"]


@pytest.mark.sqlite
def test_rate_is_of_the_reports_since_the_first_look_of_a_minute(site, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    published = site.publish()
    site.fill(published, 10)
    assert "reports_per_second" not in look(site)
    now[0] += LEAST_RATE_SECONDS / 2
    assert "reports_per_second" not in look(site)
    site.fill(published, 30)
    now[0] += 3 - LEAST_RATE_SECONDS / 2
    numbers = look(site)
    assert (numbers["reports_per_second"], numbers["measured_seconds"]) == (10.0, 3.0)
    # Sealing moves reports and makes none.
    site.seal()
    now[0] += 57
    assert look(site)["reports_per_second"] == pytest.approx(30 / 60)
    now[0] += RATE_SECONDS
    assert look(site)["reports_per_second"] == 0


@pytest.mark.sqlite
def test_queue_is_known_where_metrics_are_on(make_site):
    site = make_site(METRICS_TOKEN="secret-of-metrics")
    assert look(site)["queue_reports"] == 0
    site.services.metrics.queue(7)
    assert look(site)["queue_reports"] == 7
