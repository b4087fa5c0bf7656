"""Signing in and out: under a limit of failures, and sessions in the database.

Failures are counted in memory, for each address, for each account and for each account at one
address, by hashes that are keyed with random bytes of this process. So no name that was tried and
no address is ever stored. One address locks nobody out at another.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.people.actions import Actions
from hushpoll_server.services.people.provider import Identity
from hushpoll_server.services.people.users import Member, Users, member_of
from hushpoll_server.services.surveys.access import hash_token
from hushpoll_server.store.users import SessionRow, UserStore
from hushpoll_shared.spelling.clock import Clock

log = get_logger(__name__)

# With one name from one address.
ACCOUNT_FAILURES: Final = 10
# From one address with any names: fewer than lock an account at all addresses.
ADDRESS_FAILURES: Final = 50
# With one name from all addresses.
EVERYWHERE_FAILURES: Final = 100
LOCK_SECONDS: Final = 15 * 60
SESSION_SECONDS: Final = 12 * 3600
# A session's last use is written so seldom, so that a page costs no write.
USED_SECONDS: Final = 300
MOST_COUNTED: Final = 100_000
# A password is hashed with 64 MiB of memory, so only so many are checked at a time.
CHECKED_AT_ONCE: Final = 2
# Each that waits holds a thread of the web process, which those who are signed in need.
WAITING_CHECKS: Final = 4
RETRY_AFTER_SECONDS: Final = 2


@dataclass(frozen=True)
class SignedIn:
    """A session of a user: who it is, the session itself, and the token that its forms carry."""

    member: Member
    session: SessionRow
    form_token: str


class Failures:
    """Failures of the last `LOCK_SECONDS` by a keyed hash; at most `MOST_COUNTED` hashes."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._counts: dict[bytes, tuple[int, int]] = {}

    def left(self, kind: str, value: str, most: int, now: int) -> int:
        """Return the seconds for which a value is locked; 0 if it is not."""
        count, since = self._counts.get(self._hash(kind, value), (0, now))
        return max(0, since + LOCK_SECONDS - now) if count >= most else 0

    def add(self, kind: str, value: str, now: int) -> None:
        """Count a failure; the first one begins a new period."""
        key = self._hash(kind, value)
        with self._lock:
            count, since = self._counts.get(key, (0, now))
            if now >= since + LOCK_SECONDS:
                count, since = 0, now
            if len(self._counts) >= MOST_COUNTED:
                self._counts = {
                    kept: entry
                    for kept, entry in self._counts.items()
                    if now < entry[1] + LOCK_SECONDS
                }
            if key in self._counts or len(self._counts) < MOST_COUNTED:
                self._counts[key] = count + 1, since

    def clear(self, kind: str, value: str) -> None:
        """Forget the failures of a value."""
        with self._lock:
            self._counts.pop(self._hash(kind, value), None)

    def take_back(self, kind: str, value: str) -> None:
        """Count one failure less."""
        key = self._hash(kind, value)
        with self._lock:
            if key in self._counts:
                count, since = self._counts[key]
                self._counts[key] = count - 1, since

    def _hash(self, kind: str, value: str) -> bytes:
        text = f"{kind}\0{value}".encode("utf-8", "surrogatepass")
        return blake2b(text, digest_size=16, key=self._key).digest()


