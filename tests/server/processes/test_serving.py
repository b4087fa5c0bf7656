"""A real server: started, stopped under load, and killed; on both databases where it matters."""

from __future__ import annotations

import asyncio
import http.client
import os
import re
import resource
import signal
import socket
import sys
import tempfile
from contextlib import ExitStack, suppress

import psutil
import pytest

from chunks import unpack
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_server.processes import serving
from hushpoll_server.processes.children import Orders
from hushpoll_server.processes.launch import new_program
from hushpoll_server.processes.serving import Child, listen
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, sealed_ids
from sample_survey import REPORTS, SURVEYS, bearer, bytes_of, make_draft, make_report
from served import Load, refused_start
from waiting import LONGEST_SECONDS, wait_until

METRICS_TOKEN = "metrics-token-of-tests"
# A child's module: it says that it is ready, and ends with its parent.
STAYS = """\
import sys
def run():
    print("ready", flush=True)
    sys.stdin.read()
"""
FEW_DESCRIPTORS = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"]


def stored(url):
    """The ids of all reports in a database; none is there twice."""
    database = Database(url, pool_size=1)
    try:
        with database.reading() as connection:
            waiting = connection.execute(inbox.select().with_only_columns(inbox.c.report_id))
            chunks = connection.execute(sealed_ids.select().with_only_columns(sealed_ids.c.ids))
            ids = [*map(bytes, waiting.scalars()), *unpack(chunks.scalars())]
    finally:
        database.close()
    assert len(ids) == len(set(ids))
    return set(ids)


def sent(server, published, report):
    """Send until the connection is not one that a killed process took along."""

    def status():
        with suppress(OSError, http.client.HTTPException):
            return server.send(published, report)[0]

    return wait_until(status, pause=0.1)


def test_the_admin_token_is_shown_at_the_first_start_alone(serve, tmp_path):
    server = serve()
    administrator = server.admin
    server.publish(make_draft())
    server.stop()
    again = serve("--admin-token-file", str(tmp_path / "token"))
    assert again.admin == administrator
    assert not (tmp_path / "token").exists()
    assert [survey["reports"] for survey in again.get(SURVEYS)["surveys"]] == [0]


def test_more_connections_than_descriptors_end_nothing(serve):
    """Guards: the worker ended where the system had no descriptor for a connection."""
    server = serve("--threads", "4", "--pool-size", "4", limit=FEW_DESCRIPTORS)
    assert server.request("/health")[0] == 200
    (ingest,) = server.ingest()
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(server.connect())
        for _ in range(3):
            assert server.request("/health")[0] == 200
        # Connections leave the database some of the descriptors.
        server.publish(make_draft())
    assert server.ingest() == [ingest]
    assert server.request("/ready")[0] == 200
    assert '"event": "few-descriptors"' in server.log
    assert "127.0.0.1" not in server.log
    assert "Traceback" not in server.log


@pytest.mark.parametrize("name", ["parent", "ingest", "web"])
def test_a_killed_process_is_replaced_or_ends_the_others(serve, name):
    server = serve()
    published = server.publish(make_draft())
    report = make_report(published)
    assert server.send(published, report)[0] == 201
    parent = psutil.Process(server.process.pid)
    children = parent.children()
    killed = {"parent": parent, "ingest": server.ingest()[0], "web": server.web()}[name]
    killed.kill()
    if name == "parent":
        server.wait()
        _, alive = psutil.wait_procs(children, timeout=LONGEST_SECONDS)
        assert alive == []  # so the database's lock is free
        server = serve()

    def answers():
        with suppress(OSError, http.client.HTTPException):
            return (server.send(published, report)[0], server.request(SURVEYS)[0]) == (200, 200)

    wait_until(answers, pause=0.1)
    if name != "parent":
        assert set(parent.children()) & set(children) == set(children) - {killed}


