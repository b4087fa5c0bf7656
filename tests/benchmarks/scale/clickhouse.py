"""The same reports in ClickHouse, embedded (chdb): what it takes, keeps, counts, and lets in twice.

chdb is no dependency of this project: run this module with a Python that has it as well as
hushpoll-server, ``python -m benchmarks.scale.clickhouse --json FILE``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from chdb import session

from benchmarks.collecting import DRAFT, ids
from benchmarks.scale.costs import drawn
from benchmarks.scale.keeping import circumstances, keep
from hushpoll_analysis import Records
from hushpoll_analysis.records.counts import count
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.survey.published import Published

# One machine has no second copy: what is acknowledged must be on its disk.
DURABLE = "fsync_after_insert = 1, fsync_part_directory = 1"
BIT_ATTRIBUTE = "age"  # OUE: a bit for each category
LOOK_UPS = 200
SINGLE = 200


class ClickHouse:
    """An embedded server in a folder, with the tables that the measurements need."""

    def __init__(self, folder: Path, record_size: int) -> None:
        self._folder = folder
        self._session = session.Session(str(folder / "data"))
        columns = "version_id UInt32, day Date, report_id FixedString(16)"
        self._row = f"{columns}, record FixedString({record_size})"
        self.run("CREATE DATABASE scale ENGINE = Atomic")

    def run(self, statement: str, form: str = "JSONCompact") -> Any:
        """Run a statement."""
        return self._session.query(statement, form)

    def rows(self, statement: str) -> list[tuple[int, ...]]:
        """Return rows of whole numbers."""
        text = str(self.run(statement, "CSV")).strip()
        return [tuple(int(cell) for cell in line.split(",")) for line in text.splitlines()]

    def create(self, table: str, settings: str = DURABLE) -> str:
        """Create a table of reports by survey and day, in the order of their ids."""
        self.run(f"""
            CREATE TABLE scale.{table} ({self._row}) ENGINE = MergeTree
            PARTITION BY (version_id, day) ORDER BY report_id SETTINGS {settings}
        """)
        return f"scale.{table}"

    def file(self, some_ids: Any, records: Any) -> str:
        """Write rows as ClickHouse reads them fastest, and return what selects them."""
        size = records.shape[1]
        rows = np.empty(
            len(records),
            np.dtype(
                [("version", "<u4"), ("day", "<u2"), ("id", "u1", 16), ("record", "u1", size)]
            ),
        )
        rows["version"], rows["day"], rows["id"], rows["record"] = 1, 20_000, some_ids, records
        path = self._folder / "rows.bin"
        path.write_bytes(rows.tobytes())
        return f"SELECT * FROM file('{path}', 'RowBinary', '{self._row}')"

    def close(self) -> None:
        """End it."""
        self._session.close()


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Return the processor and the wall seconds of `work`; its background threads count."""
    own, wall = time.process_time(), time.perf_counter()
    work()
    return {"own": time.process_time() - own, "wall": time.perf_counter() - wall}


def measure(reports: int) -> dict[str, Any]:
    """Measure everything on so many reports."""
    published = Manifest.from_dict(DRAFT).resolve()
    with tempfile.TemporaryDirectory(prefix="hushpoll-clickhouse-") as folder:
        house = ClickHouse(Path(folder), published.layout.record_size)
        try:
            measured: dict[str, Any] = {
                "version": str(house.run("SELECT version()", "CSV")).strip('"\n')
            }
            measured["insert"] = {
                str(size): _insert(house, published, reports, size)
                for size in (10_000, 100_000, 1_000_000)
            }
            measured["single"] = _single(house, published)
            measured["kept"] = _kept(house)
            measured["look_up"] = _look_up(house, reports)
            measured["new_among_sealed"] = _anti_join(house, reports)
            measured["counts"] = _counts(house, published, reports)
            measured["repeats"] = _repeats(house, published)
        finally:
            house.close()
    return measured


def _insert(house: ClickHouse, published: Published, reports: int, size: int) -> dict[str, float]:
    """Insert in blocks of one size; the last table is that of the later measurements."""
    house.run("DROP TABLE IF EXISTS scale.inbox SYNC")
    table = house.create("inbox")
    spent = {"own": 0.0, "wall": 0.0}
    for some_ids, some in drawn(published, reports, size):
        select = house.file(some_ids, some)
        for name, value in timed(lambda: house.run(f"INSERT INTO {table} {select}")).items():  # noqa: B023
            spent[name] += value
    merging = timed(lambda: house.run(f"OPTIMIZE TABLE {table} FINAL"))
    return {
        "own": spent["own"] / reports,
        "rate": reports / spent["wall"],
        "merging": merging["own"] / reports,
    }


def _single(house: ClickHouse, published: Published) -> dict[str, float]:
    """Insert rows one by one, each durable before the next."""
    table = house.create("single")
    selects = [(some, rec) for some, rec in drawn(published, SINGLE, 1)]
    spent = {"own": 0.0, "wall": 0.0}
    for some_ids, some in selects:
        select = house.file(some_ids, some)
        for name, value in timed(lambda: house.run(f"INSERT INTO {table} {select}")).items():  # noqa: B023
            spent[name] += value
    return {"own": spent["own"] / SINGLE, "wall": spent["wall"] / SINGLE}


