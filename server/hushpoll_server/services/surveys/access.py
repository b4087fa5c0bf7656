"""Bearer tokens, and what each of them allows.

A token is ``hp_<id>_<secret>``: a public id of 64 bits and a secret of 256 random bits. Only the
secret's SHA-256 is stored: a slow hash protects guessable passwords, and nobody guesses 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.store.catalogue import ApiTokenRow, TokenStore, VersionRow
from hushpoll_shared.spelling.clock import Clock
from hushpoll_shared.spelling.text import is_name, show

SCOPES: Final = ("submit", "publish", "read", "train", "admin")
MAX_EXPIRY_SECONDS: Final = 10 * 365 * 86_400
MAX_OVERLAP_SECONDS: Final = 30 * 86_400
OVERLAP_SECONDS: Final = 86_400
MOST_SURVEYS: Final = 100

_TOKEN: Final = re.compile(r"hp_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_RESPONDENT_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


@dataclass(frozen=True)
class Grant:
    """The public id and the scopes of a request's token; ``admin`` includes all other scopes.

    ``surveys`` are the names of the surveys that it is for; None: every survey. ``last_used`` is
    the day of its last use that is noted.
    """

    token_id: str
    scopes: frozenset[str]
    surveys: frozenset[str] | None = None
    last_used: str | None = None

    @property
    def actor(self) -> str:
        """The token's name in the action log."""
        return f"token:{self.token_id}"

    def allows(self, scope: str) -> bool:
        """Return whether this grant holds `scope`."""
        return scope in self.scopes or "admin" in self.scopes

    def covers(self, survey: str) -> bool:
        """Return whether this grant is for a survey."""
        return self.surveys is None or survey in self.surveys

    def require_survey(self, survey: str | None) -> None:
        """Refuse another survey; None: what is about more than the surveys of a bound token."""
        if self.surveys is None or (survey is not None and survey in self.surveys):
            return
        what = "more than them" if survey is None else repr(survey[:64])
        raise Refused(
            "forbidden",
            f"this token is for {', '.join(sorted(self.surveys))} alone, and this is about {what}; "
            "ask an administrator for another",
            field="Authorization",
        )


@dataclass(frozen=True)
class IssuedToken:
    """A new token, with its public id and the second since 1970 (UTC) at which it expires.

    It has the secret, which the server does not keep.
    """

    token: str
    id: str
    expires_at: int | None


class TokenState(StrEnum):
    """Whether a bearer token can be used now."""

    VALID = "valid"
    REPLACED = "replaced"  # it has a successor and is valid until its overlap is over
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True)
class Rotation:
    """A token's successor, the scopes of both, and the second at which the old one is refused."""

    issued: IssuedToken
    scopes: frozenset[str]
    replaced_until: int


