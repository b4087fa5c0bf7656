"""docs/operate.md: its commands run, its tables are complete, its claims hold."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import selectors
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml
from sqlalchemy import make_url

from hushpoll_server.config.configuration import load
from hushpoll_server.config.settings import SETTINGS
from hushpoll_server.metrics import Metrics
from postgres import PostgreSQL
from served import Load, Process, admin_token, publish, send

TOKEN = "metrics-token-of-tests"
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
FENCE = re.compile(
    r"^(?P<ended><!-- ended -->\n)?```(?P<kind>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)

END = "-end-of-output-"
# The event is the first argument of a call that logs, or one of two.
CALL = re.compile(
    r"\b(?:log|get_logger\(__name__\))\.(?:debug|info|warning|error|critical|log)"
    r"\(\s*(?:lvl, )?([^,()]+)|\"event\": (\"library\")"
)


def blocks(kind):
    return [match for match in FENCE.finditer(PAGE) if match["kind"] == kind]


def commands(body):
    """Each command with the output that the page shows for it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def shows(expected, output):
    pattern = ".*".join(re.escape(part.strip("\n")) for part in expected.split("..."))
    return re.fullmatch(pattern, output.strip("\n"), re.DOTALL) is not None


def run(body, directory, environment):
    """Run a block in one shell, and compare what each command prints."""
    parts = list(commands(body))
    script = "".join(f"{command}\nprintf '%s' {END}\n" for command, _ in parts)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (body, done.stdout, done.stderr)
    for (command, expected), output in zip(parts, done.stdout.split(END), strict=False):
        assert shows(expected, output), (command, output)


