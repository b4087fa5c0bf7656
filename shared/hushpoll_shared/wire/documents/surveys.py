"""Survey versions as JSON: published, listed, closed, and the counts of their reports."""

from typing import Annotated, Literal, NotRequired, TypedDict

from hushpoll_shared.spelling.json_values import Facts, JsonObject

ReleaseKind = Literal["daily", "weekly", "end", "immediate"]
SurveyState = Literal["scheduled", "open", "closing", "closed"]
SurveyName = Annotated[
    str,
    "The survey's name.",
    Facts(pattern="^[a-z0-9_-]{1,64}$", example="work-and-health"),
]
Digest = Annotated[str, "SHA-256 of the published form, in hex.", Facts(pattern="^[0-9a-f]{64}$")]
Utc = Annotated[str, "UTC."]


class VersionDocument(TypedDict):
    """Which version it is."""

    survey: SurveyName
    version: int
    digest: Digest


class SurveySummary(TypedDict):
    """One survey version in the list."""

    survey: SurveyName
    version: int
    title: str
    digest: Digest
    state: Annotated[
        SurveyState, "`closing`: closed, and still taking reports of devices that were offline."
    ]
    reports: Annotated[
        NotRequired[int | None], "Reports released; only shown to a token of scope `read`."
    ]


class SurveyList(TypedDict):
    """Every survey version."""

    surveys: list[SurveySummary]


class PublishWarning(TypedDict):
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
    attribute: Annotated[
        NotRequired[str | None],
        "The attribute it is about; absent where it is about several or the whole survey.",
    ]
    message: str


class PublishDocument(VersionDocument):
    """A published version."""

    warnings: list[PublishWarning]
    manifest: Annotated[JsonObject, "The published form."]


class CloseDocument(TypedDict):
    """A closed version."""

    survey: SurveyName
    version: int
    state: Literal["closing", "closed"]
    closed_at: Utc
    accepts_until: Annotated[str, "UTC; from then on reports are refused."]


class OriginsDocument(TypedDict):
    """Web origins whose pages may answer a survey."""

    survey: SurveyName
    origins: list[str]


class ReleaseTimes(TypedDict):
    """When a version releases, did last and will next."""

    release: Annotated[ReleaseKind, "When the survey's reports are released, as its manifest says."]
    released_at: Annotated[
        NotRequired[str | None],
        "UTC; of the last release. None before the first, and always of a survey that "
        "releases immediately.",
    ]
    next_release: Annotated[
        NotRequired[str | None], "UTC; when the next release is due, where that is known."
    ]


Pending = Annotated[
    int | None,
    "Reports that wait to be sealed, and are not among them; only of a survey that releases "
    "immediately.",
]


class ReleaseSummary(ReleaseTimes):
    """What a list of versions says of a release."""

    reports: int


class ReleasedVersion(VersionDocument, ReleaseTimes):
    """A survey version, and when it releases its reports."""


class ReleaseHeading(ReleasedVersion):
    """What every answer says of its version and release."""

    pending: NotRequired[Pending]


class ReportCounts(ReleaseTimes):
    """The reports that were sent, by outcome."""

    accepted: Annotated[int, "Stored: inbox + sealed, or those of the last release."]
    inbox: NotRequired[Pending]
    sealed: int
    withdrawn: Annotated[
        int, "Stored at first, and taken back by their devices before they were sealed."
    ]
    duplicate: int
    rejected: Annotated[dict[str, int], "By reason."]


class RefusedDay(TypedDict):
    """Reports of one day that were not stored."""

    day: Annotated[str, "YYYY-MM-DD, UTC."]
    duplicate: int
    rejected: Annotated[dict[str, int], "By reason."]


class QualityAccount(ReportCounts):
    """What became of all reports, and whether the numbers agree."""

    received: Annotated[int, "accepted + withdrawn + duplicate + all of rejected."]
    counted: Annotated[
        int | None, "Reports whose counts are kept for estimates; null while there are too few."
    ]
    reconciles: Annotated[
        bool | None, "Whether the counted reports are the sealed ones; null likewise."
    ]
    refused_by_day: Annotated[
        list[RefusedDay] | None,
        "The oldest first; null where a day would say more than the releases do, or when the "
        "holder of a token was there.",
    ]


class VersionState(ReleasedVersion):
    """A survey version, its releases and its state."""

    state: SurveyState


class CountsDocument(VersionState, QualityAccount):
    """What became of the reports that were sent, and whether the numbers agree."""


class DeletionDocument(TypedDict):
    """The number of deleted records, and when."""

    survey: SurveyName
    version: int
    deleted: Annotated[int, "Records; 0 if there were none."]
    deleted_at: Annotated[str, "UTC; when records were last deleted."]
