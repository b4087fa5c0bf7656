"""Processor time, bytes written and bytes kept of a server and its database."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import psycopg

from hushpoll_server.store.database import parse_url
from hushpoll_server.store.sqlite.session import path_of

TABLES = ("inbox", "sealed_ids", "segments")
ROLES = {
    "ingest": re.compile(r"hushpoll-ingest|hushpoll_server\.processes\.ingest"),
    "web": re.compile(r"hushpoll-web|hushpoll_server\.processes\.web"),
}


class Spent(NamedTuple):
    """What processes have used since they began.

    Attributes
    ----------
    seconds : Counter
        Processor seconds by role: ingest, web, database; the rest of the server is "other".
    written : int
        Bytes given to the disk.
    peaks : Counter
        Largest resident memory so far by role, in bytes; of the server's processes alone.
    """

    seconds: Counter[str]
    written: int
    peaks: Counter[str]


def spent(url: str, own: psutil.Process | None = None) -> Spent:
    """Add up what the processes below `own`, and those of the database, have used.

    A process that has ended is counted with the one that waited for it.
    """
    seconds: Counter[str] = Counter()
    peaks: Counter[str] = Counter()
    written = 0
    for role, process in _processes(url, own):
        # It may end meanwhile, and is then counted with its parent.
        with suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
            size, peak = process.io_counters().write_bytes, _peak(process)
            seconds[role] += sum(process.cpu_times()[:4])
            written += size
            peaks[role] = max(peaks[role], peak)
    return Spent(seconds, written, peaks)


def _processes(url: str, own: psutil.Process | None) -> Iterator[tuple[str, psutil.Process]]:
    for process in (own or psutil.Process()).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            words = " ".join((process.name(), *process.cmdline()))
            if "hushpoll" in words and "postgres" not in process.name():
                roles = [role for role, pattern in ROLES.items() if pattern.search(words)]
                yield (roles[0] if roles else "other"), process
    if url.startswith("postgresql"):
        with psycopg.connect(_plain(url)) as connection:
            ((text,),) = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchall()
        postmaster = psutil.Process(int(text.split()[0]))
        for process in (postmaster, *postmaster.children()):
            yield "database", process


def _peak(process: psutil.Process) -> int:
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:  # noqa: PTH123
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read())
    return 1024 * int(peak[1]) if peak else 0


def kept(url: str) -> dict[str, int]:
    """Return the bytes of each table with its indexes, and of the log ("wal")."""
    if url.startswith("postgresql"):
        with psycopg.connect(_plain(url), autocommit=True) as connection:
            connection.execute("CHECKPOINT")
            sizes = connection.execute(
                "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
                "WHERE relname = ANY(%s) AND relkind = 'r'",
                [list(TABLES)],
            ).fetchall()
            ((log,),) = connection.execute("SELECT sum(size) FROM pg_ls_waldir()").fetchall()
        return {**dict(sizes), "wal": int(log)}
    path = Path(path_of(parse_url(url)))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.execute("PRAGMA cache_size = -100000")
        relations = dict(
            connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
        )
    log = path.with_name(path.name + "-wal")
    sizes = {
        table: sum(size for name, size in relations.items() if _belongs(name, table))
        for table in TABLES
    }
    return {**sizes, "wal": log.stat().st_size if log.exists() else 0}


def logged(url: str) -> int | None:
    """Return how many bytes PostgreSQL has put into its log since it was made; None for SQLite."""
    if not url.startswith("postgresql"):
        return None
    with psycopg.connect(_plain(url)) as connection:
        ((position,),) = connection.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
        ).fetchall()
    return int(position)


def _belongs(name: str, table: str) -> bool:
    return name == table or name in (f"sqlite_autoindex_{table}_1", f"ix_{table}_version_id")


def _plain(url: str) -> str:
    return url.replace("postgresql+psycopg:", "postgresql:")
