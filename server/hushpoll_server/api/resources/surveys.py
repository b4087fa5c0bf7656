"""Surveys: publish, list, close; their web origins. Devices fetch them from ``ingest.routes``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from flask import request
from pydantic import Field

from hushpoll_server.api.openapi import body_of
from hushpoll_server.api.routes import Routes, address_of
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import Parameters
from hushpoll_server.http.endpoint import (
    Answered,
    SurveyPath,
    current_grant,
    json_body,
    log_act,
    parse_body,
    services,
)
from hushpoll_server.services.surveys.surveys import Publication, State, timestamp
from hushpoll_server.services.surveys.warnings import PublishingWarning
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.wire.documents.surveys import (
    CloseDocument,
    OriginsDocument,
    PublishDocument,
    PublishWarning,
    SurveyList,
)
from hushpoll_shared.wire.paths import version_path


class PublishQuery(Parameters):
    """What publishing is allowed to do."""

    allow_weak: bool = Field(
        False,
        description="Publish although the survey hardly protects its respondents: an epsilon above "
        "8 for a question, or above 16 in all.",
    )


class CloseBody(Parameters):
    """How a version is closed."""

    grace_seconds: int | None = Field(
        None,
        ge=0,
        le=31_536_000,
        strict=True,
        description="For how long from now reports of offline devices are still taken; "
        "the server's setting by default.",
    )


class OriginsBody(Parameters):
    """Web origins whose pages may answer a survey."""

    origins: list[str] = Field(
        max_length=50, description="As browsers send them, such as `https://survey.example.org`."
    )


api = Routes("surveys", "/surveys")


@api.operation("GET", "", 401)
def list_surveys() -> SurveyList:
    """List every survey version.

    A bearer token of scope `read` also sees how many reports each has released.
    """
    parts = services()
    authorization = request.headers.get("Authorization")
    grant = None if authorization is None else parts.access.grant(authorization)
    counted = grant is not None and grant.allows("read")
    return {
        "surveys": [
            {
                "survey": row.name,
                "version": row.version,
                "title": row.title,
                "digest": row.digest,
                "state": parts.surveys.state(row).value,
                "reports": parts.releases.reports(row)
                if grant is not None and counted and grant.covers(row.name)
                else None,
            }
            for row in parts.surveys.all()
        ]
    }


@api.operation(
    "POST",
    "",
    409,
    503,
    scope="publish",
    status=201,
    also={200: PublishDocument},
    openapi_extensions=body_of({"application/json": {"type": "object"}}),
    act="published",
)
def publish(query: PublishQuery) -> Answered[PublishDocument]:
    """Publish a survey version.

    The body is a manifest. Publishing the same content again answers 200; a published version
    never changes. A survey that hardly protects its respondents is refused without `allow_weak`. A
    large manifest takes a while to check, so a server publishes one at a time; others wait for
    their turn, at most 15 seconds, and are then answered 503.
    """
    parts = services()
    body = json_body(min(parts.settings.max_manifest_bytes, parts.settings.max_body_bytes))
    grant = current_grant()
    with parts.surveys.publishing.take():
        draft = parse_body(body)
        if grant.surveys is not None:
            name = draft.get("name") if isinstance(draft, dict) else None
            grant.require_survey(name if isinstance(name, str) else None)
        publication = parts.surveys.publish(draft, allow_weak=query.allow_weak)
        return publication_answer(publication)


def publication_answer(publication: Publication) -> Answered[PublishDocument]:
    """Say what was published, and record it where it is new."""
    row = publication.row
    if publication.created:
        log_act(row)
    document: PublishDocument = {
        "survey": row.name,
        "version": row.version,
        "digest": row.digest,
        "warnings": warnings_of(publication.warnings),
        "manifest": publication.published.to_dict(),
    }
    location = address_of(*version_path(row.name, row.version))
    return Answered(document, 201 if publication.created else 200, {"Location": location})


def warnings_of(warnings: Iterable[PublishingWarning]) -> list[PublishWarning]:
    """Return warnings as JSON."""
    return [cast("PublishWarning", vars(warning)) for warning in warnings]


@api.operation("POST", "/<name>/versions/<int:version>/close", scope="publish", act="closed")
def close(row: VersionRow, body: CloseBody) -> CloseDocument:
    """Close a survey version.

    Reports of devices that were offline are taken for a grace period. Closing again with
    `grace_seconds` can end that period earlier, never later; otherwise it changes nothing.
    """
    parts = services()
    row = parts.surveys.close(row, grace_seconds=body.grace_seconds)
    parts.sealing.after_closing(row)
    log_act(row)
    if row.closed_at is None or row.accepts_until is None:
        raise Refused("internal", "the version was not closed")
    return {
        "survey": row.name,
        "version": row.version,
        "state": "closed" if parts.surveys.state(row) is State.CLOSED else "closing",
        "closed_at": timestamp(row.closed_at),
        "accepts_until": timestamp(row.accepts_until),
    }


origins = Routes("origins", "/surveys", tag="surveys")
"""Of the web origins whose pages may answer a survey; see ``ingest.application``."""


@origins.operation("GET", "/<name>/origins", scope="publish")
def list_origins(path: SurveyPath) -> OriginsDocument:
    """List the web origins whose pages may answer the survey."""
    parts = services()
    row = parts.surveys.latest(path.name)
    return {"survey": row.name, "origins": parts.origins.named(row.name)}


@origins.operation("PUT", "/<name>/origins", scope="publish", act="replaced-origins")
def replace_origins(path: SurveyPath, body: OriginsBody) -> OriginsDocument:
    """Let pages of these web origins, and of no others, answer the survey, in all its versions.

    Browsers may remember what was allowed for ten minutes.
    """
    parts = services()
    row = parts.surveys.latest(path.name)
    return {"survey": row.name, "origins": parts.origins.replace(row, body.origins)}
