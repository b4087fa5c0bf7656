"""The results of several queries as one table."""

from __future__ import annotations

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Digest, Name, TableQuery
from hushpoll_shared.tidying import LONGEST_ADDRESSES


class TidyQuery(TableQuery):
    """Which queries, and the form of the answer."""

    queries: str | None = Field(
        None,
        max_length=LONGEST_ADDRESSES,
        description="Queries with their parameters, such as `cross-tables?a=gender&b=health`, with "
        "spaces between them. By default all queries about the whole survey or one question.",
    )


class TidyRow(Answer):
    """One estimate, or one number of a test."""

    statistic: str
    question: str = Field(description="Its name; of a pair both, with & between them.")
    category: str | None
    group: str | None = Field(description="Such as gender=Female; of a domain its condition.")
    estimate: float | None = Field(description="Null where the set has no bound.")
    standard_error: float | None
    lower: float | None
    upper: float | None
    n: int | None = Field(description="Reports behind it.")
    verdict: str | None


class TidyAnswer(Answer):
    """Results of queries as rows that have the same members."""

    survey: str | None = Name
    version: int | None
    digest: str | None = Digest
    release: str | None
    released_at: str | None
    next_release: str | None
    pending: int | None
    rows: list[TidyRow]
    methods: dict[str, str | int | float] = Field(
        description="What was asked by each query, and how to read it."
    )
    left_out: dict[str, str] = Field(
        description="Queries that the survey cannot answer, with the reason."
    )
