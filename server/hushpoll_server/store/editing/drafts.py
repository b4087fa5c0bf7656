"""Drafts of surveys, which are no survey yet: each is changed only by those who have read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import drafts


@dataclass(frozen=True, kw_only=True)
class DraftRow:
    """A draft without its manifest. Times are seconds since 1970, UTC.

    ``revision`` counts its changes, from 1. ``owner`` began it and ``changed_by`` changed it last,
    as the action log names them.
    """

    id: str
    survey: str
    title: str
    owner: str
    created_at: int
    changed_at: int
    changed_by: str
    revision: int


_COLUMNS = [column for column in drafts.c if column.name != "manifest"]


class DraftStore(Store):
    """Statements on drafts."""

    def add(self, row: DraftRow, manifest: str, *, most: int) -> bool:
        """Insert a draft; return False, and insert none, if its owner has `most` already."""
        theirs = select(func.count()).select_from(drafts).where(drafts.c.owner == row.owner)
        with self._database.writing(catalogue=True) as connection:
            if connection.execute(theirs).scalar_one() >= most:
                return False
            connection.execute(insert(drafts).values(**vars(row), manifest=manifest))
        return True

    def all(self) -> list[DraftRow]:
        """Return every draft, that which was changed last first."""
        statement = select(*_COLUMNS).order_by(drafts.c.changed_at.desc(), drafts.c.id)
        return [DraftRow(**row._mapping) for row in self._database.read(statement)]

    def find(self, draft_id: str) -> tuple[DraftRow, str] | None:
        """Return a draft and its manifest, JSON."""
        statement = select(*_COLUMNS, drafts.c.manifest).where(drafts.c.id == draft_id)
        row = self._database.read(statement).one_or_none()
        if row is None:
            return None
        columns = dict(row._mapping)
        manifest = str(columns.pop("manifest"))
        return DraftRow(**columns), manifest

    def replace(self, draft_id: str, *, revision: int, **columns: Any) -> bool:
        """Change a draft that has this revision, and count the change; return False if none has."""
        statement = (
            update(drafts)
            .where(drafts.c.id == draft_id, drafts.c.revision == revision)
            .values(revision=revision + 1, **columns)
        )
        return self._database.write(statement) == 1

    def remove(self, draft_id: str, *, revision: int | None = None) -> bool:
        """Delete a draft, if given only in this revision; return False if there is none."""
        statement = delete(drafts).where(drafts.c.id == draft_id)
        if revision is not None:
            statement = statement.where(drafts.c.revision == revision)
        return self._database.write(statement) == 1
