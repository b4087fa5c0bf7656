"""The test of report shape over HTTP: a worker finds what the function finds, and tells no row."""

import json
import shutil

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.poisoning.report_shape import ALPHA, report_shape
from hushpoll_protocols.kernels import perturb
from hushpoll_server.jobs.kinds import shape
from hushpoll_server.jobs.runner import Runner
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.reports import Report

VERSION = "/api/v1/surveys/work/versions/1"


def records_of(published, n, seed, fakes=0):
    """Records of devices, and then of fakes that support their first category alone."""
    rng = np.random.default_rng(seed)
    columns = []
    for one in published.attributes:
        codes = rng.integers(0, one.k, n)
        if one.oracle is None:
            columns.append(codes[:, None].astype(np.uint8))
            continue
        part = perturb(one.oracle, codes, rng)
        if one.oracle.name == "OUE":
            part[n - fakes :] = 0
            part[n - fakes :, 0] = 1
        columns.append(part)
    return np.hstack(columns)


def send(site, published, records, seed):
    rng = np.random.default_rng(seed)
    reports = [Report(rng.bytes(16), row.tobytes()) for row in records]
    answer = site.send_batch("work", wire.pack_reports(published.digest, reports))
    assert answer.json["accepted"] == len(records), answer.json


def shape_of(site, **body):
    answer = site.post(f"{VERSION}/jobs/shape", json=body)
    assert answer.status_code == 202, answer.json
    Runner(site.services).run_waiting()
    result = site.get(f"/api/v1/jobs/{answer.json['id']}/result")
    return json.loads(result.data)


@pytest.fixture
def database_url(tmp_path, migrated):
    """SQLite alone: the test reads records, and where they were makes no difference to it."""
    path = tmp_path / "hushpoll.sqlite"
    shutil.copy(migrated, path)
    return f"sqlite:///{path}"


@pytest.fixture
def published(site):
    return site.publish(protocol="OUE", epsilon="3")


@pytest.mark.parametrize("fakes", [0, 60])
def test_the_job_finds_what_the_function_finds(site, published, fakes):
    records = records_of(published, 600, 5, fakes)
    send(site, published, records, 5)
    found = shape_of(site)
    assert found["survey"] == {"name": "work", "version": 1, "digest": published.digest}
    assert (found["kind"], found["pending"]) == ("report shape", 0)
    expected = report_shape(Records(published, records)).to_dict()
    assert {name: found[name] for name in expected} == expected
    assert found["flagged"] is bool(fakes)
    assert (found["n"], found["alpha"]) == (600, ALPHA)
    # counts and p-values; nothing as long as what a person sent
    assert not any(record.tobytes().hex() in json.dumps(found) for record in records)


def test_the_level_is_the_caller_s(site, published):
    send(site, published, records_of(published, 300, 8), 8)
    cautious, eager = (shape_of(site, alpha=alpha) for alpha in (1e-9, 0.5))
    assert cautious["p_value"] == eager["p_value"]
    assert not cautious["flagged"]
    assert eager["flagged"] is (eager["p_value"] <= 0.5)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"alpha": 0}, "alpha"), ({"alpha": 0.6}, "alpha"), ({"level": 0.1}, "level")],
)
def test_what_cannot_be_done_is_refused_at_once(site, published, body, field):
    send(site, published, records_of(published, 20, 1), 1)
    answer = site.post(f"{VERSION}/jobs/shape", json=body)
    assert site.problem(answer) == (422, "invalid-request", field)


def test_nothing_is_told_of_fewer_than_a_minimum_batch(site):
    published = site.publish(minimum_batch=50)
    send(site, published, records_of(published, 49, 1), 1)
    answer = site.post(f"{VERSION}/jobs/shape", json={})
    assert site.problem(answer)[:2] == (409, "not-enough-reports")


def test_honest_surveys_are_flagged_no_more_often_than_promised(site):
    """60 surveys at a level of 1 %: more than 4 alarms would happen in 1 of 2,600 such tests."""
    alarms = 0
    for number in range(60):
        published = site.publish(name=f"survey-{number}", protocol="OUE", epsilon="3")
        records = records_of(published, 120, number)
        rng = np.random.default_rng(number)
        reports = [Report(rng.bytes(16), row.tobytes()) for row in records]
        site.send_batch(published.name, wire.pack_reports(published.digest, reports))
        parts = site.services
        row = parts.surveys.version(published.name, 1)
        alarms += json.loads(next(shape(parts, row, {}).blocks))["flagged"]
    assert alarms <= 4
