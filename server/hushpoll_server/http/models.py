"""Bodies of requests and answers, as OpenAPI documents them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Field(
    pattern=r"^[a-z0-9_-]{1,64}$", description="The survey's name.", examples=["work-and-health"]
)
ReleaseTerm = Literal["daily", "weekly", "end", "immediate"]
Release = Field(description="When the survey's reports are released, as its manifest says.")
ReleasedAt = Field(
    None,
    description="UTC; of the last release. None before the first, and always "
    "of a survey that releases immediately.",
)
NextRelease = Field(None, description="UTC; when the next release is due, where that is known.")
Pending = Field(
    None,
    description="Reports that wait to be sealed, and are not among them; only of "
    "a survey that releases immediately.",
)
Digest = Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the published form, in hex.")


class Strict(BaseModel):
    """A request body or parameter set: unknown members are refused."""

    model_config = ConfigDict(extra="forbid")


class SurveyPath(Strict):
    """A survey by name."""

    name: str = Field(description="The survey's name.")


class VersionPath(SurveyPath):
    """A survey version."""

    version: int = Field(ge=1, le=2**31 - 1, description="The version's number.")


class TokenPath(Strict):
    """A bearer token by its public id."""

    token_id: str = Field(pattern=r"^[0-9a-f]{16}$", description="The token's public id.")


class SurveySummary(BaseModel):
    """One survey version in the list."""

    name: str = Name
    version: int
    title: str
    digest: str = Digest
    state: Literal["scheduled", "open", "closing", "closed"] = Field(
        description="`closing`: closed, and still taking reports of devices that were offline."
    )
    reports: int | None = Field(
        None, description="Reports released; only shown to a token of scope `read`."
    )


class SurveyList(BaseModel):
    """Every survey version."""

    surveys: list[SurveySummary]


class PublishQuery(Strict):
    """What publishing is allowed to do."""

    allow_weak: bool = Field(
        False,
        description="Publish although the survey hardly protects its respondents: an epsilon above "
        "8 for a question, or above 16 in all.",
    )


class PublishWarning(BaseModel):
    """Something that the author of a survey should know."""

    code: Literal[
        "weak-protection",
        "clear-attribute",
        "protected-width",
        "epsilon-unspent",
        "release-immediate",
        "small-minimum-batch",
    ]
    attribute: str | None = Field(
        None, description="The attribute it is about; absent where it is about the whole survey."
    )
    message: str


class PublishAnswer(BaseModel):
    """A published version."""

    name: str = Name
    version: int
    digest: str = Digest
    warnings: list[PublishWarning]
    manifest: dict[str, Any] = Field(description="The published form.")


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


class CloseAnswer(BaseModel):
    """A closed version."""

    name: str = Name
    version: int
    state: Literal["closing", "closed"]
    closed_at: str = Field(description="UTC.")
    accepts_until: str = Field(description="UTC; from then on reports are refused.")


class OriginsBody(Strict):
    """Web origins whose pages may answer a survey."""

    origins: list[str] = Field(
        max_length=50, description="As browsers send them, such as `https://survey.example.org`."
    )


class OriginsAnswer(BaseModel):
    """Web origins whose pages may answer a survey."""

    name: str = Name
    origins: list[str]


class ReportBody(Strict):
    """One report."""

    digest: str = Digest
    id: str = Field(description="16 random bytes, base64url without padding.")
    record: str = Field(description="The encoded answers, base64url without padding.")


class ReportAnswer(BaseModel):
    """A report that is stored durably."""

    status: Literal["accepted", "duplicate"]


class RejectedReport(BaseModel):
    """One report of a batch that was not taken."""

    index: int = Field(description="Its place in the batch, from 0.")
    code: str = Field(description="Code of the problem table.")
    field: str | None = None
    reason: str | None = Field(None, description="Of a malformed report.")


class BulkAnswer(BaseModel):
    """What became of a batch; accepted + duplicate + rejected is its size."""

    accepted: int
    duplicate: int
    rejected: list[RejectedReport]


class RespondentTokensBody(Strict):
    """How many single-use tokens to issue."""

    count: int = Field(ge=1, le=1_000_000, strict=True)


class RespondentTokensAnswer(BaseModel):
    """Single-use tokens; they are shown once."""

    tokens: list[str]


class TokenBody(Strict):
    """A bearer token to issue."""

    scopes: list[str] = Field(min_length=1, max_length=8)
    label: str = Field("", max_length=200)
    expires_in: int | None = Field(
        None, ge=1, le=315_360_000, strict=True, description="Seconds; never by default."
    )


class TokenAnswer(BaseModel):
    """A bearer token; it is shown once."""

    token: str
    id: str
    scopes: list[str]
    expires_at: str | None = None


class TokenSummary(BaseModel):
    """A bearer token in the list, without its secret, which the server does not have."""

    id: str = Field(description="Its public id, the middle part of the token.")
    label: str
    scopes: list[str]
    state: Literal["valid", "replaced", "expired", "revoked"] = Field(
        description="`replaced`: it has a successor, and is valid until its overlap is over."
    )
    issued_at: str | None = Field(None, description="UTC; absent for tokens of an older release.")
    expires_at: str | None = Field(None, description="UTC; absent if it never expires.")
    replaced_by: str | None = Field(None, description="Public id of its successor.")


class TokenList(BaseModel):
    """Every bearer token, the oldest first."""

    tokens: list[TokenSummary]


class RotateBody(Strict):
    """How a bearer token is replaced."""

    overlap_seconds: int = Field(
        86_400,
        ge=0,
        le=2_592_000,
        strict=True,
        description="For how long the old token stays valid beside the new one.",
    )
    expires_in: int | None = Field(
        None,
        ge=1,
        le=315_360_000,
        strict=True,
        description="Seconds after which the new token expires; by default when the old one would.",
    )


class RotateAnswer(TokenAnswer):
    """A token's successor; it is shown once."""

    replaces: str = Field(description="Public id of the old token.")
    replaced_until: str = Field(description="UTC; from then on the old token is refused.")


