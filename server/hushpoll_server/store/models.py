"""Models and audits that jobs have made: a card of each, beside the job and the file it made."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import models


class ModelStore:
    """Statements on what is kept until it is deleted; ``JobStore`` adds and deletes it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cards(self, job_ids: Collection[str]) -> dict[str, str]:
        """Return the cards, JSON, of those of these jobs that have one."""
        statement = select(models.c.job_id, models.c.card).where(models.c.job_id.in_(job_ids))
        with self._database.reading() as connection:
            return {str(job_id): str(card) for job_id, card in connection.execute(statement)}