class SignIn:
    """Begins, recognises, lists and ends sessions."""

    def __init__(self, users: Users, store: UserStore, actions: Actions, clock: Clock) -> None:
        self._users = users
        self._store = store
        self._actions = actions
        self._clock = clock
        self._failures = Failures()
        self._checking = threading.BoundedSemaphore(CHECKED_AT_ONCE)
        self._places = threading.BoundedSemaphore(CHECKED_AT_ONCE + WAITING_CHECKS)

    def begin(self, name: str, password: str, *, address: str | None) -> tuple[Member, str]:
        """Begin a session; return its user and the secret that the cookie carries.

        Parameters
        ----------
        name, password : str
            As they were typed.
        address : str or None
            A keyed hash of the client's address; None where it is not limited.

        Raises
        ------
        Refused
            ``unauthorized``: a wrong name or password, and the answer does not say which;
            ``rate-limited``: too many failures with this name or from this address;
            ``unavailable``: too many passwords are being checked.
        """
        member = self._verified(name, password, address)
        secret = self._begin(member)
        self._actions.record(member.actor, "signed-in")
        return member, secret

    def change_password(
        self, member: Member, current: str, new: str, *, address: str | None
    ) -> str:
        """Replace a user's own password, and end every session of theirs.

        Parameters
        ----------
        member : Member
            The user, who is signed in.
        current, new : str
            As they were typed.
        address : str or None
            As of `begin`.

        Returns
        -------
        str
            The secret of a new session.

        Raises
        ------
        Refused
            As `begin`; a wrong password counts like one at signing in.
        InvalidParameter
            The new password is too short or too long.
        """
        self._verified(member.name, current, address)
        self._users.set_password(member.name, new)
        self._actions.record(member.actor, "set-password", subject=member.name)
        return self._begin(member)

    def _verified(self, name: str, password: str, address: str | None) -> Member:
        at_address = ("account", f"{address or ''}\0{name}")
        counted = [(*at_address, ACCOUNT_FAILURES), ("everywhere", name, EVERYWHERE_FAILURES)]
        if address is not None:
            counted.append(("address", address, ADDRESS_FAILURES))
        now = self._now()
        self._refuse_locked(counted, "wrong passwords with this name or from this address", now)
        with self._place():
            # Counted before the check, so that many requests at once get no more tries.
            for kind, value, _ in counted:
                self._failures.add(kind, value, now)
            with self._checking:
                member = self._users.verified(name, password)
        if member is None:
            log.warning("sign-in-refused")
            raise Refused("unauthorized", "the name or the password is wrong; try again")
        # A right password gives neither its address nor another one new tries elsewhere.
        self._take_back(counted)
        self._failures.clear(*at_address)
        return member

    def begin_at_provider(
        self, identity: Callable[[], Identity], *, address: str | None
    ) -> tuple[Member, str]:
        """Begin a session of the user whom the OpenID Connect provider has signed in.

        Parameters
        ----------
        identity : callable
            Asks the provider who it is; called unless the address is locked.
        address : str or None
            As of `begin`. A refusal counts like a wrong password from this address.

        Returns
        -------
        tuple of Member and str
            As of `begin`.

        Raises
        ------
        Refused
            As `identity` does; ``unauthorized``: no user signs in with this account;
            ``rate-limited``: too many failures from this address.
        """
        counted = [] if address is None else [("address", address, ADDRESS_FAILURES)]
        now = self._now()
        self._refuse_locked(counted, "failed sign-ins from this address", now)
        for kind, value, _ in counted:
            self._failures.add(kind, value, now)
        try:
            member, bound = self._of_account(identity())
        except Refused as refusal:
            if refusal.code == "unavailable":  # which is no fault of the one who signs in
                self._take_back(counted)
            raise
        self._take_back(counted)
        if bound:
            self._actions.record(member.actor, "bound-to-provider")
        secret = self._begin(member)
        self._actions.record(member.actor, "signed-in")
        return member, secret

    def _of_account(self, identity: Identity) -> tuple[Member, bool]:
        match = self._users.of_account(identity)
        if match is None:
            log.warning("provider-sign-in-refused", reason="no-user")
            raise Refused(
                "unauthorized",
                "the provider signed you in, and no user of this server has your account there; "
                "ask an administrator to add one whose name is the one that the provider tells",
            )
        return match

    def _refuse_locked(self, counted: Sequence[tuple[str, str, int]], what: str, now: int) -> None:
        left = (self._failures.left(kind, value, most, now) for kind, value, most in counted)
        seconds = max(left, default=0)
        if seconds:
            raise Refused(
                "rate-limited",
                f"there were too many {what}; try again in {-(-seconds // 60)} minutes",
                retry_after=seconds,
            )

    def _take_back(self, counted: Sequence[tuple[str, str, int]]) -> None:
        for kind, value, _ in counted:
            self._failures.take_back(kind, value)

    def _begin(self, member: Member) -> str:
        now = self._now()
        secret = secrets.token_urlsafe(32)
        session = SessionRow(
            id=secrets.token_hex(8),
            user_id=member.id,
            created_at=now,
            used_at=now,
            expires_at=now + SESSION_SECONDS,
        )
        self._store.begin_session(session, secret_hash=hash_token(secret))
        return secret

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Hold one of few places; raises `Refused` as ``unavailable`` where there is none."""
        if not self._places.acquire(blocking=False):
            raise Refused(
                "unavailable",
                f"many people sign in at this moment; try again in {RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            )
        try:
            yield
        finally:
            self._places.release()

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


def form_token(secret: str) -> str:
    """Return the token that each form of a session carries, which no other site can know."""
    return hmac.new(secret.encode(), b"form", "sha256").hexdigest()
