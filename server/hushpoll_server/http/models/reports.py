"""Requests and answers of devices, and of health checks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.http.models.common import Answer, Digest, Strict


class ReportBody(Strict):
    """One report."""

    digest: str = Digest
    id: str = Field(description="16 random bytes, base64url without padding.")
    record: str = Field(description="The encoded answers, base64url without padding.")


class ReportAnswer(Answer):
    """A report that is stored durably."""

    status: Literal["accepted", "duplicate"]


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
    web: Literal["ok", "away"]