def test_process_that_cannot_be_started_is_tried_again(tmp_path, monkeypatch):
    """Guards: it was given up for good, and the server went on without it."""
    (tmp_path / "child_that_stays.py").write_text(STAYS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    python = sys.executable

    async def keep():
        with socket.socket() as listener:
            child = Child(
                "child_that_stays", Orders({}, listener.fileno(), "", None, ""), new_program
            )
            monkeypatch.setattr(sys, "executable", str(tmp_path / "away"))
            keeping = asyncio.create_task(child.keep())
            await asyncio.sleep(0.3)
            assert not keeping.done()
            monkeypatch.setattr(sys, "executable", python)
            await child.ready.wait()
            await child.stop(LONGEST_SECONDS)
            await keeping

    asyncio.run(asyncio.wait_for(keep(), LONGEST_SECONDS))


def test_temporary_folder_whose_name_is_too_long_for_a_socket_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / (120 * "x")
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with socket.socket() as listener, pytest.raises(InvalidParameter) as refused:
        serving.serve(Settings(), listener=listener, lock=None, ready=print)
    assert refused.value.field == "TMPDIR"
    assert str(folder) in str(refused.value)
    assert list(folder.iterdir()) == []


def test_web_process_answers_with_more_than_a_thousand_descriptors(serve):
    """Guards: it ended where one had a number that select() does not take."""
    server = serve("--queue-requests", "1200")
    web = server.web()
    names = {one.raddr or one.laddr for one in psutil.Process(web.pid).net_connections("unix")}
    (path,) = {
        one for one in names if one.startswith(tempfile.gettempdir()) and one.endswith("/web.sock")
    }
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            stack.enter_context(socket.socket(socket.AF_UNIX)).connect(path)
        assert server.request(SURVEYS)[0] == 200
        assert web.is_running()


def start_request(server, published, report):
    """Send a request but for the last byte of its body, and wait until the server reads it."""
    body = bytes_of(published, report)
    connection = server.connect()
    connection.sendall(
        f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )
    assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(body[:-1])
    return connection, body[-1:]


def listens(process):
    """Whether a process takes connections still; one that is stopping does not."""
    with suppress(psutil.NoSuchProcess):
        return any(one.status == psutil.CONN_LISTEN for one in process.net_connections("inet"))
    return False


def test_sigterm_under_load_loses_nothing_acknowledged(serve, tmp_path, new_database_url):
    on_sqlite = new_database_url.startswith("sqlite")
    server = serve(
        *("--seal-at", "4", "--request-seconds", "600", "--log-level", "debug"),
        *("--workers", "1" if on_sqlite else "2"),
        database_url=new_database_url,
    )
    published = server.publish(make_draft())
    load = Load(server, published, threads=4)
    load.wait_for(50)
    in_flight = make_report(published)
    connection, rest = start_request(server, published, in_flight)
    with connection, ExitStack() as stuck:
        if on_sqlite:  # waiting for it takes as long on either
            stuck.enter_context(start_request(server, published, make_report(published))[0])
        workers = server.ingest()
        os.kill(server.process.pid, signal.SIGTERM)
        wait_until(lambda: not any(map(listens, workers)), pause=0.1)
        connection.sendall(rest)
        assert connection.recv(4096).startswith(b"HTTP/1.1 201 ")
        assert server.wait() == 0  # and so without the stuck request
    load.stop()
    acknowledged = load.acknowledged.keys() | {in_flight.id}
    assert len(acknowledged) > 50
    if on_sqlite:
        assert not (tmp_path / "new.sqlite-wal").exists()  # all of it is in the file
    assert stored(new_database_url) >= acknowledged
    for trace in ("Traceback", "127.0.0.1", "/reports"):
        assert trace not in server.log


@pytest.mark.postgresql
def test_workers_share_one_database_and_survive_the_death_of_one(serve, new_database_url):
    """Connections, threads and random keys made before a fork would be shared by the workers."""
    server = serve(
        "--workers", "2", "--metrics-token", METRICS_TOKEN, database_url=new_database_url
    )
    published = server.publish(make_draft())
    reports = [make_report(published) for _ in range(40)]
    assert {server.send(published, report)[0] for report in reports[:20]} == {201}
    workers = server.ingest()
    assert len(workers) == 2
    workers[0].kill()
    wait_until(lambda: len(server.ingest()) >= 2 and workers[0] not in server.ingest())
    assert {sent(server, published, report) for report in reports[20:]} == {201}
    assert {sent(server, published, report) for report in reports} == {200}
    assert stored(new_database_url) == {report.id for report in reports}
    assert server.request("/ready")[0] == 200
    # Counted together, with what the killed worker had counted.
    _, metrics = server.request("/metrics", **bearer(METRICS_TOKEN))
    counted = dict(
        re.findall(r'^hushpoll_reports_total{outcome="(.*)"} (\S+)$', metrics.decode(), re.M)
    )
    assert float(counted["accepted"]) == 40
    assert float(counted["duplicate"]) >= 40
    server.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "DATABASE_URL names the file .*not a database.*"),
        (["--workers", "2"], "WORKERS is 2, and SQLite takes one writer at a time.*"),
    ],
)
def test_refused_start_prints_one_line_and_creates_nothing(tmp_path, options, message):
    """The tests of settings and of the store go through the other refusals."""
    (tmp_path / "notes.txt").write_text("a person's notes\n" * 100)
    line = refused_start(f"sqlite:///{tmp_path}/notes.txt", *options)
    assert re.fullmatch(f"Error: {message}\n", line)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_refused_start_does_not_use_up_the_first(serve, tmp_path):
    """Guards: the admin token was made before its file and the port were known to be usable."""
    url = f"sqlite:///{tmp_path}/hushpoll.sqlite"
    assert "/absent/t" in refused_start(url, "--admin-token-file", f"{tmp_path}/absent/t")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ("--port", str(port), "--admin-token-file", str(tmp_path / "token"))
        assert refused_start(url, *options) == (
            f"Error: port {port} of 127.0.0.1 is in use; give another with --port\n"
        )
    assert not (tmp_path / "token").exists()
    server = serve("--admin-token-file", str(tmp_path / "token"))
    # In the file alone: what is printed ends up in a log that is kept.
    assert server.admin_tokens() == []
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    token = (tmp_path / "token").read_text().strip()
    assert token.startswith("hp_")
    assert token not in server.log
    assert server.request("/api/v1/tokens", **bearer(token))[0] == 200


