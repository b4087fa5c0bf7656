"""Kills at random moments under load: what was acknowledged is stored, and counted once.

``scripts/kill9`` runs it at full length, ``tests/server/test_killed.py`` briefly.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import text

from chunks import unpack
from hushpoll_server.store.database import Database
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.records_file import read_records
from postgres import PostgreSQL
from sample_survey import VERSION, make_draft
from served import Load, Process
from waiting import wait_until

# Folded every few moments, so that kills fall into folds as well.
OPTIONS = ("--seal-at", "2", "--log-level", "error")
THREADS = 6
LEAST_REPORTS = 5
LATEST_SECONDS = 0.6


class Trial:
    """One survey on one database, its server, and everything that was sent to it.

    Parameters
    ----------
    directory : Path
        Of the server's errors, and of SQLite's file.
    database_url : str
        The database.
    postgres : PostgreSQL or None
        What is killed; None: the server.
    seed : int
        Of the moments.
    """

    def __init__(
        self, directory: Path, database_url: str, *, postgres: PostgreSQL | None, seed: int
    ) -> None:
        self._directory = directory
        self._url = database_url
        self._postgres = postgres
        self._chooser = random.Random(seed)
        self._server = self._start()
        self._published = self._server.publish(make_draft(minimum_batch=5))
        self.acknowledged: dict[bytes, wire.Report] = {}
        self.unanswered: dict[bytes, wire.Report] = {}

    def kill(self, number: int) -> None:
        """Kill once, at a random moment under load, and look at what is stored."""
        load = Load(self._server, self._published, threads=THREADS)
        load.wait_for(LEAST_REPORTS)
        time.sleep(self._chooser.uniform(0, LATEST_SECONDS))
        restart = self._postgres is None or number % 2 == 1
        if self._postgres is not None:
            self._postgres.kill()
        if restart:
            self.end()
        load.stop()
        self.acknowledged |= load.acknowledged
        self.unanswered |= load.unanswered
        if self._postgres is not None:
            self._postgres.start_again()
        self.check()
        if restart:
            self._server = self._start()

    def check(self) -> None:
        """Every acknowledged report is stored, and none twice."""
        database = Database(self._url)
        try:
            with database.reading() as connection:

                def column(statement: str) -> list[Any]:
                    return list(connection.execute(text(statement)).scalars())

                waiting = set(column("SELECT report_id FROM inbox"))
                sealed = set(unpack(column("SELECT ids FROM sealed_ids")))
                (rows,) = column("SELECT coalesce(sum(reports), 0) FROM segments")
                counted = column("SELECT reports FROM aggregates")
        finally:
            database.close()
        assert not waiting & sealed, "an id both waits and is sealed"
        lost = self.acknowledged.keys() - waiting - sealed
        assert not lost, f"{len(lost)} acknowledged reports are lost"
        assert rows == len(sealed), f"{rows} records of {len(sealed)} sealed reports"
        assert counted in ([], [rows]), f"{counted} counted of {rows} sealed reports"

    def finish(self) -> int:
        """Send everything again, close, and compare the export with what was sent."""
        everything = self.acknowledged | self.unanswered
        first = {self._sent(report) for report in self.unanswered.values()}
        assert first <= {200, 201}, first
        again = {self._sent(report) for report in everything.values()}
        assert again == {200}, again
        self._server.post(f"{VERSION}/close", {"grace_seconds": 0})
        status, body = self._server.request(f"{VERSION}/records", **self._server.admin)
        assert status == 200
        _, records = read_records(body)
        sent = Counter(report.record for report in everything.values())
        assert Counter(map(bytes, records)) == sent, "the export is not what was sent"
        self.check()
        return len(everything)

    def end(self) -> None:
        """Kill every process of the server."""
        self._server.kill()

    def _start(self) -> Process:
        return Process(self._directory, *OPTIONS, database_url=self._url)

    def _sent(self, report: wire.Report) -> int:
        # The server may meet, once per connection that it kept, a database that was killed.
        def status() -> int:
            answered: int = self._server.send(self._published, report)[0]
            return 0 if answered == 503 else answered

        return wait_until(status, pause=0.1)


def killed(times: int, directory: Path, *, postgres: PostgreSQL | None, seed: int) -> str:
    """Kill `times` times; return what was found, in words. Every failure is an AssertionError."""
    url = f"sqlite:///{directory}/hushpoll.sqlite" if postgres is None else postgres.create("kill")
    trial = Trial(directory, url, postgres=postgres, seed=seed)
    try:
        for number in range(times):
            trial.kill(number)
        total = trial.finish()
    finally:
        trial.end()
    return (
        f"{times} kills of {'the server' if postgres is None else 'PostgreSQL'}: "
        f"{len(trial.acknowledged):,} reports acknowledged, 0 lost; "
        f"{len(trial.unanswered):,} unanswered and sent again; {total:,} counted, none twice"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        if given.database == "sqlite":
            found = killed(given.times, Path(folder), postgres=None, seed=given.seed)
        else:
            with PostgreSQL() as server:
                found = killed(given.times, Path(folder), postgres=server, seed=given.seed)
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
