"""What analysts and administrators set up: surveys and their versions, web origins, and tokens.

Storing reports shares a version's lock. Closing a version, shortening its grace period and sealing
its last reports hold that lock alone. So after one of these has committed, no process stores a
report of the version, however old the process's own copy of the version's row is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    case,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from hushpoll_server.store.backend import Cutoff
from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import (
    addressees,
    api_tokens,
    respondent_tokens,
    survey_origins,
    surveys,
    versions,
)


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """A published version. Times are seconds since 1970, UTC.

    ``ended``: no report is taken any more, whatever the clock of a process says. ``release``: when
    analysts are given reports. ``next_release``: the end of the present period.
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
    surveys.c.name,
    *(column for column in versions.c if column.name != "canonical"),
)


class SurveyStore(Store):
    """Statements on surveys and versions."""

    def publish(self, *, name: str, canonical: bytes, **columns: Any) -> tuple[VersionRow, bool]:
        """Insert a version, or return the one that has this number; and whether it was inserted.

        The caller compares digests: an equal one is the same publication again.
        """
        with self._database.writing(catalogue=True) as connection:
            survey_id = _survey_id(connection, name)
            if survey_id is None:
                result = connection.execute(insert(surveys).values(name=name))
                survey_id = int(result.inserted_primary_key[0])  # type: ignore[index]  # one key
            published = _select().where(
                versions.c.survey_id == survey_id, versions.c.version == columns["version"]
            )
            row = connection.execute(published).one_or_none()
            created = row is None
            if row is None:
                connection.execute(
                    insert(versions).values(survey_id=survey_id, canonical=canonical, **columns)
                )
                row = connection.execute(published).one()
            return _row(row), created

    def all(self) -> list[VersionRow]:
        """Return every version, by name and version."""
        statement = _select().order_by(surveys.c.name, versions.c.version)
        return [_row(row) for row in self._database.read(statement)]

    def named(self, name: str) -> list[VersionRow]:
        """Return the versions of one survey, the highest first."""
        statement = _select().where(surveys.c.name == name).order_by(versions.c.version.desc())
        return [_row(row) for row in self._database.read(statement)]

    def by_digest(self, digest: str) -> VersionRow | None:
        """Return the version with this digest."""
        row = self._database.read(_select().where(versions.c.digest == digest)).one_or_none()
        return None if row is None else _row(row)

    def by_id(self, version_id: int) -> VersionRow:
        """Return the version of this id, which exists."""
        return _row(self._database.read(_select().where(versions.c.id == version_id)).one())

    def canonical(self, version_id: int) -> bytes:
        """Return the published form, byte for byte as it was hashed."""
        statement = select(versions.c.canonical).where(versions.c.id == version_id)
        return bytes(self._database.read(statement).scalar_one())

    def close(self, version_id: int, *, closed_at: int, accepts_until: int) -> bool:
        """Close a version; return False if it was closed before.

        Once this has returned, no process takes reports of it from `accepts_until` on. A grace
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
                end(connection, version_id)
            # Nobody is invited or reminded any more.
            forgotten = delete(addressees).where(addressees.c.version_id == version_id)
            if connection.execute(forgotten).rowcount:
                self._database.erase_soon(addressees)
            return result.rowcount == 1

    def shorten(self, version_id: int, *, now: int, accepts_until: int) -> bool:
        """End a closed version's grace period earlier; return False if it ends before that anyway.

        As with ``close``, this holds for every process once it has returned.
        """
        with self._database.writing() as connection:
            self._database.exclude_reports(connection, version_id)
            result = connection.execute(
                update(versions)
                .where(versions.c.id == version_id, versions.c.accepts_until > accepts_until)
                .values(accepts_until=accepts_until)
            )
            if accepts_until <= now:
                end(connection, version_id)
            return result.rowcount == 1


def _select() -> Select[Any]:
    return select(*_COLUMNS).join(surveys, surveys.c.id == versions.c.survey_id)


def _row(row: Row[Any]) -> VersionRow:
    return VersionRow(**row._mapping)


def _survey_id(connection: Connection, name: str) -> int | None:
    survey_id: int | None = connection.execute(
        select(surveys.c.id).where(surveys.c.name == name)
    ).scalar_one_or_none()
    return survey_id


def accepting(connection: Connection, version_ids: Collection[int], cutoff: Cutoff) -> set[int]:
    """Return those of the versions that take reports; the caller holds their locks."""
    statement = select(versions.c.id).where(
        versions.c.id.in_(version_ids), ~versions.c.ended, _before(cutoff)
    )
    return set(connection.execute(statement).scalars())


def over(connection: Connection, cutoff: Cutoff) -> set[int]:
    """Return the versions that take no report any more and are not marked as ended."""
    statement = select(versions.c.id).where(~versions.c.ended, not_(_before(cutoff)))
    return set(connection.execute(statement).scalars())


def _before(cutoff: Cutoff) -> ColumnElement[bool]:
    """Return whether the last second of a version is still to come."""
    return and_(
        or_(
            versions.c.accepts_until.is_(None),
            versions.c.accepts_until > cutoff.accepts_until,
        ),
        or_(versions.c.closes.is_(None), versions.c.closes > cutoff.closes),
    )


def end(connection: Connection, version_id: int) -> None:
    """Mark a version as ended: no report is taken any more, whatever the clock of a process says.

    The caller holds the version's lock alone.
    """
    connection.execute(
        update(versions)
        .where(versions.c.id == version_id)
        .values(ended=True, next_release=None)  # the last seal releases the rest
    )


class OriginStore(Store):
    """Statements on the web origins whose pages may answer a survey."""

    def named(self, name: str) -> list[str]:
        """Return the origins of the survey of a name, sorted; none for an unknown one."""
        statement = (
            select(survey_origins.c.origin)
            .join(surveys, surveys.c.id == survey_origins.c.survey_id)
            .where(surveys.c.name == name)
        )
        return sorted(self._database.read(statement).scalars())

    def replace(self, survey_id: int, origins: Iterable[str]) -> None:
        """Replace the origins of a survey."""
        rows = [{"survey_id": survey_id, "origin": origin} for origin in sorted(set(origins))]
        with self._database.writing() as connection:
            connection.execute(
                delete(survey_origins).where(survey_origins.c.survey_id == survey_id)
            )
            if rows:
                connection.execute(insert(survey_origins), rows)


@dataclass(frozen=True, kw_only=True)
class ApiTokenRow:
    """A bearer token, by its hash. Times are seconds since 1970, UTC.

    `replaced_by` is the public id of its successor. `surveys` are the names of those it is for;
    None: every survey. `last_used` is the day (YYYY-MM-DD, UTC) of its last use.
    """

    id: str
    hash: bytes
    label: str
    scopes: frozenset[str]
    expires_at: int | None
    revoked: bool
    issued_at: int | None = None
    replaced_by: str | None = None
    surveys: frozenset[str] | None = None
    last_used: str | None = None


class TokenStore(Store):
    """Statements on tokens. The database has their hashes, never a token."""

    def add(self, token: ApiTokenRow) -> None:
        """Insert a bearer token."""
        self._database.write(insert(api_tokens).values(**_columns(token)))

    def add_first(self, token: ApiTokenRow) -> bool:
        """Insert a bearer token if there is no token at all; return whether it was inserted."""
        with self._database.writing(catalogue=True) as connection:
            if connection.execute(select(func.count()).select_from(api_tokens)).scalar_one():
                return False
            connection.execute(insert(api_tokens).values(**_columns(token)))
            return True

    def find(self, token_id: str) -> ApiTokenRow | None:
        """Return the bearer token of this public id."""
        row = self._database.read(
            select(api_tokens).where(api_tokens.c.id == token_id)
        ).one_or_none()
        return None if row is None else _token(row)

    def all(self) -> list[ApiTokenRow]:
        """Return every bearer token, the oldest first."""
        statement = select(api_tokens).order_by(
            func.coalesce(api_tokens.c.issued_at, 0), api_tokens.c.id
        )
        return [_token(row) for row in self._database.read(statement)]

    def replace(self, token_id: str, successor: ApiTokenRow, *, valid_until: int) -> bool:
        """Insert a token's successor and let the token expire at `valid_until` at the latest.

        Return False, with nothing changed, if it is revoked or has a successor already.
        """
        ends = api_tokens.c.expires_at
        with self._database.writing() as connection:
            result = connection.execute(
                update(api_tokens)
                .where(
                    api_tokens.c.id == token_id,
                    api_tokens.c.revoked.is_(False),
                    api_tokens.c.replaced_by.is_(None),
                )
                .values(
                    replaced_by=successor.id,
                    expires_at=case((ends < valid_until, ends), else_=valid_until),
                )
            )
            if result.rowcount != 1:
                return False
            connection.execute(insert(api_tokens).values(**_columns(successor)))
            return True

    def use(self, token_id: str, day: str) -> None:
        """Note a bearer token's use on a day, unless a later one is noted."""
        self._database.write(
            update(api_tokens)
            .where(
                api_tokens.c.id == token_id,
                func.coalesce(api_tokens.c.last_used, "") < day,
            )
            .values(last_used=day)
        )

    def revoke(self, token_id: str) -> bool:
        """Revoke a bearer token; return False if there is none of this id."""
        changed = self._database.write(
            update(api_tokens).where(api_tokens.c.id == token_id).values(revoked=True)
        )
        return changed == 1

    def unspent(self, survey_id: int) -> int:
        """Return the number of a survey's single-use tokens that are not spent."""
        statement = (
            select(func.count())
            .select_from(respondent_tokens)
            .where(respondent_tokens.c.survey_id == survey_id)
        )
        return int(self._database.read(statement).scalar_one())

    def add_respondents(self, survey_id: int, hashes: Sequence[bytes]) -> None:
        """Insert single-use tokens of a survey, by their hashes."""
        self._database.write(
            insert(respondent_tokens),
            [{"hash": value, "survey_id": survey_id} for value in sorted(hashes)],
        )


def _token(row: Row[Any]) -> ApiTokenRow:
    surveys_of = None if row.surveys is None else frozenset(row.surveys.split())
    return ApiTokenRow(
        **{**row._mapping, "scopes": frozenset(row.scopes.split()), "surveys": surveys_of}
    )


def _columns(token: ApiTokenRow) -> dict[str, object]:
    surveys_of = None if token.surveys is None else " ".join(sorted(token.surveys))
    return {**vars(token), "scopes": " ".join(sorted(token.scopes)), "surveys": surveys_of}
