"""What requests and answers of several resources have in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Field(
    pattern=r"^[a-z0-9_-]{1,64}$", description="The survey's name.", examples=["work-and-health"]
)
Digest = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the published form, in hex.")


class Strict(BaseModel):
    """A request body or parameter set: unknown members are refused."""

    model_config = ConfigDict(extra="forbid")


class TableQuery(Strict):
    """The form of a statistic's answer."""

    format: Literal["json", "csv", "xlsx"] | None = Field(
        None,
        description="`csv` and `xlsx` are the table behind the answer; in CSV a text that looks "
        "like a formula has an apostrophe before it. By default what `Accept` names, or JSON.",
    )


class Answer(BaseModel):
    """What a view returns: it has the documented members and no others."""

    model_config = ConfigDict(extra="forbid")


class SurveyPath(Strict):
    """A survey by name."""

    name: str = Field(description="The survey's name.")


class VersionPath(SurveyPath):
    """A survey version."""

    version: int = Field(ge=1, le=2**31 - 1, description="The version's number.")


class ProblemModel(BaseModel):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: str
    retryable: bool
    field: str | None = None
