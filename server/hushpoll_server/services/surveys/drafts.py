"""Drafts: manifests that are kept while they are written, changed, published or thrown away.

A draft may be incomplete and wrong in all but the survey's name, by which the roles of users apply.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.surveys import Publication, SurveyService, timestamp
from hushpoll_server.store.editing.drafts import DraftRow, DraftStore
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.text import TITLE_LENGTH, check_name, printable
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents.drafts import DraftDocument, DraftSummary

_RESOLVED: Final = frozenset({"epsilon", "parameters", "thresholds"})
"""What publishing adds to a question."""

_OF_THE_VERSION: Final = frozenset({"format", "opens", "closes"})
"""What a new version does not take from the published one."""


MOST_DRAFTS: Final = 200
"""Drafts that one user, or one token, may have begun and neither published nor deleted."""


@dataclass(frozen=True)
class Draft:
    """A draft with its manifest, which is a JSON object and may be no valid one."""

    row: DraftRow
    manifest: JsonObject


class Drafts:
    """Keeps drafts of at most `most_bytes` bytes of JSON."""

    def __init__(self, store: DraftStore, surveys: SurveyService, *, most_bytes: int) -> None:
        self._store = store
        self._surveys = surveys
        self._most_bytes = most_bytes

    def add(self, manifest: Mapping[str, object], *, actor: str) -> Draft:
        """Keep a new draft, whose ``name`` must be one that a survey can have.

        An `actor` with :data:`MOST_DRAFTS`, and a manifest that is too large, are refused.
        """
        columns, text = self._columns(manifest)
        now = self._surveys.now()
        row = DraftRow(
            id=secrets.token_hex(8),
            owner=actor,
            created_at=now,
            changed_at=now,
            changed_by=actor,
            revision=1,
            **columns,
        )
        if not self._store.add(row, text, most=MOST_DRAFTS):
            raise Refused(
                "invalid-request",
                f"drafts are {MOST_DRAFTS} that you have begun, of at most {MOST_DRAFTS}; publish "
                "or delete one before you begin another",
                field="drafts",
            )
        return Draft(row, json.loads(text))

    def of_version(self, published: Published, *, actor: str) -> Draft:
        """Keep the questions and terms of a published version as the draft of the next one.

        Its period is left out: that of the published version may be over.
        """
        manifest = {
            key: value for key, value in published.to_dict().items() if key not in _OF_THE_VERSION
        }
        manifest["version"] = self._surveys.next_version(published.name)
        manifest["attributes"] = [_written(attribute) for attribute in manifest["attributes"]]
        return self.add(manifest, actor=actor)

    def summary(self, row: DraftRow) -> DraftSummary:
        """Return a line of the list, as the API gives it."""
        return {
            **cast("DraftSummary", vars(row)),
            "created_at": timestamp(row.created_at),
            "changed_at": timestamp(row.changed_at),
        }

    def describe(self, draft: Draft) -> DraftDocument:
        """Return a draft as the API gives it."""
        return {**self.summary(draft.row), "manifest": draft.manifest}

    def all(self) -> list[DraftRow]:
        """Return every draft, that which was changed last first."""
        return self._store.all()

    def find(self, draft_id: str) -> Draft:
        """Return a draft, or refuse: ``not-found``."""
        entry = self._store.find(draft_id) if draft_id.isalnum() else None
        if entry is None:
            raise Refused(
                "not-found",
                f"there is no draft {draft_id[:32]!r}; it may be published or deleted: list the "
                "drafts",
                field="draft_id",
            )
        return Draft(entry[0], json.loads(entry[1]))

    def replace(
        self, draft: Draft, manifest: Mapping[str, object], *, actor: str, revision: int | None
    ) -> Draft:
        """Put another manifest into a draft, in the `revision` that was read (None: in any).

        One that was changed since is refused, ``draft-changed``, and what `add` refuses.
        """
        columns, text = self._columns(manifest)
        read = draft.row.revision if revision is None else revision
        if not self._store.replace(
            draft.row.id,
            revision=read,
            manifest=text,
            changed_at=self._surveys.now(),
            changed_by=actor,
            **columns,
        ):
            raise _changed(self.find(draft.row.id).row)
        return self.find(draft.row.id)

    def remove(self, draft: Draft, *, revision: int | None = None) -> None:
        """Delete a draft; raises as `replace`."""
        if not self._store.remove(draft.row.id, revision=revision):
            raise _changed(self.find(draft.row.id).row)

    def publish(
        self, draft: Draft, *, revision: int | None, allow_weak: bool = False
    ) -> Publication:
        """Publish a draft in the revision that was read, and delete it.

        Refused is what :meth:`SurveyService.publish` refuses, and a draft that was changed since.
        """
        if revision is not None and revision != draft.row.revision:
            raise _changed(draft.row)
        publication = self._surveys.publish(draft.manifest, allow_weak=allow_weak)
        # A draft that was changed in this moment is kept: it is not what was published.
        self._store.remove(draft.row.id, revision=draft.row.revision)
        return publication

    def _columns(self, manifest: Mapping[str, object]) -> tuple[dict[str, str], str]:
        try:
            name = check_name(manifest.get("name"), field="name")
        except InvalidParameter as error:
            raise ManifestRefused(str(error), field="name") from None
        title = manifest.get("title")
        text = json.dumps(manifest)
        if len(text) > self._most_bytes:
            raise Refused(
                "payload-too-large",
                f"the manifest has {len(text)} bytes as JSON, and at most {self._most_bytes} are "
                "taken; declare fewer categories",
                field="manifest",
            )
        shown = printable(title)[:TITLE_LENGTH] if isinstance(title, str) else ""
        return {"survey": name, "title": shown}, text


def _changed(row: DraftRow) -> Refused:
    return Refused(
        "draft-changed",
        f"{row.changed_by} has changed this draft since you read it: it has revision "
        f"{row.revision}; read it again before you change it",
        field="If-Match",
    )


def _written(attribute: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published question as an author writes it; consecutive numbers are a range."""
    question = {key: value for key, value in attribute.items() if key not in _RESOLVED}
    categories = question["categories"]
    try:
        low, high = int(categories[0]), int(categories[-1])
    except ValueError:
        return question
    if len(categories) == high - low + 1 >= 2 and all(
        category == str(number)
        for category, number in zip(categories, range(low, high + 1), strict=True)
    ):
        del question["categories"]
        question["range"] = [low, high]
    return question
