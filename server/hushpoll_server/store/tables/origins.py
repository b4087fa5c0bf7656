"""Web origins whose pages may answer a survey."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import delete, insert, select

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import survey_origins, surveys


class OriginStore:
    """Statements on the origins of surveys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def named(self, name: str) -> list[str]:
        """Return the origins of the survey of a name, sorted; none for an unknown one."""
        statement = (
            select(survey_origins.c.origin)
            .join(surveys, surveys.c.id == survey_origins.c.survey_id)
            .where(surveys.c.name == name)
        )
        with self._database.reading() as connection:
            return sorted(connection.execute(statement).scalars())

    def replace(self, survey_id: int, origins: Iterable[str]) -> None:
        """Let these be the origins of a survey, and no others."""
        rows = [{"survey_id": survey_id, "origin": origin} for origin in sorted(set(origins))]
        with self._database.writing() as connection:
            connection.execute(
                delete(survey_origins).where(survey_origins.c.survey_id == survey_id)
            )
            if rows:
                connection.execute(insert(survey_origins), rows)
