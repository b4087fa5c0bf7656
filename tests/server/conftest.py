"""A server on a temporary database, with a clock that stands still.

Whatever asks for ``site``, ``make_site`` or ``database_url`` runs twice: on an SQLite file and on a
real PostgreSQL. What is about one of them alone says so with
``pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)``.
"""

from __future__ import annotations

import copy
import logging
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from asgi_client import AsgiClient, LoopThread
from hushpoll_protocols import SecureBits
from hushpoll_server import create_asgi
from hushpoll_server.asgi import Whole
from hushpoll_server.services.services import Services
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from postgres import SHARED, TEMPLATE, PostgreSQL

NOON = "2026-03-01T12:00:00Z"

DRAFT: dict[str, Any] = {
    "name": "work",
    "version": 1,
    "title": "Work and health",
    "epsilon": "4",
    "protocol": "GRR",
    "minimum_batch": 3,
    "release": "immediate",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {
            "name": "age",
            "role": "sensitive",
            "protocol": "OUE",
            "categories": [f"{low}s" for low in range(10, 80, 10)],
            "missing": "none of yours",
        },
        {"name": "country", "role": "sensitive", "protocol": "SS", "range": [1, 5]},
        {"name": "education", "role": "plain", "categories": ["low", "middle", "high"]},
        {"name": "income", "role": "target", "categories": ["poor", "rich"], "positive": "rich"},
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
}
ANSWERS = {
    "gender": "Male",
    "age": "30s",
    "country": "4",
    "education": "high",
    "income": "rich",
}


def draft(**changes: Any) -> dict[str, Any]:
    """A valid manifest with changes at its top level."""
    return {**copy.deepcopy(DRAFT), **changes}


@dataclass
class Site:
    """One running application and what tests do to it."""

    whole: Whole
    clock: FixedClock
    loop: LoopThread
    app: Flask = field(init=False)
    services: Services = field(init=False)
    admin: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.app = self.whole.flask
        self.services = self.whole.services
        token = self.services.access.first_admin() or self.services.access.issue(["admin"]).token
        self.admin = {"Authorization": f"Bearer {token}"}

    def client(self) -> AsgiClient:
        """A client of the whole, devices' routes and all others."""
        return AsgiClient(self.whole, self.loop)

    def stop_taking(self) -> None:
        """Store what was submitted, and end the thread that stores."""
        self.loop.run(self.whole.commit.stop())

    def stop(self) -> None:
        self.loop.run(self.whole.stop())
        self.services.stop()

    def get(self, path: str, **options: Any) -> TestResponse:
        options.setdefault("headers", self.admin)
        return self.client().get(path, **options)

    def post(self, path: str, **options: Any) -> TestResponse:
        options.setdefault("headers", self.admin)
        return self.client().post(path, **options)

    def publish(self, *, allow_weak: bool = False, **changes: Any) -> Published:
        query = "?allow_weak=true" if allow_weak else ""
        answer = self.post(f"/api/v1/surveys{query}", json=draft(**changes))
        assert answer.status_code == 201, answer.json
        return Published.from_json(answer.json["manifest"])

    def send(self, name: str, body: Any, token: str | None = None) -> TestResponse:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.post(f"/api/v1/surveys/{name}/reports", json=body, headers=headers)

    def send_batch(self, name: str, body: bytes, **options: Any) -> TestResponse:
        path = f"/api/v1/surveys/{name}/reports"
        return self.post(path, data=body, content_type=wire.REPORTS_MEDIA_TYPE, **options)

    def fill(self, published: Published, count: int) -> list[wire.Report]:
        """Take `count` reports as one batch."""
        reports = [new_report(published) for _ in range(count)]
        answer = self.send_batch(published.name, wire.pack_reports(published.digest, reports))
        assert answer.json == {"accepted": count, "duplicate": 0, "rejected": []}
        return reports

    def counts(self, published: Published) -> dict[str, Any]:
        path = f"/api/v1/surveys/{published.name}/versions/{published.version}/counts"
        answer = self.get(path)
        assert answer.status_code == 200
        return answer.json

    def problem(self, answer: TestResponse) -> tuple[int, str, str | None]:
        """Status, code and field of a problem, which must carry the rest as well."""
        assert answer.mimetype == "application/problem+json", answer.data
        body = answer.json
        assert body["type"] == f"urn:hushpoll:problem:{body['code']}"
        assert body["status"] == answer.status_code
        assert body["title"]
        assert body["detail"]
        assert body["remedy"]
        return answer.status_code, body["code"], body.get("field")


def new_report(published: Published, **changes: str | None) -> wire.Report:
    """A report of one respondent, with changed answers."""
    codes = published.layout.code_answers({**ANSWERS, **changes})
    return wire.Report(wire.new_report_id(), published.layout.encode(codes, SecureBits()))


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """An empty database file: migrating a new one takes longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "hushpoll.sqlite"
    database = Database(f"sqlite:///{path}")
    migrate.upgrade(database)
    database.close()
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgreSQL]:
    """A running PostgreSQL, whose template is a migrated database."""
    with PostgreSQL() as server:
        database = Database(server.create(TEMPLATE))
        migrate.upgrade(database)
        database.close()
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request, tmp_path, migrated):
    """URL of a migrated, empty database of the test's own."""
    if request.param == "sqlite":
        path = tmp_path / "hushpoll.sqlite"
        shutil.copy(migrated, path)
        return f"sqlite:///{path}"
    return request.getfixturevalue("postgres").emptied(SHARED, TEMPLATE)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database_url(request, tmp_path):
    """URL of a database that nothing has used yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new.sqlite"
    return request.getfixturevalue("postgres").create("hushpoll_new")


@pytest.fixture(scope="session")
def loop() -> Iterator[LoopThread]:
    """An event loop for the applications of all tests."""
    running = LoopThread()
    yield running
    running.stop()


@pytest.fixture
def make_site(database_url, loop):
    """Start applications on the test's database; all are stopped, with no thread left."""
    sites: list[Site] = []

    def make(*, clock: FixedClock | None = None, **config: Any) -> Site:
        clock = clock or FixedClock(NOON)
        config.setdefault("DATABASE_URL", database_url)
        sites.append(Site(create_asgi({"CLOCK": clock, **config}), clock, loop))
        return sites[-1]

    yield make
    for site in sites:
        site.stop()
    assert "hushpoll-commit" not in {thread.name for thread in threading.enumerate()}


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture(scope="session")
def make_draft():
    return draft


@pytest.fixture(scope="session")
def make_report():
    return new_report


@pytest.fixture
def debug_log(caplog):
    """Everything that any library logs, from DEBUG on."""
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, logger="hushpoll_server"):
        yield caplog
