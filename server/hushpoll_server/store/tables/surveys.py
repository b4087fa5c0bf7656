"""Surveys and their published versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import surveys, versions
from hushpoll_server.store.tables import closing


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """One published survey version. Times are seconds since 1970, UTC.

    ``ended``: no report is taken any more, whatever a process's clock says. ``release``: when
    analysts are given reports. ``next_release``: the present period's end.
    """

    id: int
    survey_id: int
    name: str
    version: int
    digest: str
    title: str
    record_size: int
    minimum_batch: int
    opens: int | None
    closes: int | None
    closed_at: int | None
    accepts_until: int | None
    ended: bool
    release: str
    next_release: int | None


_COLUMNS = (
    versions.c.id,
    versions.c.survey_id,
    surveys.c.name,
    versions.c.version,
    versions.c.digest,
    versions.c.title,
    versions.c.record_size,
    versions.c.minimum_batch,
    versions.c.opens,
    versions.c.closes,
    versions.c.closed_at,
    versions.c.accepts_until,
    versions.c.ended,
    versions.c.release,
    versions.c.next_release,
)


class SurveyStore:
    """Statements on surveys and versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def publish(self, *, name: str, canonical: bytes, **columns: Any) -> tuple[VersionRow, bool]:
        """Insert a version; where the name has that version already, return what is there.

        Returns
        -------
        row : VersionRow
            The version; the caller compares digests, an equal one is the same publication again.
        created : bool
            Whether it was inserted.
        """
        with self._database.writing(catalogue=True) as connection:
            survey_id = _survey_id(connection, name)
            if survey_id is None:
                result = connection.execute(insert(surveys).values(name=name))
                survey_id = int(result.inserted_primary_key[0])  # type: ignore[index]  # one key
            there = connection.execute(
                _select().where(
                    versions.c.survey_id == survey_id, versions.c.version == columns["version"]
                )
            ).one_or_none()
            created = there is None
            if there is None:
                connection.execute(
                    insert(versions).values(survey_id=survey_id, canonical=canonical, **columns)
                )
                there = connection.execute(
                    _select().where(versions.c.digest == columns["digest"])
                ).one()
            return _row(there), created

    def all(self) -> list[VersionRow]:
        """Return every version, by name and version."""
        with self._database.reading() as connection:
            statement = _select().order_by(surveys.c.name, versions.c.version)
            return [_row(row) for row in connection.execute(statement)]

    def named(self, name: str) -> list[VersionRow]:
        """Return the versions of one survey, the highest first."""
        with self._database.reading() as connection:
            statement = _select().where(surveys.c.name == name).order_by(versions.c.version.desc())
            return [_row(row) for row in connection.execute(statement)]

    def by_digest(self, digest: str) -> VersionRow | None:
        """Return the version with this digest."""
        with self._database.reading() as connection:
            row = connection.execute(_select().where(versions.c.digest == digest)).one_or_none()
            return None if row is None else _row(row)

    def by_id(self, version_id: int) -> VersionRow:
        """Return the version of this id, which exists."""
        with self._database.reading() as connection:
            return _row(connection.execute(_select().where(versions.c.id == version_id)).one())

    def canonical(self, version_id: int) -> bytes:
        """Return the published form, byte for byte as it was hashed."""
        with self._database.reading() as connection:
            statement = select(versions.c.canonical).where(versions.c.id == version_id)
            return bytes(connection.execute(statement).scalar_one())

    def close(self, version_id: int, *, closed_at: int, accepts_until: int) -> bool:
        """Close a version; return False if it was closed before.

        Once this has returned, no process takes reports of it from `accepts_until` on; a grace
        period that is over at `closed_at` ends the version for good.
        """
        with self._database.writing() as connection:
            self._database.exclude_reports(connection, version_id)
            result = connection.execute(
                update(versions)
                .where(versions.c.id == version_id, versions.c.closed_at.is_(None))
                .values(closed_at=closed_at, accepts_until=accepts_until)
            )
            if accepts_until <= closed_at and result.rowcount:
                closing.end(connection, version_id)
            return result.rowcount == 1

    def shorten(self, version_id: int, *, now: int, accepts_until: int) -> bool:
        """End a closed version's grace period earlier; return False if it ends no later anyway.

        Holds for every process once this has returned, as ``close`` does.
        """
        with self._database.writing() as connection:
            self._database.exclude_reports(connection, version_id)
            result = connection.execute(
                update(versions)
                .where(versions.c.id == version_id, versions.c.accepts_until > accepts_until)
                .values(accepts_until=accepts_until)
            )
            if accepts_until <= now:
                closing.end(connection, version_id)
            return result.rowcount == 1


def _select() -> Select[Any]:
    return select(*_COLUMNS).join(surveys, surveys.c.id == versions.c.survey_id)


def _row(row: Row[Any]) -> VersionRow:
    return VersionRow(**row._mapping)


def _survey_id(connection: Connection, name: str) -> int | None:
    found: int | None = connection.execute(
        select(surveys.c.id).where(surveys.c.name == name)
    ).scalar_one_or_none()
    return found
