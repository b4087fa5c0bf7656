"""How many reports of a version analysts could know of by each day.

A release is noted with its day and its total, so this is as fine as the releases are. Of a version
that releases immediately each seal counts as one. The history cannot be told from the reports
themselves, which keep no time.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, insert, select, update

from hushpoll_server.store.schema import release_days, versions
from hushpoll_shared.survey.terms import IMMEDIATE


def read_totals(connection: Connection, version_id: int) -> list[tuple[str, int]]:
    """Return the days (YYYY-MM-DD, UTC) and the totals at their end, the oldest first."""
    statement = (
        select(release_days.c.day, release_days.c.reports)
        .where(release_days.c.version_id == version_id)
        .order_by(release_days.c.day)
    )
    return [(str(day), int(reports)) for day, reports in connection.execute(statement)]


def note_total(connection: Connection, version_id: int, *, at: int, reports: int) -> None:
    """Write a version's total as that of the day of `at`, in seconds since 1970, UTC.

    A day on which nothing new is known gets no row.
    """
    day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
    own = release_days.c.version_id == version_id
    newest = connection.execute(
        select(release_days.c.reports).where(own).order_by(release_days.c.day.desc()).limit(1)
    ).scalar()
    if newest == reports or (newest is None and reports == 0):
        return
    changed = connection.execute(
        update(release_days).where(own, release_days.c.day == day).values(reports=reports)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(release_days).values(version_id=version_id, day=day, reports=reports)
        )


def note_sealed(connection: Connection, version_id: int, *, at: int, reports: int) -> None:
    """Do as `note_total` for a version whose sealed reports are released at once."""
    release = select(versions.c.release).where(versions.c.id == version_id)
    if connection.execute(release).scalar() == IMMEDIATE:
        note_total(connection, version_id, at=at, reports=reports)
