"""The tables of docs/explanation/scale.md, made of docs/scale.json."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchmarks.scale.needs import (
    PER_DAY,
    SEAL_BULK,
    SEAL_SINGLE,
    Measured,
    id_seconds,
    ids_written,
    look_seconds,
    needs,
)

DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def tables(measured: Measured) -> dict[str, str]:
    """Return each table by its name in the page."""
    return {
        "costs": _costs(measured),
        "linear": _linear(measured),
        "simulation": _simulation(measured),
        "growth": _growth(measured),
        "ids": _ids(),
        "needs": _needs(measured),
        "clickhouse": _clickhouse(measured),
    }


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _micro(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def _bytes(size: float) -> str:
    for unit, factor in {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}.items():
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.3g} B"


def _count(number: float) -> str:
    if number < 0.01:
        return "under 0.01"
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"


def _costs(measured: Measured) -> str:
    kinds = [kind for kind in DATABASES if f"costs-{kind}" in measured]
    columns = []
    for kind in kinds:
        costs = measured[f"costs-{kind}"]["found"]
        size = max(costs["stored"], key=int)
        n, most = int(size), costs["stored"][size]
        steps = most["steps"]
        rows = {}
        for connections, cost in costs["single"].items():
            rows[f"one report over {connections} connections: ingest process"] = _micro(
                cost["server"]
            )
            rows[f"the same: database, {connections} connections"] = (
                _micro(cost["database"]) if cost["database"] else "in the process"
            )
            rows[f"the same: reports in a commit, {connections} connections"] = (
                f"{cost['reports_per_commit']:.3g}"
            )
        bulk = most["bulk"]
        seal, parquet, dask = steps["seal"], steps["parquet"], steps["dask"]
        answer = steps["estimates"]
        rows |= {
            "a report in a batch of 10,000: ingest process": _micro(bulk["server"]),
            "the same: database": (
                _micro(bulk["database"]) if bulk["database"] else "in the process"
            ),
            f"sealing, {n:,} at once: all processes": _micro((seal["own"] + seal["database"]) / n),
            "sealing: peak of memory": _bytes(seal["peak"]),
            "estimates: one answer": f"{(answer['own'] + answer['database']) / 50 * 1e3:.3g} ms",
            "export to Parquet": _micro((parquet["own"] + parquet["database"]) / n),
            "Dask: read and count it": _micro(dask["workers"] / n),
            "bytes in the inbox": f"{most['waiting']['inbox'] / n:.3g}",
            "bytes of a sealed record (42 sent)": f"{seal['kept']['segments'] / n:.3g}",
            "bytes of a sealed id (16 sent)": f"{seal['kept']['sealed_ids'] / n:.3g}",
            "bytes in Parquet": f"{parquet['bytes'] / n:.3g}",
        }
        single = costs["single"]["256"]
        if single["logged"] is not None:
            rows["bytes of log (WAL): one by one, in bulk, sealing"] = (
                f"{single['logged']:.3g}, {bulk['logged']:.3g}, {bulk['logged_sealing']:.3g}"
            )
        columns.append(rows)
    names = list(dict.fromkeys(name for rows in columns for name in rows))
    return _table(
        ["a report costs", *(DATABASES[kind] for kind in kinds)],
        [[name, *(rows.get(name, "") for rows in columns)] for name in names],
    )


def _linear(measured: Measured) -> str:
    rows = []
    for kind, name in DATABASES.items():
        stored = measured.get(f"costs-{kind}", {"found": {"stored": {}}})["found"]["stored"]
        for size in sorted(stored, key=int):
            n, steps = int(size), stored[size]["steps"]
            seal, answer = steps["seal"], steps["estimates"]
            rows.append(
                [
                    name,
                    f"{n:,}",
                    f"{stored[size]['waiting']['inbox'] / n:.3g}",
                    f"{seal['kept']['segments'] / n:.3g}",
                    f"{seal['kept']['sealed_ids'] / n:.3g}",
                    _micro((seal["own"] + seal["database"]) / n),
                    f"{(answer['own'] + answer['database']) / 50 * 1e3:.3g} ms",
                    f"{steps['parquet']['bytes'] / n:.3g}",
                ]
            )
    head = ["", "reports", "inbox, bytes each", "record", "id", "sealing", "estimates", "Parquet"]
    return _table(head, rows)


def _simulation(measured: Measured) -> str:
    steps = measured["simulate-postgresql"]["found"]["steps"]
    rows = []
    for before, after in pairwise(steps):
        n = after["reports"] - before["reports"]
        spent = {
            role: (after["seconds"][role] - before["seconds"][role]) / n
            for role in ("ingest", "web", "database")
        }
        rows.append(
            [
                f"{after['reports']:,}",
                f"{after['sealed']:,}",
                str(after["seals"]),
                f"{n / (after['wall'] - before['wall']):,.0f}",
                *(_micro(spent[role]) for role in ("ingest", "web", "database")),
                f"{(after['logged'] - before['logged']) / n:.0f}",
            ]
        )
    head = ["reports", "sealed", "sealings", "a second", "ingest", "web", "database", "log, bytes"]
    return _table(head, rows)


def _growth(measured: Measured) -> str:
    run = measured["simulate-postgresql"]["found"]
    ended, after, n = run["ended"], run["after"], run["reports"]
    spent = sum(ended["seconds"].values())
    dask, parquet, answer = after["dask"], after["parquet"], after["estimates"]
    rows = {
        "writing an id once more": _micro(id_seconds(measured)),
        "looking for a new id among those sealed": _micro(look_seconds(measured)),
        f"ending the version, {n:,} reports: processor time": f"{spent:.2g} s",
        "the same: log": _bytes(ended["logged"]),
        "peak memory of the web process": _bytes(ended["peaks"]["web"]),
        "slowest batch": f"{ended['slowest_batch']:.2g} s",
        "tables of records and of ids after it, bytes a report": (
            f"{run['kept']['segments'] / n:.3g}, {run['kept']['sealed_ids'] / n:.3g}"
        ),
        f"estimates of {n:,}": f"{(answer['own'] + answer['database']) / 50 * 1e3:.3g} ms",
        "export to Parquet, a report": (
            f"{_micro((parquet['own'] + parquet['database']) / n)}, "
            f"{parquet['bytes'] / n:.3g} bytes, peak {_bytes(parquet['peak'])}"
        ),
        "Dask, a report": _micro(dask["workers"] / n),
    }
    return _table(["after the simulation", ""], [list(row) for row in rows.items()])


def _ids() -> str:
    return _table(
        ["reports of a version", f"sealed {SEAL_SINGLE:,} at a time", f"{SEAL_BULK:,} at a time"],
        [
            [f"{n:,}", *(f"{ids_written(n, seal):.3g}" for seal in (SEAL_SINGLE, SEAL_BULK))]
            for n in (10**6, 10**7, 10**8, 10**9)
        ],
    )


def _needs(measured: Measured) -> str:
    days = [needs(measured, n) for n in PER_DAY]
    rows = {
        "reports a second at the peak": [_count(day.rate) for day in days],
        "one by one: ingest processes": [f"{day.single_processes}" for day in days],
        "the same: processors of the database": [_count(day.single_database) for day in days],
        "the same: commits a second": [_count(day.single_commits) for day in days],
        "in bulk: processors of ingest": [_count(day.bulk_processors) for day in days],
        "the same: of the database": [_count(day.bulk_database) for day in days],
        "sealing, all in one version: share of the time": [_count(day.one_version) for day in days],
        "the same, sealed 1,000,000 at a time": [_count(day.one_version_larger) for day in days],
        "sealing, in 16 parts: share of each part's time": [
            _count(day.sixteen_parts) for day in days
        ],
        "log a day": [_bytes(day.log_bytes) for day in days],
        "log a second at the peak": [_bytes(day.log_rate) for day in days],
        "inbox, where sealing keeps up": [_bytes(day.inbox_bytes) for day in days],
        "sealed records a day": [_bytes(day.records_bytes) for day in days],
        "the same while a version ends": [_bytes(day.end_bytes) for day in days],
        "sealed ids a day, kept for ever": [_bytes(day.ids_bytes) for day in days],
        "Parquet a day": [_bytes(day.parquet_bytes) for day in days],
        "export: processor seconds": [_count(day.parquet_seconds) for day in days],
        "Dask: processor seconds to read it": [_count(day.dask_seconds) for day in days],
        "Dask: processes that read it in an hour": [f"{day.dask_workers}" for day in days],
    }
    head = ["", *(f"{n:,} a day" for n in PER_DAY)]
    return _table(head, [[name, *cells] for name, cells in rows.items()])


def _clickhouse(measured: Measured) -> str:
    result = measured["clickhouse"]["found"]
    kept, insert = result["kept"], result["insert"]
    rows = [
        [f"insert in blocks of {int(size):,}, durable", _micro(cost["own"] + cost["merging"])]
        for size, cost in insert.items()
    ]
    rows += [
        ["insert of one row, durable", _micro(result["single"]["own"])],
        ["bytes of a record (42 sent), of an id", f"{kept['record']:.3g}, {kept['report_id']:.3g}"],
        ["look for one id", _micro(result["look_up"]["own"])],
        ["look for new ids among all, joined: each", _micro(result["new_among_sealed"]["own"])],
        [
            "support counts of one attribute (74 categories) by SQL",
            _micro(result["counts"]["sql_one_attribute"]),
        ],
        ["fetch records in blocks", _micro(result["counts"]["fetch"])],
        ["count all attributes by our kernels", _micro(result["counts"]["kernels_all_attributes"])],
    ]
    rows += [
        [f"1,000 rows, then again; {name}", f"{number:,} rows"]
        for name, number in result["repeats"].items()
    ]
    return _table([f"ClickHouse {result['version']}", "processor time of a report"], rows)
