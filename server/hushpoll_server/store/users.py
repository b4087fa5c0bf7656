"""Statements on the people who sign in: their roles, their sessions, and the log of their acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import actions, user_roles, user_sessions, users


@dataclass(frozen=True, kw_only=True)
class UserRow:
    """A user. `roles` are names of roles by names of surveys; ``*`` is every survey.

    `issuer` and `subject` are those of an account at an OpenID Connect provider.
    """

    id: str
    name: str
    password: str
    created_at: int
    roles: Mapping[str, str]
    issuer: str | None = None
    subject: str | None = None

    @property
    def credential(self) -> tuple[str, str, str | None, str | None]:
        """By what this user signs in; another user, or a new password, has another."""
        return self.id, self.password, self.issuer, self.subject


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """A session of a user, without its secret. Times are seconds since 1970, UTC."""

    id: str
    user_id: str
    created_at: int
    used_at: int
    expires_at: int


@dataclass(frozen=True, kw_only=True)
class ActionRow:
    """One line of the action log: who did what with which survey, and when (UTC, seconds)."""

    id: int
    at: int
    actor: str
    act: str
    survey: str | None
    version: int | None
    subject: str | None


_SESSION = [column for column in user_sessions.c if column.name != "hash"]


class UserStore(Store):
    """Statements on users, roles and sessions.

    What changes a user or begins a session locks the user's row first, and looks at the row as it
    is then. So who was checked a moment ago, and has another password or is gone by now, gets no
    session and no role.
    """

    def add(self, user: UserRow) -> bool:
        """Insert a user; return False if the name is taken."""
        with self._database.writing(catalogue=True) as connection:
            taken = connection.execute(select(users.c.id).where(users.c.name == user.name)).first()
            if taken is not None:
                return False
            columns = {key: value for key, value in vars(user).items() if key != "roles"}
            connection.execute(insert(users).values(**columns))
            _insert_roles(connection, user.id, user.roles)
            return True

    def all(self) -> list[UserRow]:
        """Return every user by name."""
        with self._database.reading() as connection:
            rows = connection.execute(select(users).order_by(users.c.name)).all()
            return [_user(connection, row) for row in rows]

    def named(self, name: str) -> UserRow | None:
        """Return the user of a name."""
        return self._find(users.c.name == name)

    def by_id(self, user_id: str) -> UserRow | None:
        """Return the user of an id."""
        return self._find(users.c.id == user_id)

    def remove(self, user_id: str) -> bool:
        """Delete a user with all roles and sessions; return False if there is none."""
        with self._database.writing() as connection:
            if _locked(connection, user_id) is None:
                return False
            for table in (user_sessions, user_roles):
                connection.execute(delete(table).where(table.c.user_id == user_id))
            connection.execute(delete(users).where(users.c.id == user_id))
            return True

    def set_password(self, user_id: str, password: str) -> bool:
        """Replace a password's hash, and end the user's sessions; False if there is no such user.

        An account at a provider that the user had signs nobody in any more.
        """
        with self._database.writing() as connection:
            if _locked(connection, user_id) is None:
                return False
            _set_password(connection, user_id, password)
            return True

    def replace_password(self, checked: UserRow, password: str) -> bool:
        """Do as `set_password` for a user who has just been checked.

        Return False, with nothing changed, if the user signs in by something else by now.
        """
        with self._database.writing() as connection:
            if not _is_still(connection, checked):
                return False
            _set_password(connection, checked.id, password)
            return True

    def refresh_hash(self, checked: UserRow, password: str) -> bool:
        """Replace a hash by another of the same password; False as of `replace_password`."""
        with self._database.writing() as connection:
            if not _is_still(connection, checked):
                return False
            connection.execute(
                update(users).where(users.c.id == checked.id).values(password=password)
            )
            return True

    def of_account(self, issuer: str, subject: str) -> UserRow | None:
        """Return the user to whom an account at a provider is bound."""
        return self._find(and_(users.c.issuer == issuer, users.c.subject == subject))

    def bind_account(self, user_id: str, *, password: str, issuer: str, subject: str) -> bool:
        """Bind an account to a user who has none yet, and whose password is still this mark.

        Return False if the user has one, or has another password, or another user has the account.
        """
        with self._database.writing(catalogue=True) as connection:
            account = and_(users.c.issuer == issuer, users.c.subject == subject)
            if connection.execute(select(users.c.id).where(account)).first() is not None:
                return False
            free = and_(
                users.c.id == user_id, users.c.password == password, users.c.subject.is_(None)
            )
            bound = update(users).where(free).values(issuer=issuer, subject=subject)
            return connection.execute(bound).rowcount == 1

    def set_role(self, user_id: str, survey: str, role: str | None) -> bool:
        """Give a user a role in a survey, None takes it away; False if there is no such user."""
        key = and_(user_roles.c.user_id == user_id, user_roles.c.survey == survey)
        with self._database.writing() as connection:
            if _locked(connection, user_id) is None:
                return False
            connection.execute(delete(user_roles).where(key))
            if role is not None:
                _insert_roles(connection, user_id, {survey: role})
            return True

    def begin_session(self, session: SessionRow, *, secret_hash: bytes, checked: UserRow) -> bool:
        """Insert a session of a user who has just been checked, and delete those that are over.

        Return False, with nothing changed, if the user signs in by something else by now.
        """
        with self._database.writing() as connection:
            if not _is_still(connection, checked):
                return False
            connection.execute(
                delete(user_sessions).where(user_sessions.c.expires_at <= session.created_at)
            )
            connection.execute(insert(user_sessions).values(**vars(session), hash=secret_hash))
            return True

    def session(self, secret_hash: bytes) -> tuple[SessionRow, UserRow] | None:
        """Return the session of a secret's hash, and its user."""
        with self._database.reading() as connection:
            row = connection.execute(
                select(*_SESSION).where(user_sessions.c.hash == secret_hash)
            ).one_or_none()
            if row is None:
                return None
            user = connection.execute(select(users).where(users.c.id == row.user_id)).one()
            return SessionRow(**row._mapping), _user(connection, user)

    def sessions(self, user_id: str) -> list[SessionRow]:
        """Return the sessions of a user, the newest first."""
        statement = (
            select(*_SESSION)
            .where(user_sessions.c.user_id == user_id)
            .order_by(user_sessions.c.created_at.desc(), user_sessions.c.id)
        )
        return [SessionRow(**row._mapping) for row in self._database.read(statement)]

    def use_session(self, session_id: str, *, at: int) -> None:
        """Note when a session was last used."""
        self._database.write(
            update(user_sessions).where(user_sessions.c.id == session_id).values(used_at=at)
        )

    def end_session(self, session_id: str, user_id: str) -> bool:
        """Delete a session of a user; return False if there is none."""
        changed = self._database.write(
            delete(user_sessions).where(
                user_sessions.c.id == session_id, user_sessions.c.user_id == user_id
            )
        )
        return changed == 1

    def _find(self, which: ColumnElement[bool]) -> UserRow | None:
        with self._database.reading() as connection:
            row = connection.execute(select(users).where(which)).one_or_none()
            return None if row is None else _user(connection, row)


