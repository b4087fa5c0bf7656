"""Drafts: manifests that a server checks, plans and keeps until they are published."""

from __future__ import annotations

import re
from typing import Final

from hushpoll_client.analyst.calls import Calls, as_document, object_of, version_path
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.canonical import canonical_json
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import show
from hushpoll_shared.wire.documents.drafts import (
    DraftDocument,
    DraftSummary,
    ImageDocument,
    ImportDocument,
    ValidationDocument,
)
from hushpoll_shared.wire.documents.plans import LaunchDocument
from hushpoll_shared.wire.documents.surveys import PublishDocument
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE

BYTES_MEDIA_TYPE: Final = "application/octet-stream"
_DRAFT_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)


class DraftCalls(Calls):
    """Checks, keeps, changes and publishes drafts; needs scope ``publish``."""

    def validate(self, manifest: JsonObject) -> ValidationDocument:
        """Say all for which a manifest would be refused; nothing is stored.

        Returns
        -------
        dict
            ``valid``; ``problems``, each with ``field``, ``value``, ``message`` and ``remedy``;
            ``hardly_protected``, ``warnings``, and, if valid, ``digest`` and ``manifest``.
        """
        return as_document(
            ValidationDocument, self._post({"manifest": manifest}, "drafts", "validate")
        )

    def launch_plan(
        self, manifest: JsonObject, n: int, *, width: float | None = None
    ) -> LaunchDocument:
        """Say how precise each question and an audit will be; nothing is stored.

        Parameters
        ----------
        manifest : mapping
            A valid one.
        n : int
            Respondents, in [1, 10^9].
        width : float or None
            Mean width that no question's intervals should exceed, in (0, 1]; 0.1 by default.
        """
        more = {} if width is None else {"width": width}
        return as_document(
            LaunchDocument, self._post({"manifest": manifest, "n": n, **more}, "drafts", "plan")
        )

    def add_image(self, data: bytes, *, file: str = "the image") -> ImageDocument:
        """Keep an image for the pages of surveys.

        Parameters
        ----------
        data : bytes
            PNG, JPEG, WebP or GIF, at most 256 KiB and 2000 pixels each way.
        file : str
            What it is called, for messages.

        Returns
        -------
        dict
            ``image``, the SHA-256 that ``logo.image`` of a manifest names; ``media_type``,
            ``width`` and ``height`` in pixels, and ``bytes``.
        """
        answer = self._transport.post(
            "images",
            body=data,
            media_type=BYTES_MEDIA_TYPE,
            params={"file": file[:200]},
            retry=True,
        )
        return as_document(ImageDocument, object_of(answer))

    def drafts(self) -> list[DraftSummary]:
        """List the drafts, that which was changed last first."""
        return self._listed(DraftSummary, "drafts", "drafts")

    def draft(self, draft_id: str) -> DraftDocument:
        """Return a draft with its ``manifest`` and ``revision``."""
        return self._fetched(DraftDocument, "drafts", checked_draft_id(draft_id))

    def add_draft(self, manifest: JsonObject) -> DraftDocument:
        """Keep a manifest as a draft, whatever it lacks but for the survey's name. Not retried."""
        return as_document(DraftDocument, self._post({"manifest": manifest}, "drafts", retry=False))

    def import_draft(
        self, content: bytes, *, file: str = "the file", survey: str | None = None
    ) -> ImportDocument:
        """Keep a questionnaire of another tool as a draft. Not retried.

        Parameters
        ----------
        content : bytes
            The whole file: an XLSForm (XLSX, XLS, CSV) or a survey of SurveyJS (JSON).
        file : str
            Its name, for messages.
        survey : str, optional
            The survey's name; by default one that is made of the form's.

        Returns
        -------
        dict
            ``draft``, and ``report``, which names every question of the file: ``taken``,
            ``changed``, ``to be decided`` or ``dropped``, with the reason and the file's codes.
        """
        answer = self._transport.post(
            "drafts",
            "import",
            body=content,
            media_type=BYTES_MEDIA_TYPE,
            params={"file": file} | ({} if survey is None else {"survey": survey}),
            retry=False,
        )
        return as_document(ImportDocument, object_of(answer))

    def draft_of_version(self, name: str, version: int) -> DraftDocument:
        """Begin the next version of a published survey as a draft. Not retried."""
        answer = self._post({}, *version_path(name, version), "draft", retry=False)
        return as_document(DraftDocument, answer)

    def replace_draft(self, draft_id: str, manifest: JsonObject, *, revision: int) -> DraftDocument:
        """Put another manifest into a draft, if it still has the revision that was read.

        Raises
        ------
        TransportError
            With status 412 if it was changed since.
        """
        answer = self._transport.put(
            "drafts",
            checked_draft_id(draft_id),
            body=canonical_json({"manifest": manifest}),
            media_type=JSON_MEDIA_TYPE,
            etag=f'"{revision}"',
        )
        return as_document(DraftDocument, object_of(answer))

    def publish_draft(
        self, draft_id: str, *, revision: int, allow_weak: bool = False
    ) -> PublishDocument:
        """Publish a draft in the revision that was read. Not retried.

        Returns what :meth:`AnalystClient.publish` does.
        """
        params = {"allow_weak": "true"} if allow_weak else None
        path = ("drafts", checked_draft_id(draft_id), "publish")
        answer = self._post({}, *path, params=params, etag=f'"{revision}"', retry=False)
        return as_document(PublishDocument, answer)

    def delete_draft(self, draft_id: str) -> None:
        """Delete a draft, in whatever revision it is."""
        self._delete("drafts", checked_draft_id(draft_id))


def checked_draft_id(draft_id: str) -> str:
    """Return `draft_id` if a draft can have it.

    Raises
    ------
    InvalidParameter
        Otherwise.
    """
    if not isinstance(draft_id, str) or not _DRAFT_ID.fullmatch(draft_id):
        raise InvalidParameter(
            f"the draft's id is {show(draft_id)}; give one that hushpoll draft list shows",
            field="draft_id",
        )
    return draft_id
