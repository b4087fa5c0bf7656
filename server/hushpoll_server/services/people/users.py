"""Users: added, listed, removed, given roles and passwords; and what one of them may do."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.services.people.provider import Identity
from hushpoll_server.services.people.roles import EVERY_SURVEY, Role, parse_role, role_in
from hushpoll_server.store.users import UserRow, UserStore
from hushpoll_shared.spelling.clock import Clock
from hushpoll_shared.spelling.text import show

SHORTEST_PASSWORD: Final = 12
LONGEST_PASSWORD: Final = 1024

# In place of a hash, of a user who signs in at the provider: no password fits it.
NO_PASSWORD: Final = "!provider"  # noqa: S105

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Member:
    """A user, without the password's hash.

    `provider` says whether the user signs in at the OpenID Connect provider and has no password.
    """

    id: str
    name: str
    roles: Mapping[str, str]
    provider: bool = False

    @property
    def actor(self) -> str:
        """The user's name in the action log."""
        return f"user:{self.name}"

    @property
    def administers(self) -> bool:
        """Whether this is an admin of every survey, who manages users and API tokens."""
        return self.roles.get(EVERY_SURVEY) == Role.ADMIN

    def role(self, survey: str) -> Role | None:
        """Return the user's role in a survey; None where there is none."""
        return role_in(self.roles, survey)

    def may(self, survey: str, role: Role) -> bool:
        """Return whether the user holds a role, or a higher one, in a survey."""
        held = self.role(survey)
        return held is not None and held.includes(role)

    def require(self, survey: str, role: Role) -> None:
        """Refuse what the user may not do.

        Without any role it is ``unknown-survey``, whether there is such a survey or not.
        """
        held = self.role(survey)
        if held is None:
            raise Refused(
                "unknown-survey",
                f"no survey that you may see is named {survey[:64]!r}; go back to the list",
                field="name",
            )
        if not held.includes(role):
            raise Refused(
                "forbidden",
                f"this needs the role {role} in {survey}, and you are its {held}; ask an "
                "administrator",
            )


class Users:
    """Keeps users; passwords are kept as argon2id hashes, with the library's own costs."""

    def __init__(self, store: UserStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._hasher = PasswordHasher()

    def add(self, name: str, password: str | None, roles: Mapping[str, str]) -> Member:
        """Add a user with roles by survey name; ``*`` is every survey.

        A name is 1 to 64 letters, digits and ``. _ @ + -``, first a letter or digit, and no other
        user's; a password has 12 to 1024 characters, and is None for a user who signs in at the
        OpenID Connect provider. Others are refused.
        """
        if not _NAME.fullmatch(name):
            raise InvalidParameter(
                f"name is {show(name)}; give 1 to 64 letters, digits and . _ @ + -, the first a "
                "letter or a digit",
                field="name",
            )
        checked = dict(parse_role(survey, role) for survey, role in roles.items())
        row = UserRow(
            id=secrets.token_hex(8),
            name=name,
            password=NO_PASSWORD if password is None else self._hash(password),
            created_at=int(self._clock.now().timestamp()),
            roles=checked,
        )
        if not self._store.add(row):
            raise InvalidParameter(
                f"name is {show(name)}, which a user has; give another", field="name"
            )
        return member_of(row)

    def all(self) -> list[Member]:
        """Return every user by name."""
        return [member_of(row) for row in self._store.all()]

    def named(self, name: str) -> Member:
        """Return the user of a name; refuse one that there is not."""
        return member_of(self._row(name))

    def remove(self, name: str) -> Member:
        """Remove a user with all sessions; raises as `named`."""
        row = self._row(name)
        if not self._store.remove(row.id):
            raise _nobody_has(name)
        return member_of(row)

    def set_password(self, name: str, password: str) -> Member:
        """Replace a password, and end every session of its user; raises as `add` and `named`.

        A user of the provider signs in with the password from now on, and no more there.
        """
        row = self._row(name)
        hashed = self._hash(password)
        if not self._store.set_password(row.id, hashed):
            raise _nobody_has(name)
        return member_of(replace(row, password=hashed))

    def replace_password(self, checked: UserRow, password: str) -> UserRow | None:
        """Replace the password of a user whom `verified` has just returned; refuse as `add`.

        Return None, with nothing changed, if the one that was checked is not theirs any more.
        """
        hashed = self._hash(password)
        if not self._store.replace_password(checked, hashed):
            return None
        return replace(checked, password=hashed)

    def set_role(self, name: str, survey: str, role: str | None) -> Member:
        """Give a user a role in a survey, None takes it away; raises as `add` and `named`."""
        row = self._row(name)
        survey, checked = parse_role(survey, Role.READER if role is None else role)
        if not self._store.set_role(row.id, survey, None if role is None else checked):
            raise _nobody_has(name)
        return self.named(name)

    def verified(self, name: str, password: str) -> UserRow | None:
        """Return the user of a name if the password is right; it takes as long if there is none.

        The row is what the password was compared with: a session is begun, and a password
        replaced, only if the user still has it then.
        """
        row = self._store.named(name) if _NAME.fullmatch(name) else None
        if row is not None and row.password == NO_PASSWORD:
            row = None
        nobody = self._nobody
        try:
            self._hasher.verify(nobody if row is None else row.password, password)
        except (VerificationError, InvalidHashError):
            return None
        if row is not None and self._hasher.check_needs_rehash(row.password):
            hashed = self._hasher.hash(password)
            if self._store.refresh_hash(row, hashed):
                row = replace(row, password=hashed)
        return row

    def of_account(self, identity: Identity) -> tuple[UserRow, bool] | None:
        """Return the user whom an account at the provider signs in, and whether it was bound now.

        The account's issuer and subject decide. An account that has no user yet is bound to the one
        who has the account's name, was added for the provider, and has no account so far.
        """
        account = {"issuer": identity.issuer, "subject": identity.subject}
        row = self._store.of_account(**account)
        if row is not None:
            return (row, False) if row.password == NO_PASSWORD else None
        name = identity.name or ""
        row = self._store.named(name) if _NAME.fullmatch(name) else None
        if row is None or row.password != NO_PASSWORD:
            return None
        bound = self._store.bind_account(row.id, password=NO_PASSWORD, **account)
        return (
            (replace(row, issuer=identity.issuer, subject=identity.subject), True)
            if bound
            else None
        )

    @cached_property
    def _nobody(self) -> str:
        """A hash of no password: an unknown name takes as long to refuse as a wrong password."""
        return self._hasher.hash(secrets.token_urlsafe(16))

    def _row(self, name: str) -> UserRow:
        row = self._store.named(name) if _NAME.fullmatch(name) else None
        if row is None:
            raise _nobody_has(name)
        return row

    def _hash(self, password: str) -> str:
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            wanted = (
                f"at least {SHORTEST_PASSWORD}"
                if len(password) < SHORTEST_PASSWORD
                else f"at most {LONGEST_PASSWORD}"
            )
            raise InvalidParameter(
                f"the password has {len(password)} characters, outside [{SHORTEST_PASSWORD}, "
                f"{LONGEST_PASSWORD}]; give {wanted} characters",
                field="password",
            )
        return self._hasher.hash(password)


def _nobody_has(name: str) -> InvalidParameter:
    return InvalidParameter(
        f"name is {show(name)}, and no user has it; list the users to see their names",
        field="name",
    )


def member_of(row: UserRow) -> Member:
    """Return a row of the store without the password's hash."""
    return Member(row.id, row.name, row.roles, provider=row.password == NO_PASSWORD)
