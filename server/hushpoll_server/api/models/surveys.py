"""Requests and answers about surveys: published, listed, closed, their web origins."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Digest, Name, Strict


class SurveySummary(Answer):
    """One survey version in the list."""

    survey: str = Name
    version: int
    title: str
    digest: str = Digest
    state: Literal["scheduled", "open", "closing", "closed"] = Field(
        description="`closing`: closed, and still taking reports of devices that were offline."
    )
    reports: int | None = Field(
        None, description="Reports released; only shown to a token of scope `read`."
    )


class SurveyList(Answer):
    """Every survey version."""

    surveys: list[SurveySummary]


class PublishQuery(Strict):
    """What publishing is allowed to do."""

    allow_weak: bool = Field(
        False,
        description="Publish although the survey hardly protects its respondents: an epsilon above "
        "8 for a question, or above 16 in all.",
    )


class PublishWarning(Answer):
    """Something that the author of a survey should know."""

    code: Literal[
        "weak-protection",
        "clear-attribute",
        "protected-width",
        "epsilon-unspent",
        "release-immediate",
        "small-minimum-batch",
        "too-many-categories",
        "shared-device",
    ]
    attribute: str | None = Field(
        None,
        description="The attribute it is about; "
        "absent where it is about several or the whole survey.",
    )
    message: str


class PublishAnswer(Answer):
    """A published version."""

    survey: str = Name
    version: int
    digest: str = Digest
    warnings: list[PublishWarning]
    manifest: dict[str, object] = Field(description="The published form.")


class CloseBody(Strict):
    """How a version is closed."""

    grace_seconds: int | None = Field(
        None,
        ge=0,
        le=31_536_000,
        strict=True,
        description="For how long from now reports of offline devices are still taken; "
        "the server's setting by default.",
    )


class CloseAnswer(Answer):
    """A closed version."""

    survey: str = Name
    version: int
    state: Literal["closing", "closed"]
    closed_at: str = Field(description="UTC.")
    accepts_until: str = Field(description="UTC; from then on reports are refused.")


class OriginsBody(Strict):
    """Web origins whose pages may answer a survey."""

    origins: list[str] = Field(
        max_length=50, description="As browsers send them, such as `https://survey.example.org`."
    )


class OriginsAnswer(Answer):
    """Web origins whose pages may answer a survey."""

    survey: str = Name
    origins: list[str]
