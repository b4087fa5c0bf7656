"""docs/operate.md: its commands run, its tables are complete, its claims hold."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

from hushpoll_server.config.configuration import load
from hushpoll_server.config.settings import SETTINGS
from hushpoll_server.metrics import Metrics
from postgres import PostgreSQL
from sample_survey import bearer, make_draft, make_report
from served import Load, Process
from waiting import LONGEST_SECONDS, wait_until

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
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 0, (body, done.stdout, done.stderr)
    for (command, expected), output in zip(parts, done.stdout.split(END), strict=False):
        assert shows(expected, output), (command, output)


class PageServer(Process):
    """The page's own command; its environment names it to the commands that come after it."""

    def __init__(self, command, directory, environment):
        self._token_file, self._environment = directory / "admin-token", environment
        super().__init__(
            directory,
            command=shlex.split(command),
            environment=environment | {"HUSHPOLL_PORT": "0"},
        )
        environment["HUSHPOLL_URL"] = self.url
        if self._token_file.exists():  # until it is put into a safe
            environment["HUSHPOLL_TOKEN"] = self._token_file.read_text().strip()

    @property
    def runs(self):
        return self.process.poll() is None

    @property
    def admin(self):
        return bearer(self._environment["HUSHPOLL_TOKEN"])


def environment_of(directory):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPOLL_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    return {**clean, "PATH": path, "HOME": str(directory)}


def back_up(body, directory, environment, server, published):
    """Run the page's backup while reports come in; return how many reports it holds."""
    load = Load(server, published, threads=2)
    load.wait_for(5)
    least = server.counts()["accepted"]
    run(body, directory, environment)
    load.stop()
    with sqlite3.connect(directory / "backup.sqlite") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        # A machine that is busy for a minute between two commands lets the server seal some.
        (held,) = copy.execute(
            "SELECT (SELECT count(*) FROM inbox) + (SELECT coalesce(sum(reports), 0) FROM segments)"
        ).fetchone()
    copy.close()
    assert (directory / "backup.sqlite").stat().st_mode & 0o777 == 0o600
    assert least <= held <= server.counts()["accepted"]
    return held


def test_the_page_s_commands_run_in_order(tmp_path):
    environment = environment_of(tmp_path)
    (configuration,) = blocks("toml")
    (tmp_path / "hushpoll.toml").write_text(configuration["body"])
    server, line, backed_up, ran = None, None, None, []
    try:
        for block in blocks("console"):
            body = block["body"]
            ran += [command for command, _ in commands(body)]
            if body.startswith("$ hushpoll serve") and "--print-config" not in body:
                assert server is None
                line = ran[-1]
                server = PageServer(line, tmp_path, environment)
                published = server.publish(make_draft())
                load = Load(server, published, threads=2)
                load.wait_for(20)
                load.stop()
                continue
            if server is not None and bool(block["ended"]) == server.runs:
                if server.runs:
                    server.stop()
                else:
                    server = PageServer(line, tmp_path, environment)
            if ".backup(" in body:
                backed_up = back_up(body, tmp_path, environment, server, published)
            else:
                run(body, tmp_path, environment)
            if "cp backup.sqlite" in body:
                server = PageServer(line, tmp_path, environment)
                assert server.counts()["accepted"] == backed_up
            if "delete-records" in body:
                counts = server.counts()
                assert (counts["state"], counts["accepted"]) == ("closed", backed_up)
    finally:
        if server is not None:
            server.kill()
    assert backed_up >= 20
    started = {command.split()[1] for command in ran if command.startswith("hushpoll")}
    assert started == {"migrate", "serve", "survey", "token", "user", "worker"}


def test_a_backup_of_postgresql_restores_to_the_same_counts(tmp_path, serve, postgres):
    dump, restore = blocks("console postgresql")
    url = postgres.create("hushpoll")
    server = serve("--seal-at", "2", database_url=url)
    published = server.publish(make_draft())
    reports = [make_report(published) for _ in range(25)]
    assert {server.send(published, report)[0] for report in reports} == {201}
    wait_until(lambda: server.counts()["sealed"] >= 20, pause=0.1)
    address = make_url(url)
    environment = environment_of(tmp_path)
    environment |= {
        "PGHOST": address.query["host"],
        "PGUSER": address.username,
        "PATH": f"{postgres.programs()}{os.pathsep}{environment['PATH']}",
    }
    run(dump["body"], tmp_path, environment)
    late = make_report(published)
    assert server.send(published, late)[0] == 201
    server.stop()
    postgres.run("DROP DATABASE IF EXISTS hushpoll_restored WITH (FORCE)")
    run(restore["body"], tmp_path, environment)
    again = serve(database_url=postgres.url("hushpoll_restored"))
    counts = again.counts()
    assert (counts["accepted"], counts["sealed"] >= 20) == (25, True)
    assert {again.send(published, report)[0] for report in reports} == {200}
    assert again.send(published, late)[0] == 201  # it came after the backup
    again.kill()  # before its database is gone


def test_the_configuration_shown_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics-token").write_text("x" * 43 + "\n")
    (block,) = blocks("toml")
    (tmp_path / "hushpoll.toml").write_text(block["body"])
    found = load(flags={}, environment={}, file=Path("hushpoll.toml")).settings
    assert found.metrics_token == "x" * 43


def test_every_metric_is_documented_and_alerts_name_existing_ones():
    metrics = Metrics()
    metrics.request("GET", "/", 200, 0.1)
    text = metrics.exposition()[0].decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    there = {name for name in names if not name.endswith("_created")}
    assert "```{hushpoll-metrics}\n" in PAGE
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


def test_a_database_that_was_away_is_found_again(serve):
    with PostgreSQL() as postgres:
        url = postgres.create("hushpoll")
        server = serve("--metrics-token", TOKEN, database_url=url)
        published = server.publish(make_draft())
        report = make_report(published)
        postgres.kill()
        assert server.request("/health")[0] == 200
        status, body = server.request("/ready")
        assert status == 503
        assert [reason["code"] for reason in json.loads(body)["reasons"]] == ["database"]
        assert {server.send(published, report)[0] for _ in range(3)} == {503}
        assert server.request("/metrics", **bearer(TOKEN))[0] == 200
        postgres.start_again()
        assert server.send(published, report)[0] in (201, 503)  # on a stale connection
        assert server.send(published, report)[0] in (200, 201)
        assert server.request("/ready")[0] == 200
        server.stop()


@pytest.mark.sqlite
def test_a_sealed_report_takes_what_the_page_says(make_site, tmp_path):
    (most,) = map(int, re.findall(r"takes its record and less than (\d+) bytes", PAGE))
    site = make_site()
    published = site.publish()
    for _ in range(3):
        site.fill(published, 10_000)
    site.seal()
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
