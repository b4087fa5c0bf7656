"""Answers about a survey version: its counts, its overview, and what each result says of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Digest, Name, Strict
from hushpoll_server.api.models.plans import ShuffledAnswer
from hushpoll_server.api.models.surveys import PublishWarning

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


class CodebookQuery(Strict):
    """The form of a codebook."""

    format: Literal["json", "md", "html"] = Field("json", description="Of the file.")


class DeletionAnswer(Answer):
    """The number of deleted records, and when."""

    survey: str = Name
    version: int
    deleted: int = Field(description="Records; 0 if there were none.")
    deleted_at: str = Field(description="UTC; when records were last deleted.")


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
    withdrawn: int = Field(
        description="Stored at first, and taken back by their devices before they were sealed."
    )
    duplicate: int
    rejected: dict[str, int] = Field(description="By reason.")


class CountsAnswer(OutcomesAnswer):
    """What became of the reports that were sent, and whether the numbers agree."""

    received: int = Field(description="accepted + withdrawn + duplicate + all of rejected.")
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
    submission: Literal["open", "token", "invited"]
    unspent_tokens: int | None = Field(
        description="Respondents' tokens that are not spent; null of a survey without tokens, and "
        "of one that releases on a schedule until every version is over: each report spends one."
    )
    spent_tokens: int | None = Field(
        description="Respondents' tokens that are spent, one for each report to any version of "
        "the survey that takes tokens; null where `unspent_tokens` is."
    )
    invited: int | None = Field(
        description="Invitations to this version; null of one with another submission."
    )
    redeemed: int | None = Field(
        description="Invitations that were redeemed, each once; null where `invited` is. It is no "
        "number of reports: those come later, if at all."
    )
    mail_waiting: int | None = Field(
        description="People invited by mail whose last mail was not sent yet; null where `invited` "
        "is. Once the version is closed nobody is known any more, and this is 0."
    )
    mail_sent: int | None = Field(description="Those whose last mail the mail server has taken.")
    mail_refused: int | None = Field(description="Those whose mail it has refused for good.")
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
