"""Requests and answers about a survey's results: estimates, cross-tables, counts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.http.models.common import Answer, Digest, Name, TableQuery
from hushpoll_server.http.models.plans import ShuffledAnswer
from hushpoll_server.http.models.surveys import PublishWarning
from hushpoll_shared.estimators import CONFIDENCES

Pending = Field(
    None,
    description="Reports that wait to be sealed, and are not among them; only of "
    "a survey that releases immediately.",
)


class VersionResult(Answer):
    """A result about a survey version, and when the version releases its reports."""

    survey: str = Name
    version: int
    digest: str = Digest
    release: Literal["daily", "weekly", "end", "immediate"] = Field(
        description="When the survey's reports are released, as its manifest says."
    )
    released_at: str | None = Field(
        None,
        description="UTC; of the last release. None before the first, and always of a survey that "
        "releases immediately.",
    )
    next_release: str | None = Field(
        None, description="UTC; when the next release is due, where that is known."
    )


class ConfidenceQuery(TableQuery):
    """Confidence of the intervals, and the form of the answer."""

    confidence: float = Field(
        0.95,
        ge=CONFIDENCES[0],
        le=CONFIDENCES[1],
        description="Of the intervals, in [0.01, 0.999999].",
    )


class EstimatesQuery(ConfidenceQuery):
    """Confidence of the intervals, and the estimator."""

    estimator: Literal["unbiased", "projected", "likelihood", "shrunk"] = Field(
        "unbiased",
        description="All but unbiased have no interval. likelihood reads the records themselves.",
    )


class CrossTableQuery(ConfidenceQuery):
    """The two attributes of a cross-table."""

    a: str = Field(description="Attribute of the rows.")
    b: str = Field(description="Attribute of the columns.")


class DeletionAnswer(Answer):
    """The number of deleted records, and when."""

    survey: str = Name
    version: int
    deleted: int = Field(description="Records; 0 if there were none.")
    deleted_at: str = Field(description="UTC; when records were last deleted.")


class CategoryEstimate(Answer):
    """The estimated share of one category."""

    category: str
    frequency: float = Field(description="May fall outside [0, 1] if unbiased.")
    standard_error: float | None = Field(description="None: the estimator has no interval.")
    lower: float | None
    upper: float | None


class PoisoningModel(Answer):
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


class AttributeEstimates(Answer):
    """The estimated distribution of one attribute."""

    name: str
    role: Literal["sensitive", "plain", "target"]
    protocol: str | None = Field(description="None: sent in clear.")
    epsilon: str | None
    categories: list[CategoryEstimate]
    poisoning: PoisoningModel | None = Field(
        description="Of the unbiased estimate; None for another estimator."
    )


class EstimatesAnswer(VersionResult):
    """The estimated distributions of every attribute."""

    n: int = Field(description="Reports behind the estimates.")
    pending: int | None = Pending
    confidence: float
    estimator: str
    intervals: str = Field(
        description="How many of the intervals are expected to miss, and what looking at results "
        "again and again does to them; or that the estimator has no interval, and why."
    )
    attributes: list[AttributeEstimates]


class Cell(Answer):
    """The estimated share of the population in two categories."""

    a: str = Field(description="Category of attribute a.")
    b: str = Field(description="Category of attribute b.")
    frequency: float = Field(description="Unbiased; may fall outside [0, 1].")
    standard_error: float
    lower: float
    upper: float


class CrossTableAnswer(VersionResult):
    """The estimated joint distribution of two attributes."""

    a: str
    b: str
    n: int
    pending: int | None = Pending
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


class RefusedDay(Answer):
    """Reports of one day that were not stored."""

    day: str = Field(description="YYYY-MM-DD, UTC.")
    duplicate: int
    rejected: dict[str, int] = Field(description="By reason.")


class OutcomesAnswer(VersionResult):
    """The reports that were sent, by outcome."""

    state: Literal["scheduled", "open", "closing", "closed"]
    accepted: int = Field(description="Stored: inbox + sealed, or those of the last release.")
    inbox: int | None = Pending
    sealed: int
    duplicate: int
    rejected: dict[str, int] = Field(description="By reason.")


class CountsAnswer(OutcomesAnswer):
    """What became of the reports that were sent, and whether the numbers agree."""

    received: int = Field(description="accepted + duplicate + all of rejected.")
    counted: int | None = Field(
        description="Reports whose counts are kept for estimates; null while there are too few."
    )
    reconciles: bool | None = Field(
        description="Whether the counted reports are the sealed ones; null likewise."
    )
    refused_by_day: list[RefusedDay] | None = Field(
        description="The oldest first; null where a day would say more than the releases do, or "
        "when the holder of a token was there."
    )


Protection = Literal["strong", "limited", "weak", "hardly"]


class AttributeOverview(Answer):
    """One question and its guarantee."""

    name: str
    question: str | None
    role: Literal["sensitive", "plain", "target"]
    categories: int = Field(description="Possible answers, the missing one included.")
    protocol: str | None = Field(description="None: sent in clear.")
    epsilon: str | None
    realized_epsilon: str | None = Field(description="Of the protocol's law, rounded.")
    odds_factor: float | None = Field(
        description="The record of this answer alone changes the odds of anything about its "
        "respondent by at most this factor."
    )
    protection: Protection | None


class ReleasedDay(Answer):
    """The reports that were released on one day."""

    day: str = Field(description="UTC, YYYY-MM-DD.")
    reports: int = Field(description="Released by the end of the day, in all.")
    added: int = Field(description="Released on this day.")


class OverviewAnswer(OutcomesAnswer):
    """A survey version at a glance."""

    title: str
    description: str | None
    opens: str | None = Field(description="UTC.")
    closes: str | None = Field(description="UTC; when it closed or will close.")
    accepts_until: str | None = Field(description="UTC; from then on reports are refused.")
    submission: Literal["open", "token"]
    unspent_tokens: int | None = Field(
        description="Respondents' tokens that are not spent; null of a survey without tokens, and "
        "of one that releases on a schedule until every version is over: each report spends one."
    )
    spent_tokens: int | None = Field(
        description="Respondents' tokens that are spent, one for each report to any version of "
        "the survey that takes tokens; null where `unspent_tokens` is."
    )
    minimum_batch: int
    epsilon: str = Field(description="Of all perturbed answers together.")
    odds_factor: float = Field(description="Of all perturbed answers together.")
    protection: Protection
    attributes: list[AttributeOverview]
    shuffled: ShuffledAnswer | None = Field(
        description="What a trusted shuffler would add, if there were one; the local epsilon stays."
    )
    released_by_day: list[ReleasedDay] = Field(
        description="Days on which reports were released, the oldest first; of a version that "
        "releases immediately, days on which they were sealed."
    )
    warnings: list[PublishWarning]
