"""Bulk ingest beside the driver alone: the same rows into the same table, with and without HTTP.

Run by ``scripts/bulk``. The driver gets its best case: rows in the form that it takes fastest, made
beforehand, in one process, committed durably in batches of the same size.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat

import numpy as np
import psycopg

from benchmarks.collecting import (
    DATABASES,
    REPORTS,
    Bytes,
    ask,
    connect,
    empty_database,
    ids,
    publish,
    records,
    running,
)
from hushpoll_fleet.demo.processes import Server
from hushpoll_server.store.database import parse_url
from hushpoll_server.store.postgresql.inbox import copy_rows
from hushpoll_server.store.sqlite.session import path_of, prepare
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import pack_rows
from hushpoll_shared.wire.reports import REPORTS_MEDIA_TYPE

GOAL = 0.5
KINDS_OF_RECORD = 50_000  # drawn once and sent again under new ids; the server cannot tell


def batches(published: Published, reports: int, size: int) -> Iterator[tuple[Bytes, Bytes]]:
    """Yield ids and records of `reports` reports."""
    rng = np.random.default_rng(1)
    pool = records(published, KINDS_OF_RECORD, rng)
    for start in range(0, reports, size):
        count = min(size, reports - start)
        yield ids(count, rng), pool[rng.integers(0, len(pool), count)]


Insert = Callable[[Bytes, Bytes], float]


@contextmanager
def driver_alone(kind: str) -> Iterator[Insert]:
    """Give what inserts by the driver into the inbox of a new database, and returns the seconds."""
    with (
        empty_database(kind) as (url, folder),
        Server(folder, options=("--database-url", url)) as server,
    ):
        publish(server)  # which makes the tables, and the version that rows refer to
        server.stop()
        with {"sqlite": by_sqlite, "postgresql": by_postgresql}[kind](url) as insert:
            yield insert


@contextmanager
def by_sqlite(url: str) -> Iterator[Insert]:
    connection = sqlite3.connect(path_of(parse_url(url)))
    prepare(connection, None)

    def insert(some_ids: Bytes, some_records: Bytes) -> float:
        values = list(zip(repeat(1), map(bytes, some_ids), map(bytes, some_records), strict=False))
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO inbox VALUES (?, ?, ?)", values)
        connection.execute("COMMIT")
        return time.perf_counter() - start

    yield insert
    connection.close()


@contextmanager
def by_postgresql(url: str) -> Iterator[Insert]:
    with psycopg.connect(url) as connection:

        def insert(some_ids: Bytes, some_records: Bytes) -> float:
            values = copy_rows(1, some_ids, some_records)
            start = time.perf_counter()
            with connection.cursor() as cursor:
                with cursor.copy("COPY inbox FROM STDIN (FORMAT BINARY)") as copy:
                    copy.write(values)
                connection.commit()
            return time.perf_counter() - start

        yield insert


@contextmanager
def over_http(kind: str, options: list[str]) -> Iterator[tuple[Published, Insert]]:
    """Give what uploads a batch on one connection, and returns the seconds."""
    with running(kind, *options) as (server, _, published):
        connection = connect(server)
        headers = {"Content-Type": REPORTS_MEDIA_TYPE, "Authorization": f"Bearer {server.token}"}
        sent = 0

        def upload(some_ids: Bytes, some_records: Bytes) -> float:
            nonlocal sent
            body = pack_rows(published.digest, some_ids, some_records)
            start = time.perf_counter()
            connection.request("POST", REPORTS, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            spent = time.perf_counter() - start
            assert answer.status == 200, content
            sent += len(some_ids)
            return spent

        yield published, upload
        connection.close()
        status, counts = ask(server, "GET", f"/api/v1/surveys/{published.name}/versions/1/counts")
        assert (status, counts["accepted"]) == (200, sent), counts


def compared(kind: str, reports: int, size: int, options: list[str]) -> tuple[float, float]:
    """Return rows a second by the driver alone and over HTTP, taking turns batch by batch.

    Whatever else the machine does is then done to both; so is the sealing that follows a batch's
    answer. ``--option=--sealing=worker`` leaves it out.
    """
    alone = served = 0.0
    with over_http(kind, options) as (published, upload), driver_alone(kind) as insert:
        for some_ids, some_records in batches(published, reports, size):
            alone += insert(some_ids, some_records)
            served += upload(some_ids, some_records)
    return reports / alone, reports / served


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--option", action="append", default=[], help="of hushpoll serve")
    arguments = parser.parse_args()
    reached = True
    for kind in arguments.database or DATABASES:
        alone, served = compared(kind, arguments.reports, arguments.batch, arguments.option)
        print(
            f"{kind}: {arguments.reports:,} reports, {arguments.batch:,} in a batch: driver alone "
            f"{alone:,.0f}/s, over HTTP {served:,.0f}/s, ratio {served / alone:.2f} "
            f"(goal {GOAL})",
            flush=True,
        )
        reached &= served >= GOAL * alone
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
