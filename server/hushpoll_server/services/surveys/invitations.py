"""Invitations: issued, redeemed once each, and the tokens that come of it verified."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.access import bearer, respondent_hash
from hushpoll_server.services.surveys.invitation_keys import InvitationKeys, voprf
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.invitations import InvitationStore, Redeemed, Redemption
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire import invitations as wire

if TYPE_CHECKING:
    from hushpoll_shared.wire.voprf import KeyPair


@dataclass(frozen=True, repr=False)
class CheckedRedemption:
    """A redemption that is well-formed, of a version that takes it, and not yet stored.

    `invitation` is its SHA-256; whether it is known is found out with the store. `blinded` is an
    element of the group.
    """

    row: VersionRow
    key: KeyPair
    invitation: bytes
    blinded: bytes


class Invitations:
    """Issues invitations, evaluates what devices send with them, and verifies tokens."""

    def __init__(
        self, store: InvitationStore, surveys: SurveyService, keys: InvitationKeys
    ) -> None:
        self._store = store
        self._surveys = surveys
        self._keys = keys

    def check_open(self, row: VersionRow) -> Published:
        """Return the survey of a version, and refuse one to which nobody can be invited now."""
        published = self._surveys.require_submission(row, INVITED)
        if self._surveys.state(row) in (State.CLOSED, State.CLOSING):
            raise _closed(row)
        return published

    def issue(self, row: VersionRow, count: int) -> list[str]:
        """Return `count` new invitations of 256 random bits to a version; keep their hashes."""
        self.check_open(row)
        codes = [secrets.token_urlsafe(32) for _ in range(count)]
        self._store.add(row.id, [_hash(code) for code in codes])
        return codes

    def counts(self, row: VersionRow) -> tuple[int, int]:
        """Return how many invitations a version has, and how many of them are redeemed."""
        return self._store.counts(row.id)

    def check(
        self, name: str, document: object, authorization: str | None, *, from_memory: bool = False
    ) -> CheckedRedemption:
        """Check a redemption as far as its invitation need not be looked up.

        The document is ``{"digest", "blinded"}``, and the ``Authorization`` header has the
        invitation. With `from_memory`, for a thread that must not wait, `NotRemembered` is raised
        where the database would have to be asked.
        """
        digest, blinded = wire.parse_redemption(document)
        row = self._surveys.by_digest(name, digest, from_memory=from_memory)
        published = self._surveys.require_submission(row, INVITED)
        voprf().check_element(blinded, field="blinded")
        state = self._surveys.state(row)
        if state is State.SCHEDULED:
            raise Refused(
                "survey-not-open",
                f"{row.name} version {row.version} is not open yet; redeem the invitation then",
                field="digest",
            )
        if state is State.CLOSED:
            raise _closed(row)
        key = self._keys.key(published)
        invitation = respondent_hash(authorization)
        if invitation is None:
            raise _unknown(row)
        return CheckedRedemption(row, key, invitation, blinded)

    def redeem(self, group: Sequence[CheckedRedemption]) -> list[dict[str, str] | Refused]:
        """Keep the blinded elements of a group in one transaction, then evaluate them.

        The element is kept with the invitation before it is evaluated. The same one is evaluated
        again, for a device that lost the answer. For each redemption there is the answer's JSON, or
        its refusal: ``unauthorized`` for an unknown invitation of this version,
        ``invitation-redeemed`` with another element.
        """
        outcomes = self._store.redeem(
            [Redemption(one.row.id, one.invitation, one.blinded) for one in group]
        )
        return [_answer(one, outcome) for one, outcome in zip(group, outcomes, strict=True)]

    def spent_by(self, published: Published, authorization: str | None) -> bytes | None:
        """Return what is kept of the token that a request carries; None if it is no token of it."""
        token = wire.Token.from_text(bearer(authorization))
        if token is None:
            return None
        output = voprf().Evaluate(self._keys.key(published), token.input)
        if not hmac.compare_digest(output, token.output):
            return None
        return hashlib.sha256(token.input).digest()


def _answer(redemption: CheckedRedemption, outcome: Redeemed) -> dict[str, str] | Refused:
    if outcome is Redeemed.UNKNOWN:
        return _unknown(redemption.row)
    if outcome is Redeemed.OTHER:
        return Refused(
            "invitation-redeemed",
            "this invitation was redeemed before, by another device or by one that has "
            "forgotten it; answer where the link was first opened, or ask for another "
            "invitation",
            field="Authorization",
        )
    return wire.encode_evaluation(*voprf().BlindEvaluate(redemption.key, redemption.blinded))


def _unknown(row: VersionRow) -> Refused:
    return Refused(
        "unauthorized",
        f"{row.name} version {row.version} takes an invitation, and this request has none "
        "that it knows; open the link that you were given, whole",
        field="Authorization",
    )


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()


def _closed(row: VersionRow) -> Refused:
    return Refused(
        "survey-closed",
        f"{row.name} version {row.version} is closed; fetch the survey to see whether there is a "
        "newer version",
        field="digest",
    )
