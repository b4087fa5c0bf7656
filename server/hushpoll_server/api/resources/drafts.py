"""Drafts of surveys: checked and planned without being stored; kept, changed, published, deleted.

A change names the state that it was made from (If-Match, RFC 9110, section 13.1.1), so that two
editors do not overwrite each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, cast

from flask import request
from pydantic import Field

from hushpoll_analysis.verdicts.needed import N_MAX
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused
from hushpoll_server.api.openapi import BINARY, body_of
from hushpoll_server.api.resources.surveys import PublishQuery, publication_answer, warnings_of
from hushpoll_server.api.routes import VERSION, Routes, address_of
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import BodySize, Parameters
from hushpoll_server.http.endpoint import (
    BYTES_MEDIA_TYPE,
    Answered,
    current_grant,
    log_act,
    raw_body,
    services,
)
from hushpoll_server.services.surveys.drafts import Draft
from hushpoll_server.services.surveys.launch import WIDTH, launch_plan
from hushpoll_server.services.surveys.plans import require_few_categories
from hushpoll_server.services.surveys.validation import named, validate
from hushpoll_server.services.surveys.warnings import publishing_warnings
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.importing.formats import import_bytes
from hushpoll_shared.importing.workbook import MOST_BYTES
from hushpoll_shared.survey.questions.presentation import IMAGE_BYTES
from hushpoll_shared.wire.documents.drafts import (
    DraftDocument,
    DraftList,
    ImageDocument,
    ImportDocument,
    ManifestProblemDocument,
    ValidationDocument,
)
from hushpoll_shared.wire.documents.plans import LaunchDocument
from hushpoll_shared.wire.documents.surveys import PublishDocument


class DraftPath(Parameters):
    """A draft by its id."""

    draft_id: str = Field(pattern=r"^[0-9a-f]{16}$", description="The draft's id.")


class DraftBody(Parameters):
    """A manifest that is not published yet."""

    BODY: ClassVar = BodySize.MANIFEST

    manifest: dict[str, object] = Field(
        description="May be incomplete and wrong, but for the survey's name."
    )


class ImportQuery(Parameters):
    """How a questionnaire that is sent is called."""

    file: str = Field(
        "the file", min_length=1, max_length=200, description="The file's name, for messages."
    )
    survey: str | None = Field(
        None,
        pattern=r"^[a-z0-9_-]{1,64}$",
        description="The survey's name; by default one that is made of the form's.",
    )


class LaunchBody(Parameters):
    """A draft, and how many respondents are expected."""

    BODY: ClassVar = BodySize.MANIFEST

    manifest: dict[str, object] = Field(description="A valid one; it is not stored.")
    n: int = Field(ge=1, le=N_MAX, strict=True, description="Respondents.")
    width: float = Field(
        WIDTH, gt=0, le=1, description="That no question's intervals should exceed on average."
    )


api = Routes("drafts")
IF_MATCH: dict[str, object] = {
    "parameters": [
        {
            "name": "If-Match",
            "in": "header",
            "required": False,
            "description": "The ETag with which the draft was read, or `*` for any.",
            "schema": {"type": "string"},
        }
    ]
}
BYTES = body_of({BYTES_MEDIA_TYPE: BINARY})


@api.operation("POST", "/drafts/validate", 503, scope="publish")
def validate_draft(body: DraftBody) -> ValidationDocument:
    """Say all for which a manifest would be refused, and what publishing would warn of.

    Nothing is stored. Servers check one draft at a time; others wait for their turn, at most 15
    seconds, and are then answered 503.
    """
    parts = services()
    current_grant().require_survey(named(body.manifest))
    with parts.surveys.looking.take():
        validation = validate(body.manifest, parts.surveys)
        published = validation.published
        warnings = () if published is None else publishing_warnings(published)
        return {
            "valid": not validation.problems,
            "problems": [
                cast("ManifestProblemDocument", vars(problem)) for problem in validation.problems
            ],
            "hardly_protected": validation.hardly_protected,
            "warnings": warnings_of(warnings),
            "digest": None if published is None else published.digest,
            "manifest": None if published is None else published.to_dict(),
        }


@api.operation("POST", "/drafts/plan", 503, scope="publish", nulls=True)
def plan_draft(body: LaunchBody) -> LaunchDocument:
    """Say how precise each question and an audit will be, for an expected number of respondents.

    Nothing is stored. Servers plan one draft at a time; others wait for their turn, at most 15
    seconds, and are then answered 503.
    """
    parts = services()
    with parts.surveys.looking.take():
        require_few_categories(body.manifest)
        try:
            published = Manifest.from_dict(body.manifest).resolve()
        except InvalidParameter as error:
            raise ManifestRefused(str(error), field=error.field) from None
        return launch_plan(parts.plans, body.manifest, published, n=body.n, width=body.width)


@api.operation("GET", "/drafts", scope="publish")
def list_drafts() -> DraftList:
    """List the drafts of the surveys that the token is for."""
    grant = current_grant()
    drafts = services().drafts
    return {"drafts": [drafts.summary(row) for row in drafts.all() if grant.covers(row.survey)]}


@api.operation("POST", "/drafts", scope="publish", status=201, nulls=True, act="began-draft")
def add_draft(body: DraftBody) -> Answered[DraftDocument]:
    """Keep a manifest as a draft, under an id of its own."""
    parts, grant = services(), current_grant()
    grant.require_survey(named(body.manifest))
    return _began(parts.drafts.add(body.manifest, actor=grant.actor))


@api.operation(
    "POST",
    "/drafts/import",
    503,
    scope="publish",
    status=201,
    openapi_extensions=BYTES,
    act="began-draft",
)
def import_draft(query: ImportQuery) -> Answered[ImportDocument]:
    """Keep a questionnaire of another tool as a draft, and report on each of its questions.

    The body is an XLSForm (XLSX, XLS, CSV) or a survey of SurveyJS (JSON). Servers read one file at
    a time; others wait for their turn, at most 15 seconds, and are then answered 503.
    """
    parts, grant = services(), current_grant()
    body = raw_body(min(MOST_BYTES, parts.settings.max_body_bytes))
    with parts.surveys.reading.take():
        imported = import_bytes(body, name=query.file, survey=query.survey)
    grant.require_survey(named(imported.manifest))
    draft = parts.drafts.add(imported.manifest, actor=grant.actor)
    _log(draft)
    document: ImportDocument = {
        "draft": parts.drafts.describe(draft),
        "report": imported.report(),
    }
    return Answered(document, headers=_place(draft))


@api.operation(
    "POST",
    "/images",
    503,
    scope="publish",
    status=201,
    openapi_extensions=BYTES,
    act="added-image",
)
def add_image(query: ImportQuery) -> ImageDocument:
    """Keep an image for the pages of surveys, which everybody may load; a draft names its hash.

    The body is a PNG, JPEG, WebP or GIF of at most 256 KiB and 2000 pixels each way.
    """
    parts, grant = services(), current_grant()
    body = raw_body(min(IMAGE_BYTES, parts.settings.max_body_bytes))
    digest, picture = parts.images.add(body, actor=grant.actor, name=query.file)
    log_act()
    return {
        "image": digest,
        "media_type": picture.media_type,
        "width": picture.width,
        "height": picture.height,
        "bytes": len(body),
    }


@api.operation(
    "POST", f"{VERSION}/draft", scope="publish", status=201, nulls=True, act="began-draft"
)
def draft_version(row: VersionRow) -> Answered[DraftDocument]:
    """Keep the questions and terms of a published version as a draft of the survey's next one."""
    parts = services()
    published = parts.surveys.published(row)
    return _began(parts.drafts.of_version(published, actor=current_grant().actor))


