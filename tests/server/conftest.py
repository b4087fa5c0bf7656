"""A server on a temporary database, with a clock that stands still.

A test that asks for ``site``, ``make_site`` or ``database_url`` runs twice: on an SQLite file and
on a real PostgreSQL. A test of one of them has the mark ``sqlite`` or ``postgresql``.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from asgi_client import AsgiClient, LoopThread
from hushpoll_server import asgi, create_asgi
from hushpoll_server.asgi import Whole
from hushpoll_server.charts.drawing import Drawing
from hushpoll_server.jobs.runner import Runner
from hushpoll_server.services import services as server_services
from hushpoll_server.services.services import Services
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.survey_reports.files import offline
from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.withdrawals import encode_withdrawal_json
from lent_applications import Applications
from lent_processes import JobProcesses, LentDrawing
from postgres import SHARED, TEMPLATE, PostgreSQL
from sample_survey import VERSION, bearer, body_of, make_draft, make_report
from served import Process
from waiting import wait_until

DATABASES = ["sqlite", "postgresql"]
NOON = "2026-03-01T12:00:00Z"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests with the mark ``sqlite`` or ``postgresql`` on that database alone."""
    for fixture in ("database_url", "new_database_url"):
        if fixture in metafunc.fixturenames:
            marks = {mark.name for mark in metafunc.definition.iter_markers()}
            databases = [name for name in DATABASES if name in marks] or DATABASES
            metafunc.parametrize(fixture, databases, indirect=True)


@dataclass
class Site:
    """One running application and what tests do to it."""

    whole: Whole
    clock: FixedClock
    loop: LoopThread
    applications: Applications
    app: Flask = field(init=False)
    services: Services = field(init=False)
    admin: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.app = self.whole.flask
        self.services = self.whole.services
        token = self.services.access.first_admin() or self.services.access.issue(["admin"]).token
        self.admin = bearer(token)

    def client(self) -> AsgiClient:
        """A client of the whole, devices' routes and all others."""
        return AsgiClient(self.whole, self.loop)

    def stop_storing(self) -> None:
        """Store what was submitted, and end the thread that stores."""
        self.loop.run(self.whole.commit.stop())

    def stop(self) -> None:
        self.loop.run(self.whole.stop())
        self.services.stop()
        self.applications.take_back(self.app)

    def get(self, path: str, **options: Any) -> TestResponse:
        options.setdefault("headers", self.admin)
        return self.client().get(path, **options)

    def post(self, path: str, **options: Any) -> TestResponse:
        options.setdefault("headers", self.admin)
        return self.client().post(path, **options)

    def put(self, path: str, **options: Any) -> TestResponse:
        options.setdefault("headers", self.admin)
        return self.client().put(path, **options)

    def delete(self, path: str, **options: Any) -> TestResponse:
        options.setdefault("headers", self.admin)
        return self.client().delete(path, **options)

    def publish(self, *, allow_weak: bool = False, **changes: Any) -> Published:
        query = "?allow_weak=true" if allow_weak else ""
        answer = self.post(f"/api/v1/surveys{query}", json=make_draft(**changes))
        assert answer.status_code == 201, answer.json
        return Published.from_json(answer.json["manifest"])

    def send(
        self, published: Published, report: wire.Report | None = None, token: str | None = None
    ) -> TestResponse:
        """Send a report, by default a new one."""
        return self.send_body(body_of(published, report), token, name=published.name)

    def send_body(self, body: Any, token: str | None = None, *, name: str = "work") -> TestResponse:
        headers = {} if token is None else bearer(token)
        return self.post(f"/api/v1/surveys/{name}/reports", json=body, headers=headers)

    def send_bytes(self, body: bytes, *, name: str = "work", **options: Any) -> TestResponse:
        options.setdefault("content_type", wire.REPORTS_MEDIA_TYPE)
        return self.post(f"/api/v1/surveys/{name}/reports", data=body, **options)

    def send_batch(
        self, published: Published, reports: Sequence[wire.Report], **options: Any
    ) -> TestResponse:
        body = wire.pack_reports(published.digest, reports)
        return self.send_bytes(body, name=published.name, **options)

    def withdraw(self, published: Published, secret: bytes) -> TestResponse:
        """Ask the server to take back the report of a secret."""
        body = encode_withdrawal_json(published.digest, secret)
        return self.post(f"/api/v1/surveys/{published.name}/withdrawals", json=body, headers={})

    def fill(self, published: Published, count: int, **answers: str | None) -> list[wire.Report]:
        """Have `count` new reports stored, sent as one batch."""
        reports = [make_report(published, **answers) for _ in range(count)]
        answer = self.send_batch(published, reports)
        assert answer.json == {"accepted": count, "duplicate": 0, "rejected": []}
        return reports

    def counts(self, published: Published) -> dict[str, Any]:
        path = f"/api/v1/surveys/{published.name}/versions/{published.version}/counts"
        answer = self.get(path)
        assert answer.status_code == 200
        return answer.json

    def row(self, name: str = "work") -> Any:
        """What the store has of the newest version of a survey."""
        return self.services.surveys.latest(name)

    def seal(self, name: str = "work", **options: Any) -> int:
        return self.services.sealing.seal(self.row(name), **options)

    def sealed_rows(self, name: str = "work") -> list[bytes]:
        """The records of a survey, in the order in which they stand in its segments."""
        row = self.row(name)
        blocks = self.services.segments.blocks(row.id, row.record_size)
        return [bytes(record) for block in blocks for record in block]

    def close(self, grace_seconds: int = 0, *, name: str = "work") -> dict[str, Any]:
        path = f"/api/v1/surveys/{name}/versions/1/close"
        answer = self.post(path, json={"grace_seconds": grace_seconds})
        assert answer.status_code == 200, answer.json
        return answer.json

    def delete_records(self) -> TestResponse:
        return self.client().delete(f"{VERSION}/records", headers=self.admin)

    def tokens(self, count: int = 1, *, name: str = "work") -> list[str]:
        """New tokens of respondents."""
        answer = self.post(f"/api/v1/surveys/{name}/tokens", json={"count": count})
        assert answer.status_code == 201, answer.json
        return answer.json["tokens"]

    def analyst(self, *scopes: str) -> dict[str, str]:
        """The header of a new analyst."""
        return bearer(self.services.access.issue(scopes).token)

    def ask_for_job(
        self, kind: str, body: Any = None, *, name: str = "work", **options: Any
    ) -> TestResponse:
        path = f"/api/v1/surveys/{name}/versions/1/jobs/{kind}"
        return self.post(path, json=body or {}, **options)

    def add_job(self, kind: str, body: Any = None, **options: Any) -> str:
        answer = self.ask_for_job(kind, body, **options)
        assert answer.status_code == 202, answer.json
        assert answer.headers["Location"] == f"/api/v1/jobs/{answer.json['id']}"
        return answer.json["id"]

    def job(self, job_id: str) -> dict[str, Any]:
        return self.get(f"/api/v1/jobs/{job_id}").json

    def job_result(self, job_id: str) -> TestResponse:
        return self.get(f"/api/v1/jobs/{job_id}/result")

    def run_jobs(self) -> None:
        """Do, in this process, what a worker would do."""
        Runner(self.services).run_waiting()

    def run_job(self, kind: str, body: Any = None, **options: Any) -> Any:
        """Have a job done, and return the document that is its result; of an export, bytes."""
        job = self.add_job(kind, body, **options)
        self.run_jobs()
        result = self.job_result(job)
        assert result.status_code == 200, result.json
        return result.json if result.is_json else result.data

    def vacuum(self) -> None:
        """Remove the traces of deleted rows; an autovacuum can be in the way for a while."""
        wait_until(self.services.database.vacuum)

    def scalars(self, statement: str) -> list[Any]:
        """The values of a column that a statement selects from the database."""
        with self.services.database.reading() as connection:
            return list(connection.exec_driver_sql(statement).scalars())

    def execute(self, statement: str) -> None:
        """Change the database behind the server's back."""
        with self.services.database.writing() as connection:
            connection.exec_driver_sql(statement)

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
    with PostgreSQL(in_memory=True) as server:
        database = Database(server.create(TEMPLATE))
        migrate.upgrade(database)
        database.close()
        yield server