class ConfidenceQuery(Strict):
    """Confidence of the intervals."""

    confidence: float = Field(
        0.95, ge=0.01, le=0.999999, description="Of the intervals, in [0.01, 0.999999]."
    )


class CrossTableQuery(ConfidenceQuery):
    """The two attributes of a cross-table."""

    a: str = Field(description="Attribute of the rows.")
    b: str = Field(description="Attribute of the columns.")


class ExportQuery(Strict):
    """The form of a file of records."""

    format: Literal["records", "parquet", "csv"] = Field(
        "records", description="`records`: the file that carries its own manifest."
    )
    content: Literal["records", "indicators", "debiased"] = Field(
        "records",
        description="What a table's columns are: what was reported; a 0/1 column for each "
        "category; or the debiased indicators, whose means are the estimates `raw`.",
    )
    raw: bool = Field(
        False,
        description="Of CSV: leave texts that begin with = + - @ or a tab as they are; otherwise "
        "they have an apostrophe before them, so that no spreadsheet takes them for formulas.",
    )


class DeletionAnswer(BaseModel):
    """What was deleted."""

    name: str = Name
    version: int
    deleted: int = Field(description="Records; 0 if there were none.")
    deleted_at: str = Field(description="UTC; when records were last deleted.")


class CategoryEstimate(BaseModel):
    """The estimated share of one category."""

    category: str
    frequency: float = Field(description="Unbiased; may fall outside [0, 1].")
    standard_error: float
    lower: float
    upper: float


class PoisoningModel(BaseModel):
    """What fake reports can do to estimates of categories or cells; no interval knows of fakes."""

    one_fake_adds: float = Field(
        description="People of a category (or cell) that one fake report can stand for, at most."
    )
    one_fake_removes: float = Field(
        description="People of a category (or cell) that one fake report can hide, at most."
    )
    fake_share: float = Field(description="Share of fake reports that the shifts are about.")
    raised_by: float = Field(
        description="Largest rise of a category (or cell) of nobody, if so many reports are fake."
    )
    lowered_by: float = Field(
        description="Largest fall of a category (or cell) of all, if so many reports are fake."
    )


class AttributeEstimates(BaseModel):
    """The estimated distribution of one attribute."""

    name: str
    role: Literal["sensitive", "plain", "target"]
    protocol: str | None = Field(description="None: sent in clear.")
    epsilon: str | None
    categories: list[CategoryEstimate]
    poisoning: PoisoningModel


class EstimatesAnswer(BaseModel):
    """The estimated distributions of every attribute."""

    survey: str
    version: int
    digest: str = Digest
    n: int = Field(description="Reports behind the estimates.")
    pending: int | None = Pending
    release: ReleaseTerm = Release
    released_at: str | None = ReleasedAt
    next_release: str | None = NextRelease
    confidence: float
    intervals: str = Field(
        description="How many of the intervals are expected to miss, and what looking at results "
        "again and again does to them."
    )
    attributes: list[AttributeEstimates]


class Cell(BaseModel):
    """The estimated share of the population in two categories."""

    a: str = Field(description="Category of attribute a.")
    b: str = Field(description="Category of attribute b.")
    frequency: float = Field(description="Unbiased; may fall outside [0, 1].")
    standard_error: float
    lower: float
    upper: float


class CrossTableAnswer(BaseModel):
    """The estimated joint distribution of two attributes."""

    survey: str
    version: int
    digest: str = Digest
    a: str
    b: str
    n: int
    pending: int | None = Pending
    release: ReleaseTerm = Release
    released_at: str | None = ReleasedAt
    next_release: str | None = NextRelease
    confidence: float
    intervals: str = Field(
        description="How many of the intervals are expected to miss, and what looking at results "
        "again and again does to them."
    )
    cells: list[Cell] = Field(
        description="One per pair of categories, row by row. The cells of a row and of a column "
        "sum to the estimate of its category, and all to 1."
    )
    poisoning: PoisoningModel = Field(description="Of the worst cell.")


class CountsAnswer(BaseModel):
    """What became of the reports that were sent."""

    survey: str
    version: int
    digest: str = Digest
    state: Literal["scheduled", "open", "closing", "closed"]
    accepted: int = Field(description="Stored: inbox + sealed, or those of the last release.")
    inbox: int | None = Pending
    sealed: int
    duplicate: int
    rejected: dict[str, int] = Field(description="By reason.")
    release: ReleaseTerm = Release
    released_at: str | None = ReleasedAt
    next_release: str | None = NextRelease


class Health(BaseModel):
    """The process answers."""

    status: Literal["ok"]


class Ready(BaseModel):
    """Reports can be taken; analysts and pages may have to wait."""

    status: Literal["ready"]
    web: Literal["ok", "away"]


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
