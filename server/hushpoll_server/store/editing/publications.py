"""Results that were published to everybody: a page and a bundle, until they are taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Update, delete, insert, select, update

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import publication_translations as translations
from hushpoll_server.store.schema import publications


@dataclass(frozen=True, kw_only=True)
class PublicationRow:
    """A publication without its files. Times are seconds since 1970, UTC.

    ``choices`` is JSON. ``published_by`` is named as in the action log. One that was taken back
    has no files any more.
    """

    id: str
    version_id: int
    choices: str
    published_at: int
    published_by: str
    taken_back_at: int | None


_COLUMNS = [column for column in publications.c if column.name not in ("page", "bundle")]


class PublicationStore(Store):
    """Statements on publications; of a version at most one is not taken back."""

    def add(self, row: PublicationRow, files: Mapping[str, tuple[bytes, bytes]]) -> None:
        """Insert a publication, its page and bundle by language; an earlier one is taken back.

        Its own language stands first.
        """
        (_, (page, bundle)), *others = files.items()
        with self._database.writing(catalogue=True) as connection:
            _take_back(connection, row.version_id, row.published_at)
            connection.execute(insert(publications).values(**vars(row), page=page, bundle=bundle))
            for language, (told, told_bundle) in others:
                connection.execute(
                    insert(translations).values(
                        publication_id=row.id, language=language, page=told, bundle=told_bundle
                    )
                )

    def take_back(self, version_id: int, now: int) -> bool:
        """Delete the files of a version's publication; return False if there is none."""
        with self._database.writing(catalogue=True) as connection:
            return _take_back(connection, version_id, now)

    def of_version(self, version_id: int) -> list[PublicationRow]:
        """Return every publication of a version, the newest first."""
        statement = (
            select(*_COLUMNS)
            .where(publications.c.version_id == version_id)
            .order_by(publications.c.taken_back_at.is_(None).desc(),
                      publications.c.published_at.desc(), publications.c.id)
        )  # fmt: skip
        return [PublicationRow(**row._mapping) for row in self._database.read(statement)]

    def languages(self, publication_id: str) -> tuple[str, ...]:
        """Return the languages beside its own that a publication is told in."""
        statement = select(translations.c.language).where(
            translations.c.publication_id == publication_id
        )
        return tuple(self._database.read(statement).scalars())

    def files(self, publication_id: str, language: str | None = None) -> tuple[bytes, bytes] | None:
        """Return page and bundle in a language, by default its own; None if taken back."""
        statement = select(publications.c.page, publications.c.bundle).where(
            publications.c.id == publication_id, publications.c.taken_back_at.is_(None)
        )
        if language is not None:
            statement = select(translations.c.page, translations.c.bundle).where(
                translations.c.publication_id == publication_id, translations.c.language == language
            )
        row = self._database.read(statement).one_or_none()
        return None if row is None else (bytes(row.page), bytes(row.bundle))


def _take_back(connection: Connection, version_id: int, now: int) -> bool:
    """Delete the files of what stands of a version; return whether something stood."""
    standing = select(publications.c.id).where(publications.c.version_id == version_id)
    connection.execute(delete(translations).where(translations.c.publication_id.in_(standing)))
    return connection.execute(_taken_back(version_id, now)).rowcount > 0


def _taken_back(version_id: int, now: int) -> Update:
    return (
        update(publications)
        .where(publications.c.version_id == version_id, publications.c.taken_back_at.is_(None))
        .values(taken_back_at=now, page=None, bundle=None)
    )
