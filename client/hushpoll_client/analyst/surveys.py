"""Surveys and tokens: publish, list, fetch and close surveys; issue and revoke tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from hushpoll_client.analyst.calls import (
    Calls,
    as_document,
    list_in,
    object_of,
    survey_path,
    unexpected_answer,
    version_path,
)
from hushpoll_protocols.errors import ManifestRefused
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents.administration import (
    InvitationCounts,
    MailPreviewDocument,
    RotateDocument,
    TokenCounts,
    TokenDocument,
    TokenSummary,
)
from hushpoll_shared.wire.documents.surveys import CloseDocument, PublishDocument, SurveySummary
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE, check_digest

if TYPE_CHECKING:
    from hushpoll_shared.reading.people import Person

_RESPONDENT_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class SurveyCalls(Calls):
    """Publishes, lists and closes survey versions."""

    def publish(self, manifest: JsonObject, *, allow_weak: bool = False) -> PublishDocument:
        """Publish a draft.

        Parameters
        ----------
        manifest : mapping
            The draft.
        allow_weak : bool
            Publish although the survey hardly protects its respondents: an epsilon above 8 for a
            question, or above 16 in all.

        Returns
        -------
        dict
            ``name``, ``version``, ``digest``, ``warnings`` and the published ``manifest``.

        Raises
        ------
        InvalidParameter, ManifestRefused
            If the draft is refused, naming the field.
        TransportError
            If the version exists with other content, the survey hardly protects, the token does not
            allow it, or no answer came.
        """
        params = {"allow_weak": "true"} if allow_weak else None
        return as_document(PublishDocument, self._post(manifest, "surveys", params=params))

    def surveys(self) -> list[SurveySummary]:
        """List all versions of all surveys."""
        return self._listed(SurveySummary, "surveys", "surveys")

    def find(self, digest: str) -> SurveySummary | None:
        """Return the list's entry of the version with this digest, or None."""
        check_digest(digest)
        return next((item for item in self.surveys() if item.get("digest") == digest), None)

    def show(self, name: str, version: int | None = None) -> Published:
        """Fetch a published survey and check it; the newest version unless one is given."""
        path = survey_path(name) if version is None else version_path(name, version)
        published = Published.from_json(self._transport.get(*path, token=False).body)
        if published.name != name or version not in (None, published.version):
            raise ManifestRefused(
                f"the server answered with survey {published.name!r} version {published.version} "
                f"for {name!r}; check its address",
                field="name",
            )
        return published

    def close(self, name: str, version: int, *, grace_seconds: int | None = None) -> CloseDocument:
        """Close a version.

        Parameters
        ----------
        grace_seconds : int or None
            For how long the server still accepts reports of offline devices, at least 0; by
            default its setting.
        """
        body = {} if grace_seconds is None else {"grace_seconds": grace_seconds}
        return as_document(CloseDocument, self._post(body, *version_path(name, version), "close"))

    def origins(self, name: str) -> list[str]:
        """List the web origins whose pages may answer a survey."""
        path = (*survey_path(name), "origins")
        return _texts_in(object_of(self._transport.get(*path)), "origins")

    def set_origins(self, name: str, origins: Sequence[str]) -> list[str]:
        """Let pages of these web origins, and of no others, answer a survey in all its versions.

        Parameters
        ----------
        name : str
            The survey.
        origins : sequence of str
            As browsers send them, such as ``https://survey.example.org``; with none, no page may.

        Returns
        -------
        list of str
            The origins that may answer now.
        """
        answer = self._transport.put(
            *survey_path(name),
            "origins",
            body=canonical_json({"origins": list(origins)}),
            media_type=JSON_MEDIA_TYPE,
        )
        return _texts_in(object_of(answer), "origins")


