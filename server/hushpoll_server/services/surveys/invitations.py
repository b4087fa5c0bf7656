"""Invitations: issued, redeemed once each, and the tokens that come of it verified."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import deque
from concurrent.futures import Future
from typing import Final

from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.access import bearer, respondent_hash
from hushpoll_server.services.surveys.invitation_keys import InvitationKeys, voprf
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.invitations import InvitationStore, Redeemed, Redemption
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire import invitations as wire

MOST_AT_ONCE: Final = 100
"""Redemptions of one transaction."""


class Invitations:
    """Issues invitations, evaluates what devices send with them, and verifies tokens."""

    def __init__(
        self, store: InvitationStore, surveys: SurveyService, keys: InvitationKeys
    ) -> None:
        self._store = store
        self._surveys = surveys
        self._keys = keys
        self._waiting: deque[tuple[Redemption, Future[Redeemed]]] = deque()
        self._turn = threading.Lock()

    def check_invited(self, row: VersionRow) -> Published:
        """Return the survey of a version that takes invitations.

        Raises
        ------
        Refused
            ``invalid-request``: it takes none.
        """
        published = self._surveys.published(row)
        if published.submission != INVITED:
            raise Refused(
                "invalid-request",
                f"{row.name} version {row.version} has submission {published.submission!r} and "
                "takes no invitations; publish a version with submission 'invited'",
                field="submission",
            )
        return published

    def check_open(self, row: VersionRow) -> Published:
        """Return the survey of a version to which people can be invited now.

        Raises
        ------
        Refused
            As ``check_invited``; ``survey-closed``.
        """
        published = self.check_invited(row)
        if self._surveys.state(row) in (State.CLOSED, State.CLOSING):
            raise _closed(row)
        return published

    def issue(self, row: VersionRow, count: int) -> list[str]:
        """Return `count` new invitations of 256 random bits to a version; keep their hashes.

        Raises
        ------
        Refused
            As ``check_open``.
        """
        self.check_open(row)
        codes = [secrets.token_urlsafe(32) for _ in range(count)]
        self._store.add(row.id, [_hash(code) for code in codes])
        return codes

    def counts(self, row: VersionRow) -> tuple[int, int]:
        """Return how many invitations a version has, and how many of them are redeemed."""
        return self._store.counts(row.id)

    def redeem(self, name: str, document: object, authorization: str | None) -> dict[str, str]:
        """Evaluate a blinded element for an invitation; the answer's JSON.

        The element is kept with the invitation before it is evaluated. The same one is evaluated
        again, for a device that lost the answer.

        Parameters
        ----------
        name : str
            The survey.
        document : object
            ``{"digest", "blinded"}``, parsed.
        authorization : str or None
            The ``Authorization`` header, with the invitation.

        Raises
        ------
        InvalidParameter
            The document has another form, or the element is none of the group.
        Refused
            ``unauthorized``: no, or an unknown, invitation of this version.
            ``invitation-redeemed``: with another element. ``survey-closed``, ``survey-not-open``,
            ``unknown-survey``, ``unknown-digest``, ``unavailable``.
        """
        digest, blinded = wire.parse_redemption(document)
        row = self._surveys.by_digest(name, digest)
        published = self.check_invited(row)
        function = voprf()
        function.check_element(blinded, field="blinded")
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
        code = respondent_hash(authorization)
        outcome = Redeemed.UNKNOWN
        if code is not None:
            outcome = self._kept(Redemption(row.id, code, blinded))
        if outcome is Redeemed.UNKNOWN:
            raise Refused(
                "unauthorized",
                f"{row.name} version {row.version} takes an invitation, and this request has none "
                "that it knows; open the link that you were given, whole",
                field="Authorization",
            )
        if outcome is Redeemed.OTHER:
            raise Refused(
                "invitation-redeemed",
                "this invitation was redeemed before, by another device or by one that has "
                "forgotten it; answer where the link was first opened, or ask for another "
                "invitation",
                field="Authorization",
            )
        return wire.encode_evaluation(*function.BlindEvaluate(key, blinded))

    def spent_by(self, published: Published, authorization: str | None) -> bytes | None:
        """Return what is kept of the token that a request carries; None if it is no token of it.

        Raises
        ------
        Refused
            ``unavailable``: this server lacks the version's key.
        """
        token = wire.Token.from_text(bearer(authorization))
        if token is None:
            return None
        output = voprf().Evaluate(self._keys.key(published), token.input)
        if not hmac.compare_digest(output, token.output):
            return None
        return hashlib.sha256(token.input).digest()

    def _kept(self, redemption: Redemption) -> Redeemed:
        """Keep a redemption; those that come while a transaction lasts share the next one."""
        settled: Future[Redeemed] = Future()
        self._waiting.append((redemption, settled))
        with self._turn:
            if not settled.done():
                group = [
                    self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_AT_ONCE))
                ]
                try:
                    outcomes = self._store.redeem([one for one, _ in group])
                except BaseException as error:
                    for _, future in group:
                        future.set_exception(error)
                else:
                    for (_, future), outcome in zip(group, outcomes, strict=True):
                        future.set_result(outcome)
        return settled.result()


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()


def _closed(row: VersionRow) -> Refused:
    return Refused(
        "survey-closed",
        f"{row.name} version {row.version} is closed; fetch the survey to see whether there is a "
        "newer version",
        field="digest",
    )
