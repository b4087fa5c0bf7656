"""Measures sealing of Adult's survey beside a bare read of the same rows, and large estimates.

The bare read is one ``SELECT report_id, record`` of the rows that are sealed next, through the
unchanged driver, fetched as a list of tuples: no seal that handles each report could do less. The
read makes nothing durable, while a seal ends with everything on the disk and the log emptied.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.adult import MIXED, draft, load_codes
from benchmarks.harness import REPEATS, Figure, against, alternate, announced, seconds
from hushpoll_analysis import Records
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_server import create_app
from hushpoll_server.processes.web import settle
from hushpoll_server.store.reports import Batch
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many

SEAL_GOAL = 0.5
ESTIMATE_LIMIT_MS = 50.0
QUESTIONS = 300
PAUSE_SECONDS = 0.002
VERSION = "/api/v1/surveys/adult/versions/1"
READ = "SELECT report_id, record FROM inbox WHERE version_id = 1"
DISTINCT_ROWS = 100_000
BATCH = 100_000


class Adult:
    """A server with Adult's survey, and reports to put into its inbox."""

    def __init__(self, url: str, data: Path) -> None:
        codes = load_codes(data / "adult_26k.csv")
        # Otherwise nothing is told before the first midnight.
        document = draft(codes, protocols=MIXED, split="k-based") | {"release": "immediate"}
        self.app = create_app({"DATABASE_URL": url, "SEALING": "worker"})
        self.parts = self.app.extensions["hushpoll"]
        token = self.parts.access.first_admin()
        self.headers = {"Authorization": f"Bearer {token}"}
        self.client = self.app.test_client()
        answer = self.client.post("/api/v1/surveys", json=document, headers=self.headers)
        assert answer.status_code == 201, answer.get_data(as_text=True)
        self.row = self.parts.surveys.version("adult", 1)
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, len(codes), DISTINCT_ROWS)
        survey = Manifest.from_dict(document).resolve()
        values = {name: codes[name].to_numpy()[drawn] for name in codes}
        self._records = encode_many(survey, values, rng)
        self._rng = rng

    def fill(self, rows: int) -> None:
        """Put reports with new ids into the inbox, as bulk uploads do, in larger batches."""
        for done in range(0, rows, BATCH):
            size = min(BATCH, rows - done)
            ids = self._rng.integers(0, 256, (size, 16), dtype=np.uint8)
            records = self._records[self._rng.integers(0, len(self._records), size)]
            (outcomes,) = self.parts.reports.insert([Batch(self.row.id, ids, records)])
            assert outcomes is not None
            assert len(outcomes) == size
        self.parts.database.vacuum()

    def read(self) -> int:
        """Read the inbox through the driver, and return how many reports it holds."""
        raw = self.parts.database.engine.raw_connection()
        try:
            cursor = raw.cursor()
            cursor.execute(READ)
            return len(cursor.fetchall())
        finally:
            raw.close()

    def waiting(self) -> list[npt.NDArray[np.uint8]]:
        """Return the records of the inbox, as blocks of uint8[n, L]."""
        with self.parts.database.reading() as connection:
            size = self.row.record_size
            _, records = self.parts.database.inbox.read_inbox(connection, self.row.id, size)
        return [np.frombuffer(records, np.uint8).reshape(-1, size)]

    def seal(self) -> int:
        """Seal the inbox, and return how many reports it held."""
        return int(self.parts.sealing.seal(self.row))


@contextmanager
def databases() -> Iterator[dict[str, str]]:
    """URLs of an SQLite file and of a PostgreSQL database."""
    from postgres import PostgreSQL

    with tempfile.TemporaryDirectory() as folder, PostgreSQL() as server:
        yield {
            "SQLite": f"sqlite:///{folder}/adult.sqlite",
            "PostgreSQL": server.create("hushpoll_bench"),
        }


