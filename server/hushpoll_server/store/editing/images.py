"""Images that surveys show, by the hash of their bytes; none of them ever changes."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, insert, select

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import images


@dataclass(frozen=True, kw_only=True)
class ImageRow:
    """An image. `digest` is SHA-256 of its bytes in hexadecimal; the time is UTC, in seconds."""

    digest: str
    media_type: str
    body: bytes
    added_at: int
    added_by: str


class ImageStore(Store):
    """Statements on images."""

    def add(self, row: ImageRow, *, most: int) -> bool:
        """Keep an image unless it is there; return False, and keep none, if `most` others are."""
        with self._database.writing(catalogue=True) as connection:
            there = select(images.c.digest).where(images.c.digest == row.digest)
            if connection.execute(there).one_or_none() is not None:
                return True
            if connection.execute(select(func.count()).select_from(images)).scalar_one() >= most:
                return False
            connection.execute(insert(images).values(**vars(row)))
        return True

    def find(self, digest: str) -> ImageRow | None:
        """Return the image of a digest."""
        row = self._database.read(select(images).where(images.c.digest == digest)).one_or_none()
        return None if row is None else ImageRow(**row._mapping)

    def has(self, digest: str) -> bool:
        """Whether there is an image of a digest."""
        with self._database.reading() as connection:
            found = connection.execute(select(images.c.digest).where(images.c.digest == digest))
            return found.one_or_none() is not None
