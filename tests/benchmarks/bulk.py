"""Bulk ingest beside the driver alone: the same rows into the same table, with and without HTTP.

Run by ``scripts/bulk``. The driver gets its best case: rows in the form that it takes fastest, made
beforehand, in one process, committed durably in batches of the same size.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections.abc import Iterator
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
from hushpoll_fleet.processes import Server
from hushpoll_server.store import sqlite
from hushpoll_server.store.database import parse_url
from hushpoll_server.store.postgresql import copy_rows
from hushpoll_shared.batch import pack_rows
from hushpoll_shared.published import Published
from hushpoll_shared.wire import REPORTS_MEDIA_TYPE

GOAL = 0.5
KINDS_OF_RECORD = 50_000  # drawn once and sent again under new ids; the server cannot tell


def batches(published: Published, reports: int, size: int) -> Iterator[tuple[Bytes, Bytes]]:
    """Yield ids and records of `reports` reports."""
    rng = np.random.default_rng(1)
    pool = records(published, KINDS_OF_RECORD, rng)
    for start in range(0, reports, size):
        count = min(size, reports - start)
        yield ids(count, rng), pool[rng.integers(0, len(pool), count)]


def driver_rate(kind: str, published: Published, reports: int, size: int) -> float:
    """Insert by the driver alone into the inbox of a new database; return rows a second."""
    with (
        empty_database(kind) as (url, folder),
        Server(folder, options=("--database-url", url)) as server,
    ):
        publish(server)  # which makes the tables, and the version that rows refer to
        server.stop()
        rate = {"sqlite": sqlite_rate, "postgresql": postgresql_rate}[kind]
        return rate(url, batches(published, reports, size))


def sqlite_rate(url: str, given: Iterator[tuple[Bytes, Bytes]]) -> float:
    connection = sqlite3.connect(sqlite.path_of(parse_url(url)))
    sqlite.prepare(connection, None)
    rows, spent = 0, 0.0
    for some_ids, some_records in given:
        values = list(zip(repeat(1), map(bytes, some_ids), map(bytes, some_records), strict=False))
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO inbox VALUES (?, ?, ?)", values)
        connection.execute("COMMIT")
        spent += time.perf_counter() - start
        rows += len(values)
    connection.close()
    return rows / spent


def postgresql_rate(url: str, given: Iterator[tuple[Bytes, Bytes]]) -> float:
    rows, spent = 0, 0.0
    with psycopg.connect(url) as connection:
        for some_ids, some_records in given:
            values = copy_rows(1, some_ids, some_records)
            start = time.perf_counter()
            with connection.cursor() as cursor:
                with cursor.copy("COPY inbox FROM STDIN (FORMAT BINARY)") as copy:
                    copy.write(values)
                connection.commit()
            spent += time.perf_counter() - start
            rows += len(some_ids)
    return rows / spent


def served_rate(kind: str, reports: int, size: int, options: list[str]) -> float:
    """Upload over HTTP on one connection; return reports a second."""
    with running(kind, *options) as (server, _, published):
        bodies = (pack_rows(published.digest, *one) for one in batches(published, reports, size))
        connection = connect(server)
        headers = {
            "Content-Type": REPORTS_MEDIA_TYPE,
            "Authorization": f"Bearer {server.token}",
        }
        spent = 0.0
        for body in bodies:
            start = time.perf_counter()
            connection.request("POST", REPORTS, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            spent += time.perf_counter() - start
            assert answer.status == 200, content
        connection.close()
        status, counts = ask(server, "GET", f"/api/v1/surveys/{published.name}/versions/1/counts")
        assert (status, counts["accepted"]) == (200, reports), counts
    return reports / spent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=10_000)
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--option", action="append", default=[], help="of hushpoll serve")
    given = parser.parse_args()
    reached = True
    for kind in given.database or DATABASES:
        with running(kind) as (_, _, published):
            pass
        alone = driver_rate(kind, published, given.reports, given.batch)
        served = served_rate(kind, given.reports, given.batch, given.option)
        print(
            f"{kind}: {given.reports:,} reports in batches of {given.batch:,}: driver alone "
            f"{alone:,.0f}/s, over HTTP {served:,.0f}/s, ratio {served / alone:.2f} "
            f"(goal {GOAL})",
            flush=True,
        )
        reached &= served >= GOAL * alone
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