def test_a_second_server_on_one_database_is_refused(serve, tmp_path):
    server = serve()
    line = refused_start(f"sqlite:///{tmp_path}/hushpoll.sqlite", "--port", "0")
    assert "another hushpoll serve is using" in line
    assert server.request("/health")[0] == 200
    server.kill()
    assert serve().request("/health")[0] == 200


def test_a_free_port_listens_at_once():
    with listen("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname(), timeout=LONGEST_SECONDS).close()


def test_a_port_in_use_is_named():
    """Guards: the server tried for five seconds, with three lines of log each time."""
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InvalidParameter) as refused:
            listen("127.0.0.1", port)
    message = f"port {port} of 127.0.0.1 is in use; give another with --port"
    assert (str(refused.value), refused.value.field) == (message, "port")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("192.0.2.1", "cannot listen"),  # of documentation's network, never this machine's
        ("", "cannot be resolved"),
        ("300.0.0.1.invalid", "cannot be resolved"),
        ("x" * 64, "cannot be resolved"),
        ("::nonsense", "cannot be resolved"),
    ],
)
def test_a_host_that_is_not_this_machine_is_refused(host, words, monkeypatch):
    resolve = socket.getaddrinfo

    def literal(host, port, family, kind, protocol, flags):
        return resolve(host, port, family, kind, protocol, flags | socket.AI_NUMERICHOST)

    monkeypatch.setattr(socket, "getaddrinfo", literal)  # asks no name server
    with pytest.raises(InvalidParameter, match=words) as refused:
        listen(host, 0)
    assert refused.value.field == "host"
    assert "--host" in str(refused.value)