class ActionStore(Store):
    """Statements on the action log, none of which changes or deletes a line."""

    def add(self, **columns: Any) -> None:
        """Insert a line; `columns` are those of `ActionRow` but for the id."""
        self._database.write(insert(actions).values(**columns))

    def newest(self, most: int, *, survey: str | None = None) -> list[ActionRow]:
        """Return at most so many lines, of one survey or of all, the newest first."""
        statement = select(actions).order_by(actions.c.id.desc()).limit(most)
        if survey is not None:
            statement = statement.where(actions.c.survey == survey)
        return [ActionRow(**row._mapping) for row in self._database.read(statement)]


def _locked(connection: Connection, user_id: str) -> Row[Any] | None:
    """Return a user's row as it is now, and keep it so until the transaction ends.

    On SQLite, where one transaction writes at a time, the lock is that of the transaction.
    """
    return connection.execute(
        select(users).where(users.c.id == user_id).with_for_update()
    ).one_or_none()


def _is_still(connection: Connection, checked: UserRow) -> bool:
    row = _locked(connection, checked.id)
    return row is not None and _user(connection, row).credential == checked.credential


def _set_password(connection: Connection, user_id: str, password: str) -> None:
    values = {"password": password, "issuer": None, "subject": None}
    connection.execute(update(users).where(users.c.id == user_id).values(**values))
    connection.execute(delete(user_sessions).where(user_sessions.c.user_id == user_id))


def _user(connection: Connection, row: Row[Any]) -> UserRow:
    roles = connection.execute(
        select(user_roles.c.survey, user_roles.c.role)
        .where(user_roles.c.user_id == row.id)
        .order_by(user_roles.c.survey)
    )
    return UserRow(**row._mapping, roles={role.survey: role.role for role in roles})


def _insert_roles(connection: Connection, user_id: str, roles: Mapping[str, str]) -> None:
    rows = [{"user_id": user_id, "survey": survey, "role": role} for survey, role in roles.items()]
    if rows:
        connection.execute(insert(user_roles), rows)