def sealing(data: Path, scale: float) -> list[Figure]:
    """Seal inboxes of the default size and of a busy minute, several times each."""
    figures = []
    with databases() as urls:
        for name, url in urls.items():
            adult = Adult(url, data)
            adult.fill(10_000)
            adult.seal()  # compiled before it is timed
            sealed = 10_000
            for rows in (10_000, int(200_000 * scale), 10_000):
                with announced(f"sealing {rows:,} reports on {name}"):
                    pairs = [_pair(adult, rows) for _ in range(REPEATS)]
                before, sealed = sealed, sealed + REPEATS * rows
                figures.append(
                    against(
                        f"sealing {rows:,} of Adult's reports on {name}, {before:,} to {sealed:,} "
                        "sealed: ids, segments, counts and all pairs",
                        unit="µs/report",
                        ours=statistics.median(ours for ours, _ in pairs) / rows * 1e6,
                        peer=statistics.median(peer for _, peer in pairs) / rows * 1e6,
                        peer_name="bare read of the same rows",
                        goal=SEAL_GOAL,
                    )
                )
            if name == "SQLite":
                figures.append(_counting(adult, int(200_000 * scale)))
            adult.parts.stop()
    return figures


def _counting(adult: Adult, rows: int) -> Figure:
    """Measure the part of a seal that is ours and not the database's: counts and all pairs."""
    adult.fill(rows)
    (blocks,) = adult.waiting()
    survey = adult.parts.surveys.published(adult.row)
    with announced(f"counting {rows:,} reports and all pairs"):
        ours, peer = alternate(lambda: count_pairs(Records(survey, blocks)), adult.read)
    return against(
        f"counting {rows:,} of Adult's reports: every category and all pairs",
        unit="µs/report",
        ours=ours / rows * 1e6,
        peer=peer / rows * 1e6,
        peer_name="bare read of the same rows",
        goal=SEAL_GOAL,
    )


def _pair(adult: Adult, rows: int) -> tuple[float, float]:
    adult.fill(rows)
    sizes: list[int] = []
    peer = seconds(lambda: sizes.append(adult.read()))
    ours = seconds(lambda: sizes.append(adult.seal()))
    assert sizes == [rows, rows], sizes
    return ours, peer


def estimates(data: Path, scale: float) -> list[Figure]:
    """Ask for the estimates of ten million reports, through the app."""
    rows, step = int(10_000_000 * scale), int(1_000_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        adult = Adult(f"sqlite:///{folder}/adult.sqlite", data)
        with announced(f"sealing {rows:,} reports (not part of the figure)"):
            for _ in range(rows // step):
                adult.fill(step)
                adult.seal()
        settle()  # as the web process does
        asked: dict[str, Callable[[], Any]] = {
            path: lambda path=path: adult.client.get(VERSION + path, headers=adult.headers)
            for path in (
                "/estimates",
                "/cross-tables?a=age&b=education",
                "/conditional-shares?of=education&given=age",
                "/conditional-shares?of=education&given=age&reference=3",
            )
        }
        figures = []
        for path, ask in asked.items():
            assert ask().get_json()["n"] == rows
            with announced(f"{QUESTIONS} questions {path}"):
                times = []
                for _ in range(QUESTIONS):
                    time.sleep(PAUSE_SECONDS)
                    start = time.perf_counter()
                    assert ask().status_code == 200
                    times.append(time.perf_counter() - start)
            name, _, query = path.partition("?")
            name += " with differences" if "reference" in query else ""
            figures.append(
                against(
                    f"{name} of {rows:,} reports, 99th of 100",
                    unit="ms",
                    ours=float(np.quantile(times, 0.99)) * 1e3,
                    peer=ESTIMATE_LIMIT_MS,
                    peer_name="limit",
                    goal=1,
                    repeats=QUESTIONS,
                )
            )
        figures.append(_against_pandas(adult, asked["/cross-tables?a=age&b=education"], rows))
        adult.parts.stop()
    return figures


def _against_pandas(adult: Adult, ask: Callable[[], Any], rows: int) -> Figure:
    """Compare a cross-table with what an analyst would do with as many answers in clear."""
    survey = adult.parts.surveys.published(adult.row)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(
                rng.integers(0, survey.attribute(name).k, rows).astype(np.int8),
                categories=list(survey.attribute(name).domain),
            )
            for name in ("age", "education")
        }
    )
    pairs = list(frame)
    ours, peer = alternate(ask, lambda: frame.groupby(pairs, observed=False).size())
    return against(
        f"/cross-tables of {rows:,} reports, with intervals",
        unit="ms",
        ours=ours * 1e3,
        peer=peer * 1e3,
        peer_name="pandas groupby of as many answers in clear, held in memory",
        goal=1,
    )
