"""Hashes of bearer tokens and of respondents' single-use tokens; no token is ever stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import api_tokens, respondent_tokens


@dataclass(frozen=True, kw_only=True)
class ApiTokenRow:
    """A bearer token as the store knows it; `expires_at` in seconds since 1970, UTC."""

    id: str
    hash: bytes
    label: str
    scopes: frozenset[str]
    expires_at: int | None
    revoked: bool


class TokenStore:
    """Statements on tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: ApiTokenRow) -> None:
        """Keep a bearer token's hash."""
        with self._database.writing() as connection:
            connection.execute(insert(api_tokens).values(**_columns(token)))

    def add_first(self, token: ApiTokenRow) -> bool:
        """Keep a bearer token's hash if there is no token at all; return whether it was kept."""
        with self._database.writing() as connection:
            if connection.execute(select(func.count()).select_from(api_tokens)).scalar_one():
                return False
            connection.execute(insert(api_tokens).values(**_columns(token)))
            return True

    def find(self, token_id: str) -> ApiTokenRow | None:
        """Return the bearer token of this public id."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(api_tokens).where(api_tokens.c.id == token_id)
            ).one_or_none()
        if row is None:
            return None
        return ApiTokenRow(**{**row._mapping, "scopes": frozenset(row.scopes.split())})

    def revoke(self, token_id: str) -> bool:
        """Revoke a bearer token; return False if there is none of this id."""
        with self._database.writing() as connection:
            result = connection.execute(
                update(api_tokens).where(api_tokens.c.id == token_id).values(revoked=True)
            )
            return result.rowcount == 1

    def add_respondents(self, survey_id: int, hashes: Sequence[bytes]) -> None:
        """Keep the hashes of single-use tokens of one survey."""
        with self._database.writing() as connection:
            connection.execute(
                insert(respondent_tokens),
                [
                    {"hash": value, "survey_id": survey_id, "spent": False}
                    for value in sorted(hashes)
                ],
            )


def _columns(token: ApiTokenRow) -> dict[str, object]:
    return {**vars(token), "scopes": " ".join(sorted(token.scopes))}
