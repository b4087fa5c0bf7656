"""Tokens: of respondents, for a single report, and of analysts, with scopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hushpoll_client.analyst.calls import Calls, list_in, object_of, survey_path


class TokenCalls(Calls):
    """Issues, lists, replaces and revokes tokens."""

    def mint_tokens(self, name: str, count: int) -> list[str]:
        """Make single-use respondent tokens for a token survey. Not retried."""
        # Tokens whose answer was lost exist already; a repetition would make more.
        answer = self._post({"count": count}, *survey_path(name), "tokens", retry=False)
        return list_in(answer, "tokens")

    def issue_token(
        self, scopes: Sequence[str], *, label: str = "", expires_in: int | None = None
    ) -> dict[str, Any]:
        """Issue a bearer token; needs scope ``admin``. Not retried.

        Parameters
        ----------
        scopes : sequence of str
            Out of ``submit``, ``publish``, ``read``, ``train``, ``admin``.
        label : str
            What it is for, at most 200 characters.
        expires_in : int or None
            Seconds in [1, 315360000]; None never expires.

        Returns
        -------
        dict
            ``token`` (shown this once), ``id``, ``scopes`` and, if it expires, ``expires_at``.
        """
        body: dict[str, Any] = {"scopes": list(scopes), "label": label}
        if expires_in is not None:
            body["expires_in"] = expires_in
        return self._post(body, "tokens", retry=False)

    def tokens(self) -> list[dict[str, Any]]:
        """List all bearer tokens without their secrets; needs scope ``admin``."""
        return list_in(object_of(self._transport.get("tokens")), "tokens")

    def rotate_token(
        self, token_id: str, *, overlap_seconds: int | None = None, expires_in: int | None = None
    ) -> dict[str, Any]:
        """Replace a bearer token by one with the same scopes and label. Not retried.

        Parameters
        ----------
        token_id : str
            Public id, the middle part of the token.
        overlap_seconds : int or None
            For how long the old token stays valid, in [0, 2592000]; a day by default.
        expires_in : int or None
            Seconds after which the new token expires; by default when the old one would have.

        Returns
        -------
        dict
            As `issue_token`, and ``replaces`` and ``replaced_until``.
        """
        terms = {"overlap_seconds": overlap_seconds, "expires_in": expires_in}
        body = {name: value for name, value in terms.items() if value is not None}
        return self._post(body, "tokens", token_id, "rotate", retry=False)

    def revoke_token(self, token_id: str) -> None:
        """Refuse a bearer token from now on; revoking it again changes nothing."""
        self._transport.delete("tokens", token_id)