def _kept(house: ClickHouse) -> dict[str, float]:
    """Return bytes on disk for a report: of its id and of its record."""
    columns = house.run(
        "SELECT column, toString(sum(column_bytes_on_disk) / sum(rows)) FROM system.parts_columns "
        "WHERE active AND table = 'inbox' GROUP BY column",
        "CSV",
    )
    pairs = [line.replace('"', "").split(",") for line in str(columns).strip().splitlines()]
    sizes = {name: float(size) for name, size in pairs}
    ((size, rows),) = house.rows(
        "SELECT sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND table = 'inbox'"
    )
    return {**sizes, "all": size / rows}


def _look_up(house: ClickHouse, reports: int) -> dict[str, float]:
    """Ask of one id at a time whether it is there."""
    rng = np.random.default_rng(5)
    wanted = [bytes(report_id).hex() for report_id in ids(LOOK_UPS, rng)]

    def ask() -> None:
        for report_id in wanted:
            house.run(f"SELECT count() FROM scale.inbox WHERE report_id = unhex('{report_id}')")

    spent = timed(ask)
    return {name: value / LOOK_UPS for name, value in spent.items()}


def _anti_join(house: ClickHouse, reports: int) -> dict[str, float]:
    """Find which of a tenth as many new ids are not among those that are there."""
    new = reports // 10
    house.run(
        "CREATE TABLE scale.new (report_id FixedString(16)) ENGINE = MergeTree ORDER BY report_id"
    )
    house.run(f"INSERT INTO scale.new SELECT randomFixedString(16) FROM numbers({new})")
    rows: list[tuple[int, ...]] = []
    spent = timed(
        lambda: rows.extend(
            house.rows(
                "SELECT uniqExact(report_id) FROM scale.new AS new "
                "LEFT ANTI JOIN scale.inbox AS inbox USING report_id"
            )
        )
    )
    assert rows == [(new,)], rows
    return {name: value / new for name, value in spent.items()}


def _counts(house: ClickHouse, published: Published, reports: int) -> dict[str, float]:
    """Count the support of every category: of one attribute by SQL, of all by this project."""
    field = published.layout.field(BIT_ATTRIBUTE)
    categories = len(published.attribute(BIT_ATTRIBUTE).domain)
    bits = ", ".join(
        f"sum(bitTest(reinterpretAsUInt8(substring(record, {field.offset + place // 8 + 1}, 1)), "
        f"{place % 8}))"
        for place in range(categories)
    )
    by_sql: list[tuple[int, ...]] = []
    sql = timed(lambda: by_sql.extend(house.rows(f"SELECT {bits} FROM scale.inbox")))
    size = published.layout.record_size

    def fetched() -> Any:
        data = house.run("SELECT record FROM scale.inbox", "RowBinary").bytes()
        return np.frombuffer(data, np.uint8).reshape(-1, size)

    blocks: list[Any] = []
    fetching = timed(lambda: blocks.append(fetched()))
    count(Records(published, blocks[0][:1000]))  # compiled before it is measured
    ours: list[Any] = []
    kernels = timed(lambda: ours.append(count(Records(published, blocks[0]))))
    assert len(blocks[0]) == reports
    assert tuple(ours[0].support[BIT_ATTRIBUTE]) == by_sql[0]
    return {
        "sql_one_attribute": sql["own"] / reports,
        "fetch": fetching["own"] / reports,
        "kernels_all_attributes": kernels["own"] / reports,
    }


def _repeats(house: ClickHouse, published: Published) -> dict[str, int]:
    """Send 1,000 reports again in several ways; return how many rows there are then."""
    ((some_ids, some),) = drawn(published, 1000, 1000)
    rows = [
        f"(1, 20000, unhex('{bytes(report_id).hex()}'), unhex('{bytes(record).hex()}'))"
        for report_id, record in zip(some_ids, some, strict=True)
    ]
    repeats = {}
    windowed = f"{DURABLE}, non_replicated_deduplication_window = 100"
    for name, settings in {"as it comes": DURABLE, "with a window": windowed}.items():
        for case, second in {
            "the same block": rows,
            "the same rows in another order": rows[::-1],
            "half of the block": rows[:500],
        }.items():
            house.run("DROP TABLE IF EXISTS scale.repeats SYNC")
            table = house.create("repeats", settings)
            for some_rows in (rows, second):
                house.run(
                    f"INSERT INTO {table} SETTINGS async_insert = 0 VALUES {', '.join(some_rows)}"
                )
            ((number,),) = house.rows(f"SELECT count() FROM {table}")
            repeats[f"{name}: {case}"] = number
    return repeats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--reports", type=int, default=5_000_000)
    arguments = parser.parse_args()
    measured = measure(arguments.reports)
    command = "python -m benchmarks.scale.clickhouse"
    keep(arguments.json, "clickhouse", {**circumstances(command, ("chdb",)), "found": measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
