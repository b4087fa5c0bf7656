"""The routes of devices in the OpenAPI document; ``ingest.routes`` answers them."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from hushpoll_server.api.openapi import REF, body_of, problems
from hushpoll_server.device_routes import (
    HEALTH,
    READY,
    REDEMPTIONS,
    REPORTS,
    SURVEY,
    VERSION,
    WITHDRAWALS,
    Route,
)
from hushpoll_server.http.answers import Answer
from hushpoll_server.http.bodies import Parameters
from hushpoll_server.http.endpoint import SurveyPath, VersionPath
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE, REPORTS_MEDIA_TYPE

Digest = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the published form, in hex.")
TAGS: Final = ("reports", "operations")


class ReportBody(Parameters):
    """One report."""

    digest: str = Digest
    id: str = Field(description="16 random bytes, base64url without padding.")
    record: str = Field(description="The encoded answers, base64url without padding.")


class ReportAnswer(Answer):
    """A report that is stored durably."""

    status: Literal["accepted", "duplicate"]


class WithdrawalBody(Parameters):
    """What takes a report back."""

    digest: str = Digest
    secret: str = Field(
        description="The 32 bytes of which SHA-256 begins with the report's id, base64url without "
        "padding."
    )


class WithdrawalAnswer(Answer):
    """What became of a withdrawal."""

    status: Literal["deleted", "not-here"] = Field(
        description="`not-here`: released, or never received. Nothing tells which."
    )


class RedemptionBody(Parameters):
    """A blinded element, for an invitation."""

    digest: str = Digest
    blinded: str = Field(
        description="An element of ristretto255, 32 bytes in base64url without padding: the "
        "token's input, blinded (RFC 9497, mode VOPRF)."
    )


class EvaluationAnswer(Answer):
    """What the device makes its token of."""

    evaluated: str = Field(description="The evaluated element, 32 bytes in base64url.")
    proof: str = Field(
        description="The proof that the key is the one in the published manifest, 64 bytes."
    )


class RejectedReport(Answer):
    """One report of a batch that was not taken."""

    index: int = Field(description="Its place in the batch, from 0.")
    code: str = Field(description="Code of the problem table.")
    field: str | None = None
    reason: str | None = Field(None, description="Of a malformed report.")


class BulkAnswer(Answer):
    """What became of a batch; accepted + duplicate + rejected is its size."""

    accepted: int
    duplicate: int
    rejected: list[RejectedReport]


class Health(Answer):
    """The process answers."""

    status: Literal["ok"]


class Ready(Answer):
    """Reports can be taken; analysts and pages may have to wait."""

    status: Literal["ready"]
    web: Literal["ok", "starting", "away"]
    worker: Literal["ok", "none", "unknown"]
    hint: str | None = None


_SCHEMAS: Final = (Health, Ready, ReportAnswer, RejectedReport, WithdrawalAnswer, EvaluationAnswer)


def _path(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Return the parameters of a path."""
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": schema["description"],
            "schema": schema,
        }
        for name, schema in model.model_json_schema()["properties"].items()
    ]


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON_MEDIA_TYPE: {"schema": schema}}}


