"""Signing in and out: under a limit of failures, and sessions in the database.

Failures are counted for each address, for each account and for each account at one address. One
address locks nobody out at another.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.people.actions import Actions
from hushpoll_server.services.people.failures import LOCK_SECONDS as LOCK_SECONDS
from hushpoll_server.services.people.failures import Counted, Failures
from hushpoll_server.services.people.places import NoPlace, Places, Rank
from hushpoll_server.services.people.provider import Identity
from hushpoll_server.services.people.users import Member, Users, member_of
from hushpoll_server.services.surveys.access import hash_token
from hushpoll_server.store.users import SessionRow, UserRow, UserStore
from hushpoll_shared.spelling.clock import Clock

log = get_logger(__name__)

# With one name from one address.
ACCOUNT_FAILURES: Final = 10
# From one address with any names: fewer than lock an account at all addresses.
ADDRESS_FAILURES: Final = 50
# With one name from all addresses.
EVERYWHERE_FAILURES: Final = 100
SESSION_SECONDS: Final = 12 * 3600
# A session's last use is written so seldom, so that a page costs no write.
USED_SECONDS: Final = 300
# A password is hashed with 64 MiB of memory, so only so many are checked at a time.
CHECKED_AT_ONCE: Final = 2
# Each that waits holds a thread of the web process, which those who are signed in need: with few
# threads fewer wait.
WAITING_CHECKS: Final = 14
# The provider is asked by so many at a time, each of whom holds a thread until it answers.
ASKED_AT_ONCE: Final = 4
WAITING_TO_ASK: Final = 4
RETRY_AFTER_SECONDS: Final = 2

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True)
class SignedIn:
    """A session of a user: who it is, the session itself, and the token that its forms carry."""

    member: Member
    session: SessionRow
    form_token: str


class SignIn:
    """Begins, recognises, lists and ends sessions."""

    def __init__(
        self, users: Users, store: UserStore, actions: Actions, clock: Clock, *, threads: int
    ) -> None:
        self._users = users
        self._store = store
        self._actions = actions
        self._clock = clock
        self._failures = Failures()
        self._checks = Places(CHECKED_AT_ONCE, waiting_checks(threads))
        self._at_provider = Places(ASKED_AT_ONCE, WAITING_TO_ASK)

    def begin(self, name: str, password: str, *, address: str | None) -> tuple[Member, str]:
        """Begin a session; return its user and the secret that the cookie carries.

        `address` is a keyed hash of the client's, None where it is not limited. A refusal does not
        say whether name or password is wrong; too many failures with this name or from this
        address, and too many checks at a time, are refused too.
        """
        row, secret = self._verified(name, password, address, self._begin)
        member = member_of(row)
        self._actions.record(member.actor, "signed-in")
        return member, secret

    def change_password(
        self, member: Member, current: str, new: str, *, address: str | None
    ) -> str:
        """Replace a user's own password, and end every session of theirs; return a new secret.

        A wrong password counts like one at signing in; it is refused as `begin` refuses.
        """

        def replaced(row: UserRow) -> str | None:
            if row.id != member.id:
                return None
            changed = self._users.replace_password(row, new)
            return None if changed is None else self._begin(changed)

        _, secret = self._verified(member.name, current, address, replaced)
        self._actions.record(member.actor, "set-password", subject=member.name)
        return secret

    def _verified(
        self,
        name: str,
        password: str,
        address: str | None,
        then: Callable[[UserRow], _Outcome | None],
    ) -> tuple[UserRow, _Outcome]:
        """Return the user of a right password, and what `then` does with the user.

        `then` gives None where the user has another password by now, and is gone for it then.
        """
        account = Counted("account", f"{address or ''}\0{name}", ACCOUNT_FAILURES)
        counted = [*_of_address(address), account, Counted("everywhere", name, EVERYWHERE_FAILURES)]
        # No lock counts attempts that were sent away: they tell nothing of any password.
        unchecked = Counted("unchecked", account.value, 0)
        now = self._now()
        self._count(counted, "wrong passwords with this name or from this address", now)
        # Not what others do with this name elsewhere: nobody comes later for that.
        rank = tuple(self._failures.of(value, now) for value in counted[:-1])
        with self._place(self._checks, rank, unchecked, now):
            row = self._users.verified(name, password)
            if row is not None:
                # A right password gives neither its address nor another one new tries elsewhere.
                self._failures.take_back(counted, 1 + self._failures.of(unchecked, now))
                self._failures.clear(unchecked)
                self._failures.clear(account)
                outcome = then(row)
                if outcome is None and (row := self._users.verified(name, password)) is not None:
                    # The hash was replaced by a better one of the same password, by another request
                    # at the same moment.
                    outcome = then(row)
                if row is not None and outcome is not None:
                    return row, outcome
        log.warning("sign-in-refused")
        raise Refused("unauthorized", "the name or the password is wrong; try again")

    def begin_at_provider(
        self, identity: Callable[[], Identity], *, address: str | None
    ) -> tuple[Member, str]:
        """Begin a session of the user whom the OpenID Connect provider has signed in.

        `identity` asks the provider who it is, unless the address is locked. A refusal counts like
        a wrong password from this address.
        """
        counted = _of_address(address)
        now = self._now()
        self._count(counted, "failed sign-ins from this address", now)
        rank = tuple(self._failures.of(value, now) for value in counted)
        with self._place(self._at_provider, rank, None, now):
            try:
                row, bound = self._of_account(identity())
            except Refused as refusal:
                if refusal.code == "unavailable":  # which is no fault of the one who signs in
                    self._failures.take_back(counted)
                raise
            secret = self._begin(row)
        if secret is None:  # the user was removed, or has got a password
            raise _no_user()
        self._failures.take_back(counted)
        member = member_of(row)
        if bound:
            self._actions.record(member.actor, "bound-to-provider")
        self._actions.record(member.actor, "signed-in")
        return member, secret

    def _of_account(self, identity: Identity) -> tuple[UserRow, bool]:
        match = self._users.of_account(identity)
        if match is None:
            raise _no_user()
        return match

    def _count(self, counted: list[Counted], what: str, now: int) -> None:
        """Count a failure until it is taken back; refuse an attempt with what is locked.

        Counted before the check: many requests at once get no more tries, and those that are sent
        away have cost the server something, too.
        """
        seconds = self._failures.count(counted, now)
        if seconds:
            raise Refused(
                "rate-limited",
                f"there were too many {what}; try again in {-(-seconds // 60)} minutes",
                retry_after=seconds,
            )

    def _begin(self, checked: UserRow) -> str | None:
        """Return the secret of a new session; None if the user signs in by something else now."""
        now = self._now()
        secret = secrets.token_urlsafe(32)
        session = SessionRow(
            id=secrets.token_hex(8),
            user_id=checked.id,
            created_at=now,
            used_at=now,
            expires_at=now + SESSION_SECONDS,
        )
        begun = self._store.begin_session(session, secret_hash=hash_token(secret), checked=checked)
        return secret if begun else None

    @contextmanager
    def _place(
        self, places: Places, rank: Rank, unchecked: Counted | None, now: int
    ) -> Iterator[None]:
        """Hold one of few places; raises `Refused` as ``unavailable`` where there is none."""
        try:
            with places.hold(rank):
                yield
        except NoPlace:
            if unchecked is not None:
                self._failures.add(unchecked, now)
            raise Refused(
                "unavailable",
                f"many people sign in at this moment; try again in {RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            ) from None

    def recognise(self, secret: str | None) -> SignedIn | None:
        """Return the session of a cookie's secret, unless it is unknown, ended or over."""
        if not secret:
            return None
        match = self._store.session(hash_token(secret))
        if match is None:
            return None
        session, user = match
        now = self._now()
        if now >= session.expires_at:
            return None
        if now >= session.used_at + USED_SECONDS:
            self._store.use_session(session.id, at=now)
        return SignedIn(member_of(user), session, form_token(secret))

    def sessions(self, member: Member) -> list[SessionRow]:
        """Return a user's sessions that are not over, the newest first."""
        now = self._now()
        return [row for row in self._store.sessions(member.id) if now < row.expires_at]

    def end(self, member: Member, session_id: str) -> bool:
        """End a session of a user; return False if there is none."""
        ended = self._store.end_session(session_id, member.id)
        if ended:
            self._actions.record(member.actor, "signed-out", subject=session_id)
        return ended

    def _now(self) -> int:
        return int(self._clock.now().timestamp())


def _of_address(address: str | None) -> list[Counted]:
    return [] if address is None else [Counted("address", address, ADDRESS_FAILURES)]


def waiting_checks(threads: int) -> int:
    """Return how many sign-ins may wait for a check, where a web process has so many threads."""
    return max(1, min(WAITING_CHECKS, threads // 2 - CHECKED_AT_ONCE))


def _no_user() -> Refused:
    log.warning("provider-sign-in-refused", reason="no-user")
    return Refused(
        "unauthorized",
        "the provider signed you in, and no user of this server has your account there; "
        "ask an administrator to add one whose name is the one that the provider tells",
    )


def form_token(secret: str) -> str:
    """Return the token that each form of a session carries, which no other site can know."""
    return hmac.new(secret.encode(), b"form", "sha256").hexdigest()