@pytest.fixture
def database_url(request, tmp_path, migrated):
    """URL of a migrated, empty database of the test's own."""
    if request.param == "sqlite":
        path = tmp_path / "hushpoll.sqlite"
        shutil.copy(migrated, path)
        return f"sqlite:///{path}"
    return request.getfixturevalue("postgres").emptied(SHARED, TEMPLATE)


@pytest.fixture
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


@pytest.fixture(scope="session")
def applications() -> Applications:
    """The Flask applications of all tests, each lent to one site at a time."""
    return Applications()


@pytest.fixture(scope="session")
def drawing() -> Iterator[Drawing]:
    """The process that draws for the sites of all tests."""
    common = Drawing()
    yield common
    common.stop()


@pytest.fixture(scope="session")
def job_processes() -> Iterator[JobProcesses]:
    """What forks a process for each job of the sites' runners."""
    processes = JobProcesses()
    yield processes
    processes.stop()


def committing() -> set[threading.Thread]:
    """The threads that store what sites were sent."""
    return {thread for thread in threading.enumerate() if thread.name == "hushpoll-commit"}


@pytest.fixture(scope="session")
def site_maker(loop, drawing):
    """Start a site with one of some applications, on a database; the caller stops it.

    With ``own`` the application and the process that draws are the site's own, for a test that
    changes or watches them.
    """

    def make(
        applications: Applications,
        database_url: str,
        *,
        clock: FixedClock | None = None,
        own: bool = False,
        **config: Any,
    ) -> Site:
        clock = clock or FixedClock(NOON)
        with pytest.MonkeyPatch.context() as patch:
            if not own:
                patch.setattr(asgi, "build", applications.lend)
                patch.setattr(server_services, "Drawing", lambda: LentDrawing(drawing))
            whole = create_asgi({"CLOCK": clock, "DATABASE_URL": database_url, **config})
        return Site(whole, clock, loop, applications)

    return make


@pytest.fixture(scope="session")
def make_whole(site_maker, applications):
    """Start a site with the applications of all tests, as `site_maker` does."""
    return partial(site_maker, applications)


@pytest.fixture
def make_site(database_url, make_whole, job_processes):
    """Start sites on the test's database; all are stopped, with no thread left."""
    sites: list[Site] = []
    others = committing()

    def make(**options: Any) -> Site:
        sites.append(make_whole(options.pop("DATABASE_URL", database_url), **options))
        return sites[-1]

    with job_processes.lent():
        yield make
    for site in sites:
        site.stop()
    assert committing() == others


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def drawn_by_all(monkeypatch, drawing):
    """Have reports that are made again drawn by the process of all sites.

    That another process draws the same is shown by survey_reports/test_report.py.
    """
    monkeypatch.setattr(offline, "Drawing", lambda: LentDrawing(drawing))


@pytest.fixture
def serve(tmp_path):
    """Start ``hushpoll serve``; what runs at the end of the test is killed."""
    processes: list[Process] = []

    def start(*options: str, directory: Path = tmp_path, **more: Any) -> Process:
        processes.append(Process(directory, *options, **more))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


@pytest.fixture
def debug_log(caplog):
    """Everything that any library logs, from DEBUG on."""
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, logger="hushpoll_server"):
        yield caplog