class Server:
    """The page's own command, ended and started again."""

    def __init__(self, command, directory, environment):
        self.command = command
        self.directory = directory
        self.environment = environment
        self.url = ""
        self._process = None

    @property
    def runs(self):
        return self._process is not None

    def start(self):
        with (self.directory / "stderr.txt").open("ab") as errors:
            self._process = subprocess.Popen(
                shlex.split(self.command),
                cwd=self.directory,
                env={**self.environment, "HUSHPOLL_PORT": "0"},
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            assert ready.select(60)
        line = self._process.stdout.readline().decode()
        self.url = line.removeprefix("listening on ").strip()
        assert self.url.startswith("http://127.0.0.1:")
        self.environment["HUSHPOLL_URL"] = self.url
        # Read before it is put into a safe.
        token = self.directory / "admin-token"
        if token.exists():
            self.environment["HUSHPOLL_TOKEN"] = token.read_text().strip()

    def end(self, how=signal.SIGTERM):
        os.killpg(self._process.pid, how)
        code = self._process.wait(60)
        self._process.stdout.close()
        self._process = None
        return code

    request = Process.request


def counts(server):
    status, body = server.request(
        "/api/v1/surveys/work/versions/1/counts",
        Authorization=f"Bearer {server.environment['HUSHPOLL_TOKEN']}",
    )
    assert status == 200
    return json.loads(body)


def environment_of(directory):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPOLL_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    return {**clean, "PATH": path, "HOME": str(directory)}


def test_the_page_s_commands_run_in_order(tmp_path, make_draft, make_report):
    environment = environment_of(tmp_path)
    (configuration,) = blocks("toml")
    (tmp_path / "hushpoll.toml").write_text(configuration["body"])
    server, load_, backed_up = None, None, None
    ran = []
    try:
        for block in blocks("console"):
            body = block["body"]
            if body.startswith("$ hushpoll serve") and "--print-config" not in body:
                assert server is None
                (line,) = (command for command, _ in commands(body))
                server = Server(line, tmp_path, environment)
                server.start()
                published = publish(server, environment["HUSHPOLL_TOKEN"], make_draft())
                load_ = Load(server, published, make_report, threads=2)
                load_.wait_for(20)
                load_.stop()
                ran.append(line)
                continue
            if server is not None and bool(block["ended"]) == server.runs:
                if server.runs:
                    assert server.end() == 0
                else:
                    server.start()
            if ".backup(" in body:  # while reports come in
                load_ = Load(server, published, make_report, threads=2)
                load_.wait_for(5)
                least = counts(server)["accepted"]
                run(body, tmp_path, environment)
                load_.stop()
                most = counts(server)["accepted"]
                with sqlite3.connect(tmp_path / "backup.sqlite") as copy:
                    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                    (held,) = copy.execute("SELECT count(*) FROM inbox").fetchone()
                copy.close()
                assert (tmp_path / "backup.sqlite").stat().st_mode & 0o777 == 0o600
                backed_up = held
                assert least <= held <= most
            else:
                run(body, tmp_path, environment)
            ran += [command for command, _ in commands(body)]
            if "cp backup.sqlite" in body:
                server.start()
                assert counts(server)["accepted"] == backed_up
            if "delete-records" in body:
                found = counts(server)
                assert (found["state"], found["accepted"]) == ("closed", backed_up)
    finally:
        if server is not None and server.runs:
            server.end(signal.SIGKILL)
    assert backed_up >= 20
    started = {one.split()[1] for one in ran if one.startswith("hushpoll")}
    assert started == {"migrate", "serve", "survey", "token", "worker"}


def wait_for_sealing(server, token):
    """Wait until maintenance has looked at the inbox."""
    path = "/api/v1/surveys/work/versions/1/counts"
    deadline = time.monotonic() + 60
    while True:
        _, body = server.request(path, Authorization=f"Bearer {token}")
        if json.loads(body)["sealed"] >= 20:
            return
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_backup_of_postgresql_restores_to_the_same_counts(
    tmp_path, postgres, make_draft, make_report
):
    dump, restore, rewrite = blocks("console postgresql")
    url = postgres.create("hushpoll")
    server = Process(tmp_path, "--seal-at", "2", database_url=url)
    try:
        (token,) = admin_token(tmp_path)
        published = publish(server, token, make_draft())
        reports = [make_report(published) for _ in range(25)]
        assert {send(server, published, one)[0] for one in reports} == {201}
        wait_for_sealing(server, token)
        address = make_url(url)
        postmaster = psutil.Process(postgres._server.get_postmaster_info().pid)
        environment = environment_of(tmp_path)
        environment |= {
            "PGHOST": address.query["host"],
            "PGUSER": address.username,
            "PATH": f"{Path(postmaster.exe()).parent}{os.pathsep}{environment['PATH']}",
        }
        run(dump["body"], tmp_path, environment)
        run(rewrite["body"], tmp_path, environment)
        late = make_report(published)
        assert send(server, published, late)[0] == 201
    finally:
        server.kill(signal.SIGTERM)
        assert server.wait() == 0
    postgres.run("DROP DATABASE IF EXISTS hushpoll_restored WITH (FORCE)")
    run(restore["body"], tmp_path, environment)
    again = Process(tmp_path, database_url=postgres.url("hushpoll_restored"))
    try:
        status, body = again.request(
            "/api/v1/surveys/work/versions/1/counts", Authorization=f"Bearer {token}"
        )
        assert status == 200
        assert json.loads(body)["accepted"] == 25
        assert json.loads(body)["sealed"] >= 20
        assert {send(again, published, one)[0] for one in reports} == {200}
        assert send(again, published, late)[0] == 201  # it came after the backup
    finally:
        again.kill()
        again.wait()


HEAD = "| key | default | allowed | |\n|---|---|---|---|\n"


def settings_table():
    """The rows that the page must have."""
    for setting in SETTINGS.values():
        default = "" if setting.default is None else f"`{json.dumps(setting.default)}`"
        secret = " *Secret.*" if setting.secret else ""
        allowed = setting.interval.replace("|", "\\|")
        yield f"| `{setting.name}` | {default} | {allowed} | {setting.description}{secret} |"


def test_the_table_of_settings_is_the_program_s():
    shown = PAGE.partition(HEAD)[2].partition("\n\n")[0].splitlines()
    expected = list(settings_table())
    assert shown == expected, "the table should be:\n" + "\n".join(expected)


def test_the_configuration_shown_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics-token").write_text("x" * 43 + "\n")
    (block,) = blocks("toml")
    (tmp_path / "hushpoll.toml").write_text(block["body"])
    found = load(flags={}, environment={}, file=Path("hushpoll.toml")).settings
    assert found.metrics_token == "x" * 43


def test_every_metric_is_documented_and_alerts_name_none_that_is_not_there():
    metrics = Metrics()
    metrics.request("GET", "/", 200, 0.1)
    text = metrics.exposition()[0].decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    there = {name for name in names if not name.endswith("_created")}
    table = PAGE.partition("| metric | |")[2].partition("\n\n")[0]
    documented = set(re.findall(r"hushpoll_\w+", table))
    assert documented == there
    (alerts,) = blocks("yaml")
    for rule in yaml.safe_load(io.StringIO(alerts["body"]))["groups"][0]["rules"]:
        used = set(re.findall(r"hushpoll_\w+", rule["expr"]))
        assert used
        assert {one.removesuffix("_bucket") for one in used} <= there


def test_every_event_of_the_log_is_documented():
    events = set()
    for path in (ROOT / "server" / "hushpoll_server").rglob("*.py"):
        for call in CALL.findall(path.read_text()):
            events |= set(re.findall(r'"([a-z-]+)"', "".join(call)))
    table = PAGE.partition("| event | fields | |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    assert {name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)} == events


def test_a_full_disk_refuses_reports_until_there_is_room(tmp_path, make_draft, make_report):
    """The limit on the size of files stands in for the end of a disk: a write fails halfway."""
    server = Process(tmp_path)
    try:
        published = publish(server, admin_token(tmp_path)[0], make_draft())
        kept = make_report(published)
        assert send(server, published, kept)[0] == 201
        (worker,) = server.ingest()
        _, hard = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (4096, hard))
        late = make_report(published)
        status, body = send(server, published, late)
        assert (status, json.loads(body)["code"]) == (503, "unavailable")
        assert send(server, published, kept)[0] in (200, 503)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert send(server, published, late)[0] == 201
        assert send(server, published, kept)[0] == 200
    finally:
        server.kill(signal.SIGTERM)
        assert server.wait() == 0
    assert "group-not-stored" in (tmp_path / "stderr.txt").read_text()


def test_a_database_that_was_away_is_found_again(tmp_path, make_draft, make_report):
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    with PostgreSQL() as postgres:
        url = postgres.create("hushpoll")
        server = Process(tmp_path, "--metrics-token", TOKEN, database_url=url)
        try:
            published = publish(server, admin_token(tmp_path)[0], make_draft())
            report = make_report(published)
            postgres.kill()
            assert server.request("/health")[0] == 200
            status, body = server.request("/ready")
            assert status == 503
            assert [one["code"] for one in json.loads(body)["reasons"]] == ["database"]
            assert {send(server, published, report)[0] for _ in range(3)} == {503}
            assert server.request("/metrics", **bearer)[0] == 200
            postgres.start_again()
            assert send(server, published, report)[0] in (201, 503)  # on a stale connection
            assert send(server, published, report)[0] in (200, 201)
            assert server.request("/ready")[0] == 200
        finally:
            server.kill(signal.SIGTERM)
            assert server.wait() == 0


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_sealed_report_takes_what_the_page_says(make_site, tmp_path):
    (most,) = map(int, re.findall(r"takes its record and less than (\d+) bytes", PAGE))
    site = make_site()
    published = site.publish()
    for _ in range(3):
        site.fill(published, 10_000)
    site.services.sealing.seal(site.services.surveys.latest("work"))
    assert site.counts(published)["sealed"] == 30_000
    site.services.stop()
    with sqlite3.connect(tmp_path / "hushpoll.sqlite") as file:
        (pages,) = file.execute("PRAGMA page_count").fetchone()
        (free,) = file.execute("PRAGMA freelist_count").fetchone()
        (size,) = file.execute("PRAGMA page_size").fetchone()
    file.close()
    used = (pages - free) * size / 30_000 - published.layout.record_size
    assert most / 3 < used < most


def test_wire_and_page_agree_on_the_largest_body():
    assert f"client_max_body_size {SETTINGS['max_body_bytes'].default >> 20}m;" in PAGE
