"""Bearer tokens: who may do what.

A token is ``hp_<id>_<secret>``: a public id of 64 bits and a secret of 256 random bits. Only the
secret's SHA-256 is stored: a slow hash protects guessable passwords, and nobody guesses 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.store.tokens import ApiTokenRow, TokenStore
from hushpoll_shared.clock import Clock

SCOPES: Final = ("submit", "publish", "read", "train", "admin")
MAX_EXPIRY_SECONDS: Final = 10 * 365 * 86_400

_TOKEN: Final = re.compile(r"hp_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_RESPONDENT_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


@dataclass(frozen=True)
class Grant:
    """What the bearer of a request's token may do.

    Parameters
    ----------
    token_id : str
        Public id of the token.
    scopes : frozenset of str
        Its scopes; ``admin`` holds all others.
    """

    token_id: str
    scopes: frozenset[str]

    def allows(self, scope: str) -> bool:
        """Return whether this grant holds `scope`."""
        return scope in self.scopes or "admin" in self.scopes


@dataclass(frozen=True)
class IssuedToken:
    """A new token; the only time that its secret is seen.

    Parameters
    ----------
    token : str
        What the bearer sends.
    id : str
        Its public id, for revoking it.
    expires_at : int or None
        Seconds since 1970, UTC.
    """

    token: str
    id: str
    expires_at: int | None


class Access:
    """Issues, checks and revokes bearer tokens."""

    def __init__(self, store: TokenStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def issue(
        self, scopes: Iterable[str], *, label: str = "", expires_in: int | None = None
    ) -> IssuedToken:
        """Issue a bearer token.

        Parameters
        ----------
        scopes : iterable of str
            At least one of ``SCOPES``.
        label : str
            What it is for, at most 200 characters.
        expires_in : int or None
            Seconds in [1, 315360000]; None never expires.

        Raises
        ------
        InvalidParameter
            Unknown scope, or a value outside its interval.
        """
        row, token = self._new(scopes, label, expires_in)
        self._store.add(row)
        return IssuedToken(token, row.id, row.expires_at)

    def first_admin(self) -> str | None:
        """Issue an admin token if the database holds no token at all, that is at first start."""
        row, token = self._new(["admin"], "first start", None)
        return token if self._store.add_first(row) else None

    def revoke(self, token_id: str) -> bool:
        """Revoke a token by its public id; return False if there is none."""
        return self._store.revoke(token_id)

    def grant(self, authorization: str | None) -> Grant:
        """Return what the token of an ``Authorization`` header allows.

        Raises
        ------
        Refused
            ``unauthorized``: no token, or one that is unknown, revoked or expired. The answer does
            not say which.
        """
        match = _TOKEN.fullmatch(bearer(authorization) or "")
        row = self._store.find(match[1]) if match else None
        # Compared even where no row was found, so that the time taken does not tell.
        expected = row.hash if row else bytes(32)
        same = hmac.compare_digest(expected, hash_token(match[2] if match else ""))
        if row is None or not same or row.revoked or self._expired(row):
            raise Refused(
                "unauthorized",
                "this needs a bearer token that is known, neither expired nor revoked; "
                "send it as 'Authorization: Bearer <token>'",
                field="Authorization",
            )
        return Grant(row.id, row.scopes)

    def require(self, authorization: str | None, scope: str) -> Grant:
        """Return the grant of a request that needs `scope`.

        Raises
        ------
        Refused
            ``unauthorized`` as ``grant``; ``forbidden`` if the token lacks the scope.
        """
        grant = self.grant(authorization)
        if not grant.allows(scope):
            raise Refused(
                "forbidden",
                f"this needs a token of scope {scope!r}; this one has "
                f"{', '.join(sorted(grant.scopes))}; ask an administrator for another",
                field="Authorization",
                scope=scope,
            )
        return grant

    def _expired(self, row: ApiTokenRow) -> bool:
        return row.expires_at is not None and self._clock.now().timestamp() >= row.expires_at

    def _new(
        self, scopes: Iterable[str], label: str, expires_in: int | None
    ) -> tuple[ApiTokenRow, str]:
        wanted = frozenset(scopes)
        unknown = sorted(wanted - set(SCOPES))
        if unknown or not wanted:
            raise InvalidParameter(
                f"scopes is {unknown or []!r}; give one or more of {', '.join(SCOPES)}",
                field="scopes",
            )
        if len(label) > 200:
            raise InvalidParameter(
                f"label has {len(label)} characters, more than 200; shorten it", field="label"
            )
        if expires_in is not None and not 1 <= expires_in <= MAX_EXPIRY_SECONDS:
            raise InvalidParameter(
                f"expires_in is {expires_in}, outside [1, {MAX_EXPIRY_SECONDS}] seconds; "
                "give a number inside it, or leave it out",
                field="expires_in",
            )
        token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        expires_at = None if expires_in is None else int(self._clock.now().timestamp()) + expires_in
        row = ApiTokenRow(
            id=token_id,
            hash=hash_token(secret),
            label=label,
            scopes=wanted,
            expires_at=expires_at,
            revoked=False,
        )
        return row, f"hp_{token_id}_{secret}"


def bearer(authorization: str | None) -> str | None:
    """Return the token of an ``Authorization`` header of the scheme Bearer."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def hash_token(secret: str) -> bytes:
    """Return the SHA-256 of a random token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def respondent_tokens(count: int) -> list[str]:
    """Return `count` new single-use tokens of 256 random bits."""
    return [secrets.token_urlsafe(32) for _ in range(count)]


def respondent_hash(authorization: str | None) -> bytes | None:
    """Return the hash of the single-use token in an ``Authorization`` header; None without one."""
    token = bearer(authorization)
    return hash_token(token) if token and _RESPONDENT_TOKEN.fullmatch(token) else None
