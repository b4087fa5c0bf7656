"""What so many reports a day need, computed from the costs that were measured.

All of it is arithmetic on ``docs/scale.json``; the page docs/explanation/scale.md shows its tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

DAY_SECONDS = 86_400
# Two assumptions, which the page states: the busiest minutes have PEAK times the mean rate of the
# day, and a processor is planned to be busy for the share BUSY of the time.
PEAK = 5
BUSY = 0.7
PER_DAY = (10**6, 10**8, 10**9)
# Reports of one seal at the default seal_at: sent one by one, and in bulk on PostgreSQL.
SEAL_SINGLE, SEAL_BULK = 100_000, 1_000_000
# A cluster should read a day's records within this time.
READING_SECONDS = 3_600

Measured = Mapping[str, Any]


def ids_written(reports: int, seal: int) -> float:
    """Return how many ids a version of so many reports writes for each, in seals of one size.

    The rule is that of ``store.segment_store``: a seal writes the young list anew, or the young
    and the old list merged, whichever costs less in the long run. The last merging of a version
    that is over is not counted.
    """
    young = old = written = 0
    for start in range(0, reports, seal):
        new = min(seal, reports - start)
        if (young + new) ** 2 > 2 * new * old:
            old, young = old + young + new, 0
            written += old
        else:
            young += new
            written += young
    return written / reports


def id_seconds(measured: Measured) -> float:
    """Return processor seconds of writing a sealed id once more.

    Ending the simulated version wrote all its ids again and shuffled all its records. The latter
    alone is what ending a version costs whose ids are all in one list.
    """
    simulated = measured["simulate-postgresql"]["found"]
    both = sum(simulated["ended"]["seconds"].values()) / simulated["reports"]
    stored = measured["costs-postgresql"]["found"]["stored"]
    size = max(stored, key=int)
    end = stored[size]["steps"]["end"]
    return float(both - (end["own"] + end["database"]) / int(size))


def look_seconds(measured: Measured) -> float:
    """Return the database's seconds of looking for a new id among those sealed, in bulk.

    It is what is left of the simulation's costs after storing, sealing, and writing ids again.
    """
    # The first step compiles, and nearly nothing is sealed before its end.
    _, first, *_, last = measured["simulate-postgresql"]["found"]["steps"]
    stored, once = _stored_and_sealed(measured)
    reports = last["reports"] - first["reports"]
    sealed = last["sealed"] - first["sealed"]
    seal = last["sealed"] // last["seals"]
    again = last["sealed"] * (ids_written(last["sealed"], seal) - 1)
    known = reports * stored + sealed * once + again * id_seconds(measured)
    return (_busy(last) - _busy(first) - known) / reports


def _stored_and_sealed(measured: Measured) -> tuple[float, float]:
    """Return the database's seconds of storing a report in bulk, and all seconds of sealing it."""
    stored = measured["costs-postgresql"]["found"]["stored"]
    size = max(stored, key=int)
    step = stored[size]["steps"]["seal"]
    return stored[size]["bulk"]["database"], (step["own"] + step["database"]) / int(size)


def _busy(step: Measured) -> float:
    return float(step["seconds"]["web"] + step["seconds"]["database"])


class Needs(NamedTuple):
    """What one number of reports a day needs; rates are those of the peak."""

    reports: int
    rate: float
    single_processors: float
    single_processes: int
    single_database: float
    single_commits: float
    bulk_processors: float
    bulk_database: float
    one_version: float
    one_version_larger: float
    sixteen_parts: float
    log_bytes: float
    log_rate: float
    records_bytes: float
    ids_bytes: float
    inbox_bytes: float
    end_bytes: float
    parquet_bytes: float
    parquet_seconds: float
    dask_seconds: float
    dask_workers: int


def needs(measured: Measured, reports: int) -> Needs:
    """Derive what `reports` a day need on PostgreSQL, if one survey version takes them all."""
    costs = measured["costs-postgresql"]["found"]
    single = costs["single"]["256"]
    stored = costs["stored"][max(costs["stored"], key=int)]
    size = int(max(costs["stored"], key=int))
    bulk, steps = stored["bulk"], stored["steps"]
    ended = steps["end"]["kept"]
    rate = PEAK * reports / DAY_SECONDS
    single_seconds = rate * single["server"]
    rule = ids_written(reports, SEAL_SINGLE)
    log = reports * (single["logged"] + bulk["logged_sealing"])
    log += reports * (rule - 1) * _id_bytes(ended, size)
    return Needs(
        reports=reports,
        rate=rate,
        single_processors=single_seconds,
        single_processes=math.ceil(single_seconds / BUSY),
        single_database=rate * single["database"],
        single_commits=rate / single["reports_per_commit"],
        bulk_processors=rate * bulk["server"],
        bulk_database=rate * (bulk["database"] + look_seconds(measured)),
        one_version=rate * seal_seconds(measured, reports, SEAL_SINGLE),
        one_version_larger=rate * seal_seconds(measured, reports, SEAL_BULK),
        sixteen_parts=rate / 16 * seal_seconds(measured, reports // 16, SEAL_SINGLE),
        log_bytes=log,
        log_rate=log * PEAK / DAY_SECONDS,
        records_bytes=reports * stored_bytes(steps["seal"]["kept"], "segments", size),
        ids_bytes=reports * _id_bytes(ended, size),
        inbox_bytes=min(reports, SEAL_SINGLE) * stored_bytes(stored["waiting"], "inbox", size),
        end_bytes=reports * (ended["segments"] / size),
        parquet_bytes=reports * steps["parquet"]["bytes"] / size,
        parquet_seconds=reports * steps["parquet"]["own"] / size,
        dask_seconds=reports * steps["dask"]["workers"] / size,
        dask_workers=math.ceil(reports * steps["dask"]["workers"] / size / READING_SECONDS / BUSY),
    )


def seal_seconds(measured: Measured, reports: int, seal: int) -> float:
    """Return processor seconds of sealing one report of a version that gets so many.

    A report with the first writing of its id as measured alone; each further writing as
    the simulation says.
    """
    _, once = _stored_and_sealed(measured)
    return once + (ids_written(reports, seal) - 1) * id_seconds(measured)


def stored_bytes(kept: Measured, table: str, reports: int) -> float:
    """Return the bytes of a table for a report."""
    return float(kept[table]) / reports


def _id_bytes(kept: Measured, reports: int) -> float:
    return stored_bytes(kept, "sealed_ids", reports)
