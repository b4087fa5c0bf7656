"""Hashes of bearer tokens and of respondents' single-use tokens; no token is ever stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, case, func, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import api_tokens, respondent_tokens


@dataclass(frozen=True, kw_only=True)
class ApiTokenRow:
    """A bearer token as the store knows it.

    Times are seconds since 1970, UTC; `issued_at` is None for tokens of an older release.
    `replaced_by` is the public id of the token that took its place.
    """

    id: str
    hash: bytes
    label: str
    scopes: frozenset[str]
    expires_at: int | None
    revoked: bool
    issued_at: int | None = None
    replaced_by: str | None = None


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
        with self._database.writing(catalogue=True) as connection:
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
        return None if row is None else _row(row)

    def all(self) -> list[ApiTokenRow]:
        """Return every bearer token, the oldest first."""
        with self._database.reading() as connection:
            statement = select(api_tokens).order_by(
                func.coalesce(api_tokens.c.issued_at, 0), api_tokens.c.id
            )
            return [_row(row) for row in connection.execute(statement)]

    def replace(self, token_id: str, successor: ApiTokenRow, *, valid_until: int) -> bool:
        """Keep a token's successor and let the token itself expire, in one transaction.

        Parameters
        ----------
        token_id : str
            Public id of the token.
        successor : ApiTokenRow
            What takes its place.
        valid_until : int
            Second at which the token expires, unless it expires sooner by itself.

        Returns
        -------
        bool
            False, with nothing changed, if the token is revoked or has a successor already.
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
                [{"hash": value, "survey_id": survey_id} for value in sorted(hashes)],
            )


def _row(row: Row[Any]) -> ApiTokenRow:
    return ApiTokenRow(**{**row._mapping, "scopes": frozenset(row.scopes.split())})


def _columns(token: ApiTokenRow) -> dict[str, object]:
    return {**vars(token), "scopes": " ".join(sorted(token.scopes))}