@api.operation("GET", "/drafts/<draft_id>", scope="publish", nulls=True, also={304: None})
def show_draft(path: DraftPath) -> Answered[DraftDocument]:
    """Return a draft; its ETag is for a later change."""
    return _answer(_covered(path))


@api.operation(
    "PUT",
    "/drafts/<draft_id>",
    412,
    428,
    scope="publish",
    nulls=True,
    openapi_extensions=IF_MATCH,
    act="changed-draft",
)
def replace_draft(path: DraftPath, body: DraftBody) -> Answered[DraftDocument]:
    """Put another manifest into a draft, if nobody has changed it since it was read."""
    parts, grant = services(), current_grant()
    draft = _covered(path)
    revision = _revision(draft)
    grant.require_survey(named(body.manifest))
    changed = parts.drafts.replace(draft, body.manifest, actor=grant.actor, revision=revision)
    _log(changed)
    return _answer(changed)


@api.operation(
    "DELETE",
    "/drafts/<draft_id>",
    412,
    scope="publish",
    openapi_extensions=IF_MATCH,
    act="deleted-draft",
)
def delete_draft(path: DraftPath) -> None:
    """Delete a draft; with If-Match only if nobody has changed it since it was read."""
    draft = _covered(path)
    named_state = "If-Match" in request.headers
    services().drafts.remove(draft, revision=_revision(draft) if named_state else None)
    _log(draft)


@api.operation(
    "POST",
    "/drafts/<draft_id>/publish",
    409,
    412,
    428,
    503,
    scope="publish",
    status=201,
    also={200: PublishDocument},
    openapi_extensions=IF_MATCH,
    act="published",
)
def publish_draft(path: DraftPath, query: PublishQuery) -> Answered[PublishDocument]:
    """Publish a draft as it was read, and delete it; refused as publishing its manifest is."""
    parts = services()
    draft = _covered(path)
    revision = _revision(draft)
    with parts.surveys.publishing.take():
        publication = parts.drafts.publish(draft, revision=revision, allow_weak=query.allow_weak)
        return publication_answer(publication)


def _covered(path: DraftPath) -> Draft:
    """Return a draft; refuse one of a survey that the token is not for."""
    draft = services().drafts.find(path.draft_id)
    current_grant().require_survey(draft.row.survey)
    return draft


def _revision(draft: Draft) -> int | None:
    """Return the revision of a draft that If-Match names, 0 if it names another; None for any."""
    if request.if_match.star_tag:
        return None
    # A proxy that compresses weakens the tags it passes; a revision is never used twice.
    tags = request.if_match.as_set(include_weak=True)
    if not tags:
        raise Refused(
            "etag-needed",
            'this needs the header If-Match with the ETag of the draft that was read, such as "3", '
            "or * to change it whatever it is now",
            field="If-Match",
        )
    return draft.row.revision if str(draft.row.revision) in tags else 0


def _began(draft: Draft) -> Answered[DraftDocument]:
    _log(draft)
    return _answer(draft, _place(draft))


def _place(draft: Draft) -> dict[str, str]:
    return {"Location": address_of("drafts", draft.row.id)}


def _log(draft: Draft) -> None:
    log_act(survey=draft.row.survey, subject=draft.row.id)


def _answer(
    draft: Draft, headers: Mapping[str, str] = MappingProxyType({})
) -> Answered[DraftDocument]:
    document = services().drafts.describe(draft)
    return Answered(document, headers=headers, etag=str(draft.row.revision))