class TokenCalls(Calls):
    """Issues, lists, replaces and revokes tokens."""

    def mint_tokens(self, name: str, count: int) -> list[str]:
        """Make single-use respondent tokens for a token survey. Not retried."""
        # Tokens whose answer was lost exist already; a repetition would make more.
        answer = self._post({"count": count}, *survey_path(name), "tokens", retry=False)
        tokens = list_in(answer, "tokens")
        if len(tokens) != count or not all(map(_is_token, tokens)):
            raise unexpected_answer(f"{count} tokens")
        return tokens

    def token_counts(self, name: str, version: int) -> TokenCounts:
        """Say how many respondent tokens of a token survey are spent; needs scope ``read``.

        Parameters
        ----------
        name, version
            Any version of it; tokens are of the survey, in all its versions.

        Returns
        -------
        dict
            ``submission``; ``unspent`` and ``spent``: numbers, or None of a survey without tokens,
            and of one that releases on a schedule until every version is over, since each report
            spends one.
        """
        answer = object_of(self._transport.get(*version_path(name, version), "overview"))
        counts = {
            "submission": answer.get("submission"),
            "unspent": answer.get("unspent_tokens"),
            "spent": answer.get("spent_tokens"),
        }
        return as_document(TokenCounts, counts)

    def respondent_link(self, published: Published, token: str) -> str:
        """Return the address of a survey's hosted page that pins its digest and has a token."""
        page = f"{self._transport.endpoint.base}/s/{published.name}"
        return f"{page}#sha256={published.digest}&token={token}"

    def issue_invitations(self, name: str, version: int, count: int) -> list[str]:
        """Make invitations to a version with submission ``invited``. Not retried."""
        body: JsonMembers = {"count": count}
        path = (*version_path(name, version), "invitations")
        codes = list_in(self._post(body, *path, retry=False), "invitations")
        if len(codes) != count or not all(map(_is_token, codes)):
            raise unexpected_answer(f"{count} invitations")
        return codes

    def invitation_counts(self, name: str, version: int) -> InvitationCounts:
        """Say how many invitations a version has, and how many are redeemed; needs scope ``read``.

        Returns
        -------
        dict
            ``submission``; ``invited`` and ``redeemed``: numbers, or None of a version that takes
            no invitations.
        """
        answer = object_of(self._transport.get(*version_path(name, version), "overview"))
        names = ("submission", "invited", "redeemed")
        return as_document(InvitationCounts, {key: answer.get(key) for key in names})

    def mail_previews(
        self,
        name: str,
        version: int,
        texts: Mapping[str, JsonObject] | None = None,
        *,
        people: Sequence[Person] = (),
        reminder: bool = False,
    ) -> list[MailPreviewDocument]:
        """Show the mails of ``invite_people`` or ``remind_people``; sends none.

        Needs scope ``publish``, and no mail server. The person they go to is made up; `people` are
        checked, and not stored.

        Returns
        -------
        list of dict
            In each language that there is a text in: ``language``, ``sender`` (empty while the
            server has none), ``recipient``, ``subject``, ``body``.
        """
        body: JsonMembers = {"reminder": reminder}
        if people:
            body["people"] = [dict(person.to_dict()) for person in people]
        if texts:
            body["texts"] = dict(texts)
        answer = self._post(body, *version_path(name, version), "mail-previews")
        return [as_document(MailPreviewDocument, item) for item in list_in(answer, "mails")]

    def invitation_link(self, published: Published, invitation: str) -> str:
        """Return the address of a survey's hosted page that pins its digest, with an invitation."""
        page = f"{self._transport.endpoint.base}/s/{published.name}"
        return f"{page}#sha256={published.digest}&invitation={invitation}"

    def issue_token(
        self,
        scopes: Sequence[str],
        *,
        label: str = "",
        expires_in: int | None = None,
        surveys: Sequence[str] | None = None,
    ) -> TokenDocument:
        """Issue a bearer token; needs scope ``admin``. Not retried.

        Parameters
        ----------
        scopes : sequence of str
            Out of ``submit``, ``publish``, ``read``, ``train``, ``admin``.
        label : str
            The token's purpose, at most 200 characters.
        expires_in : int or None
            Seconds in [1, 315360000]; None never expires.
        surveys : sequence of str or None
            Names of the surveys that the token is for; None: every survey.

        Returns
        -------
        dict
            ``token`` (shown this once), ``id``, ``scopes`` and, if it expires, ``expires_at``.
        """
        body: JsonMembers = {"scopes": list(scopes), "label": label}
        if expires_in is not None:
            body["expires_in"] = expires_in
        if surveys is not None:
            body["surveys"] = list(surveys)
        return as_document(TokenDocument, self._post(body, "tokens", retry=False))

    def tokens(self) -> list[TokenSummary]:
        """List all bearer tokens without their secrets; needs scope ``admin``."""
        return self._listed(TokenSummary, "tokens", "tokens")

    def rotate_token(
        self, token_id: str, *, overlap_seconds: int | None = None, expires_in: int | None = None
    ) -> RotateDocument:
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
        return as_document(
            RotateDocument, self._post(body, "tokens", token_id, "rotate", retry=False)
        )

    def revoke_token(self, token_id: str) -> None:
        """Refuse a bearer token from now on; revoking it again changes nothing."""
        self._delete("tokens", token_id)


def _texts_in(document: JsonObject, key: str) -> list[str]:
    """Return the list of texts that an answer has under a key."""
    texts = list_in(document, key)
    if not all(isinstance(text, str) for text in texts):
        raise unexpected_answer(f"texts in {key}")
    return texts


def _is_token(value: object) -> bool:
    """Return whether a value can be a respondent's token, which stands in links and in lines."""
    return isinstance(value, str) and _RESPONDENT_TOKEN.fullmatch(value) is not None
