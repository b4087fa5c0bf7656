"""What a version's results come with, as JSON: its overview, publications, verdicts."""

from typing import Annotated, Literal, NotRequired, TypedDict

from hushpoll_shared.spelling.json_values import Facts
from hushpoll_shared.wire.documents.plans import ShuffledDocument
from hushpoll_shared.wire.documents.surveys import (
    Digest,
    PublishWarning,
    ReportCounts,
    SurveyName,
    Utc,
    VersionState,
)

Protection = Literal["strong", "limited", "weak", "hardly"]


class ResultVerdict(TypedDict):
    """What a result can tell, and which of its parts cannot be told."""

    says: str
    sentence: str
    too_noisy: list[str]


class AttributeOverview(TypedDict):
    """One question and its guarantee."""

    name: str
    question: str | None
    role: Literal["sensitive", "plain", "target"]
    categories: Annotated[int, "Possible answers, the missing one included."]
    protocol: Annotated[str | None, "None: sent in clear."]
    epsilon: str | None
    realized_epsilon: Annotated[str | None, "Of the protocol's law, rounded."]
    odds_factor: Annotated[
        float | None,
        "The record of this answer alone changes the odds of anything about its respondent by at "
        "most this factor.",
    ]
    protection: Protection | None


class ReleasedDay(TypedDict):
    """The reports that were released on one day."""

    day: Annotated[str, "UTC, YYYY-MM-DD."]
    reports: Annotated[int, "Released by the end of the day, in all."]
    added: Annotated[int, "Released on this day."]


class OverviewDocument(VersionState, ReportCounts):
    """A survey version at a glance."""

    title: str
    description: str | None
    opens: Annotated[str | None, "UTC."]
    closes: Annotated[str | None, "UTC; when it closed or will close."]
    accepts_until: Annotated[str | None, "UTC; from then on reports are refused."]
    submission: Literal["open", "token", "invited"]
    unspent_tokens: Annotated[
        int | None,
        "Respondents' tokens that are not spent; null of a survey without tokens, and of one that "
        "releases on a schedule until every version is over: each report spends one.",
    ]
    spent_tokens: Annotated[
        int | None,
        "Respondents' tokens that are spent, one for each report to any version of the survey "
        "that takes tokens; null where `unspent_tokens` is.",
    ]
    invited: Annotated[
        int | None, "Invitations to this version; null of one with another submission."
    ]
    redeemed: Annotated[
        int | None,
        "Invitations that were redeemed, each once; null where `invited` is. It is no number of "
        "reports: those come later, if at all.",
    ]
    mail_waiting: Annotated[
        int | None,
        "People invited by mail whose last mail was not sent yet; null where `invited` is. Once "
        "the version is closed nobody is known any more, and this is 0.",
    ]
    mail_sent: Annotated[int | None, "Those whose last mail the mail server has taken."]
    mail_refused: Annotated[int | None, "Those whose mail it has refused for good."]
    minimum_batch: int
    epsilon: Annotated[str, "Of all perturbed answers together."]
    odds_factor: Annotated[float, "Of all perturbed answers together."]
    protection: Protection
    attributes: list[AttributeOverview]
    shuffled: Annotated[
        ShuffledDocument | None,
        "What a trusted shuffler would add, if there were one; the local epsilon stays.",
    ]
    released_by_day: Annotated[
        list[ReleasedDay],
        "Days on which reports were released, the oldest first; of a version that releases "
        "immediately, days on which they were sealed.",
    ]
    warnings: list[PublishWarning]


class PublicResultsDocument(TypedDict):
    """Results that were published to everybody."""

    survey: SurveyName
    version: int
    address: Annotated[str, "Path of the public page on this server."]
    published_at: Utc
    published_by: Annotated[str, "As the action log names who has published."]
    taken_back_at: Annotated[str | None, "UTC; None: the results are public."]
    attributes: Annotated[list[str], "Questions that are shown."]
    cross_tables: Annotated[list[list[str]], "Pairs of attributes."]
    estimator: str
    confidence: float
    fairness: Annotated[bool, "Whether finished audits were shown."]
    trend: Annotated[
        NotRequired[bool],
        "Whether earlier versions were shown beside questions.",
        Facts(default=False),
    ]


class PublishedResultsDocument(PublicResultsDocument):
    """Results that have just been published."""

    warnings: Annotated[
        list[str],
        "Tables with a group of fewer than 10 reports in clear, each in a sentence.",
    ]


class PublicResultsList(TypedDict):
    """The publications of a version, one that stands before those taken back."""

    publications: list[PublicResultsDocument]


class TidyRow(TypedDict):
    """One estimate, or one number of a test."""

    statistic: str
    question: Annotated[str, "Its name; of a pair both, with & between them."]
    category: str | None
    group: Annotated[str | None, "Such as gender=Female; of a domain its condition."]
    estimate: Annotated[float | None, "Null where the set has no bound."]
    standard_error: float | None
    lower: float | None
    upper: float | None
    n: Annotated[int | None, "Reports behind it."]
    verdict: str | None


class TidyDocument(TypedDict):
    """Results of queries as rows that have the same members."""

    survey: SurveyName | None
    version: int | None
    digest: Digest | None
    release: str | None
    released_at: str | None
    next_release: str | None
    pending: int | None
    rows: list[TidyRow]
    methods: Annotated[
        dict[str, str | int | float], "What was asked by each query, and how to read it."
    ]
    left_out: Annotated[dict[str, str], "Queries that the survey cannot answer, with the reason."]