def _ref(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": REF.format(model=model.__name__)}


def _without_definitions(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template=REF)
    schema.pop("$defs")
    return schema


OPERATIONS: Final[dict[Route, dict[str, Any]]] = {
    HEALTH: {
        "operationId": "health",
        "tags": ["operations"],
        "summary": "Answer 200 as long as the process answers at all; nothing else is looked at.",
        "description": "For a supervisor that restarts what hangs: a database that is away is no "
        "reason to restart.",
        "responses": {"200": _json("OK", _ref(Health))},
    },
    READY: {
        "operationId": "ready",
        "tags": ["operations"],
        "summary": "Answer 200 if reports can be taken: for a load balancer.",
        "description": "Otherwise 503 with `reasons`, a list of codes and words: `database` (no "
        "answer), `schema` (another version than this program's), `writing` (nothing can be "
        "stored, such as on a full disk, while reading goes on), `writer` (its thread has "
        "ended), `queue` (full), `stopping`. The answer 200 has `web`: `away` where the process "
        "of analysts and pages did not answer within a second, `starting` where it has not "
        "answered since the start; and `worker`: `none` where no worker of the database is alive, "
        "so that jobs wait, with a `hint`. Reports are taken meanwhile.",
        "responses": {"200": _json("OK", _ref(Ready)), **problems(503)},
    },
    SURVEY: {
        "operationId": "fetch_survey",
        "tags": ["surveys"],
        "summary": "Fetch the published manifest that a new respondent answers.",
        "description": "The highest version that is open, or without one the highest. The body is "
        "canonical JSON whose SHA-256 is the digest; the ETag is the digest. The header "
        "Survey-State says whether it takes answers: `scheduled`, `open`, `closing` (devices that "
        "were offline may still send theirs) or `closed`.",
        "parameters": _path(SurveyPath),
        "responses": {"200": {"description": "The published form."}, **problems(404, 503)},
    },
    VERSION: {
        "operationId": "fetch_version",
        "tags": ["surveys"],
        "summary": "Fetch the published manifest of one version, which never changes.",
        "parameters": _path(VersionPath),
        "responses": {"200": {"description": "The published form."}, **problems(404, 503)},
    },
    WITHDRAWALS: {
        "operationId": "withdraw",
        "tags": ["reports"],
        "summary": "Take back a report that is not sealed, by the secret that its device keeps.",
        "description": "The report's id is the first 16 bytes of SHA-256 of the secret. Its record "
        "is deleted, and its id stays known: neither a retry nor another report under it is "
        "stored. A token that was spent with it stays spent. Answered only once that is durable.",
        "parameters": _path(SurveyPath),
        "responses": {
            "200": _json("Durable.", _ref(WithdrawalAnswer)),
            **problems(400, 404, 413, 415, 422, 503),
        },
        **body_of({JSON_MEDIA_TYPE: WithdrawalBody.model_json_schema()}),
    },
    REPORTS: {
        "operationId": "submit",
        "tags": ["reports"],
        "summary": "Submit one report as JSON, or a batch with a token of scope `submit`.",
        "description": "Answered only once it is stored durably: 201 for a new report, 200 for one "
        "that was here. A survey with submission `token` or `invited` takes one token per report, "
        "as a bearer token, and no batches.",
        "parameters": _path(SurveyPath),
        "responses": {
            "201": _json("Created", _ref(ReportAnswer)),
            "200": _json(
                "A report that was here before, or what became of a batch.",
                {
                    "oneOf": [
                        ReportAnswer.model_json_schema(),
                        _without_definitions(BulkAnswer),
                    ]
                },
            ),
            **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 503),
        },
        **body_of(
            {
                JSON_MEDIA_TYPE: ReportBody.model_json_schema(),
                REPORTS_MEDIA_TYPE: {"type": "string", "format": "binary"},
            }
        ),
    },
    REDEMPTIONS: {
        "operationId": "redeem",
        "tags": ["reports"],
        "summary": "Redeem an invitation: evaluate a blinded element with the version's key.",
        "description": "The invitation is the bearer token. The same element again gets the same "
        "evaluation; another one is refused. The device checks the proof with the key in the "
        "manifest, and makes a token of it that the server cannot recognise.",
        "parameters": _path(SurveyPath),
        "responses": {
            "200": _json("OK", _ref(EvaluationAnswer)),
            **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 503),
        },
        **body_of({JSON_MEDIA_TYPE: RedemptionBody.model_json_schema()}),
    },
}


def add_to(document: dict[str, Any]) -> None:
    """Add the operations, their tags and their schemas to a document."""
    for route, operation in OPERATIONS.items():
        path = re.sub("<(?:int:)?([a-z]+)>", r"{\1}", route.template)
        responses = {str(status): answer for status, answer in operation["responses"].items()}
        document["paths"].setdefault(path, {})[route.method.lower()] = {
            **operation,
            "responses": responses,
        }
    document["tags"] += [{"name": name} for name in TAGS if {"name": name} not in document["tags"]]
    for model in _SCHEMAS:
        document["components"]["schemas"][model.__name__] = model.model_json_schema(
            ref_template=REF
        )