class Access:
    """Issues, checks, replaces and revokes bearer tokens."""

    def __init__(self, store: TokenStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def issue(
        self,
        scopes: Iterable[str],
        *,
        label: str = "",
        expires_in: int | None = None,
        surveys: Iterable[str] | None = None,
    ) -> IssuedToken:
        """Issue a bearer token with at least one of ``SCOPES``.

        A label has at most 200 printable characters. A token expires in [1, 315360000] s, or never,
        and is for 1 to 100 surveys by name, published or not, or for every survey. Other values are
        refused.
        """
        row, token = self._new(scopes, label, expires_in)
        if surveys is not None:
            row = replace(row, surveys=_checked_surveys(surveys))
        self._store.add(row)
        return IssuedToken(token, row.id, row.expires_at)

    def issue_to_respondents(self, row: VersionRow, count: int) -> list[str]:
        """Return `count` new single-use tokens of 256 random bits for a survey; keep their hashes.

        Each is worth one report to any version of the survey.
        """
        tokens = [secrets.token_urlsafe(32) for _ in range(count)]
        self._store.add_respondents(row.survey_id, [hash_token(token) for token in tokens])
        return tokens

    def first_admin(self) -> str | None:
        """Issue an admin token if the database holds no token at all, that is at first start."""
        row, token = self._new(["admin"], "first start", None)
        return token if self._store.add_first(row) else None

    def all(self) -> list[ApiTokenRow]:
        """Return every bearer token, the oldest first; the store has no secrets to show."""
        return self._store.all()

    def state(self, row: ApiTokenRow) -> TokenState:
        """Return whether a token can be used now."""
        if row.revoked:
            return TokenState.REVOKED
        if self._expired(row):
            return TokenState.EXPIRED
        return TokenState.VALID if row.replaced_by is None else TokenState.REPLACED

    def rotate(
        self,
        token_id: str,
        *,
        overlap_seconds: int = OVERLAP_SECONDS,
        expires_in: int | None = None,
    ) -> Rotation | None:
        """Replace a token by a new one with the same scopes and label; None if there is none.

        The old one stays valid for [0, 2592000] s beside the new one, but never longer than it
        would have been; the new one expires in [1, 315360000] s, by default when the old one would
        have, if ever. A token that is revoked, expired or replaced is refused.
        """
        if not 0 <= overlap_seconds <= MAX_OVERLAP_SECONDS:
            raise InvalidParameter(
                f"overlap_seconds is {overlap_seconds}, outside [0, {MAX_OVERLAP_SECONDS}]; "
                "give a number inside it",
                field="overlap_seconds",
            )
        row = self._store.find(token_id)
        if row is None:
            return None
        self._check_replaceable(row)
        successor, token = self._new(row.scopes, row.label, expires_in)
        successor = replace(successor, surveys=row.surveys)
        if expires_in is None:
            successor = replace(successor, expires_at=row.expires_at)
        until = self._now() + overlap_seconds
        if not self._store.replace(row.id, successor, valid_until=until):
            self._check_replaceable(self._store.find(token_id) or row)
            raise Refused("unavailable", "the token changed meanwhile; try again", retry_after=1)
        return Rotation(
            IssuedToken(token, successor.id, successor.expires_at),
            row.scopes,
            until if row.expires_at is None else min(until, row.expires_at),
        )

    def revoke(self, token_id: str) -> bool:
        """Revoke a token by its public id; return False if there is none."""
        return self._store.revoke(token_id)

    def grant(self, authorization: str | None) -> Grant:
        """Return what the token of an ``Authorization`` header allows, or refuse it.

        The answer does not say whether it is unknown, revoked or expired.
        """
        match = _TOKEN.fullmatch(bearer(authorization) or "")
        row = self._store.find(match[1]) if match else None
        # Compared even where no row was found, so that the time taken does not tell.
        expected = row.hash if row else bytes(32)
        same = hmac.compare_digest(expected, hash_token(match[2] if match else ""))
        usable = (TokenState.VALID, TokenState.REPLACED)
        if row is None or not same or self.state(row) not in usable:
            raise Refused(
                "unauthorized",
                "this needs a bearer token that is known, neither expired nor revoked; "
                "send it as 'Authorization: Bearer <token>'",
                field="Authorization",
            )
        return Grant(row.id, row.scopes, row.surveys, row.last_used)

    def require(self, authorization: str | None, *scopes: str) -> Grant:
        """Return the grant of a request that needs one of `scopes`; without one: ``forbidden``."""
        grant = self.grant(authorization)
        if not any(map(grant.allows, scopes)):
            raise Refused(
                "forbidden",
                f"this needs a token of scope {' or '.join(map(repr, scopes))}; this one has "
                f"{', '.join(sorted(grant.scopes))}; ask an administrator for another",
                field="Authorization",
                scope=scopes[0],
            )
        self._note_use(grant)
        return grant

    def _note_use(self, grant: Grant) -> None:
        """Write the day of a use that was allowed: one write for each token and day.

        A request is answered also where it cannot be written; the next one writes it.
        """
        day = self._clock.now().strftime("%Y-%m-%d")
        if grant.last_used is None or grant.last_used < day:
            with suppress(Refused):
                self._store.use(grant.token_id, day)

    def _now(self) -> int:
        return int(self._clock.now().timestamp())

    def _expired(self, row: ApiTokenRow) -> bool:
        return row.expires_at is not None and self._now() >= row.expires_at

    def _check_replaceable(self, row: ApiTokenRow) -> None:
        state = self.state(row)
        if row.replaced_by is not None:
            raise InvalidParameter(
                f"token {row.id} was replaced by {row.replaced_by}; rotate that one",
                field="token_id",
            )
        if state is not TokenState.VALID:
            raise InvalidParameter(
                f"token {row.id} is {state}, and only a valid one can be rotated; issue a new one",
                field="token_id",
            )

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
        if len(label) > 200 or not label.isprintable():
            raise InvalidParameter(
                f"label is {show(label)} and has {len(label)} characters; give at most 200, all "
                "of them printable",
                field="label",
            )
        if expires_in is not None and not 1 <= expires_in <= MAX_EXPIRY_SECONDS:
            raise InvalidParameter(
                f"expires_in is {expires_in}, outside [1, {MAX_EXPIRY_SECONDS}] seconds; "
                "give a number inside it, or leave it out",
                field="expires_in",
            )
        token_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        now = self._now()
        row = ApiTokenRow(
            id=token_id,
            hash=hash_token(secret),
            label=label,
            scopes=wanted,
            expires_at=None if expires_in is None else now + expires_in,
            revoked=False,
            issued_at=now,
        )
        return row, f"hp_{token_id}_{secret}"


def _checked_surveys(surveys: Iterable[str]) -> frozenset[str]:
    names = frozenset(surveys)
    bad = sorted(name for name in names if not is_name(name))
    if bad or not 1 <= len(names) <= MOST_SURVEYS:
        raise InvalidParameter(
            f"surveys is {show(bad[0]) if bad else f'{len(names)} names'}; give 1 to "
            f"{MOST_SURVEYS} names of surveys, or leave it out for every survey",
            field="surveys",
        )
    return names


def bearer(authorization: str | None) -> str | None:
    """Return the token of an ``Authorization`` header of the scheme Bearer."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def bearer_token(authorization: str | None) -> str | None:
    """Return the token of an ``Authorization`` header if it has the form of an analyst's."""
    token = bearer(authorization)
    return token if token and _TOKEN.fullmatch(token) else None


def hash_token(secret: str) -> bytes:
    """Return the SHA-256 of a random token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def respondent_hash(authorization: str | None) -> bytes | None:
    """Return the hash of the single-use token in an ``Authorization`` header; None without one."""
    token = bearer(authorization)
    return hash_token(token) if token and _RESPONDENT_TOKEN.fullmatch(token) else None
