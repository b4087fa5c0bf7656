"""What administrators manage, as JSON: tokens and invitations, users, the server itself."""

from typing import Annotated, Literal, NotRequired, TypedDict

from hushpoll_shared.wire.documents.surveys import Utc

Roles = Annotated[dict[str, str], "By survey. A survey's name, or `*` for every survey."]


class RespondentTokensDocument(TypedDict):
    """Single-use tokens; they are shown once."""

    tokens: list[str]


class InvitationsDocument(TypedDict):
    """Invitations; they are shown once."""

    invitations: list[str]


class MailPreviewDocument(TypedDict):
    """A mail as a person would get it."""

    language: str
    sender: Annotated[str, "Empty while the server has no `mail_sender`."]
    recipient: str
    subject: str
    body: Annotated[str, "Its link has no invitation that could be redeemed."]


class MailPreviewsDocument(TypedDict):
    """A mail in each language that there is a text in."""

    mails: list[MailPreviewDocument]


class TokenDocument(TypedDict):
    """A bearer token; it is shown once."""

    token: str
    id: str
    scopes: list[str]
    expires_at: NotRequired[str | None]


class RotateDocument(TokenDocument):
    """A token's successor; it is shown once."""

    replaces: Annotated[str, "Public id of the old token."]
    replaced_until: Annotated[str, "UTC; from then on the old token is refused."]


class TokenSummary(TypedDict):
    """A bearer token in the list, without its secret, which the server does not have."""

    id: Annotated[str, "Its public id, the middle part of the token."]
    label: str
    scopes: list[str]
    state: Annotated[
        Literal["valid", "replaced", "expired", "revoked"],
        "`replaced`: it has a successor, and is valid until its overlap is over.",
    ]
    issued_at: Annotated[NotRequired[str | None], "UTC; absent for tokens of an older release."]
    expires_at: Annotated[NotRequired[str | None], "UTC; absent if it never expires."]
    replaced_by: Annotated[NotRequired[str | None], "Public id of its successor."]
    surveys: Annotated[
        NotRequired[list[str] | None],
        "Names of the surveys that it is for; absent if for every survey.",
    ]
    last_used: Annotated[
        NotRequired[str | None],
        "Day of its last use, UTC, YYYY-MM-DD; absent if it was not used yet.",
    ]


class TokenList(TypedDict):
    """Every bearer token, the oldest first."""

    tokens: list[TokenSummary]


class InvitationCounts(TypedDict):
    """How many invitations to a version there are; None of a version that takes none."""

    submission: str
    invited: int | None
    redeemed: int | None


class TokenCounts(TypedDict):
    """How many respondent tokens of a survey are spent; None where that is not told."""

    submission: str
    unspent: int | None
    spent: int | None


class UserDocument(TypedDict):
    """A user, without the password, which the server does not have."""

    name: str
    provider: Annotated[
        bool,
        "Whether the user signs in at the OpenID Connect provider, without a password.",
    ]
    roles: Roles


class UserList(TypedDict):
    """Every user, by name."""

    users: list[UserDocument]


class ActionLine(TypedDict):
    """One line of the action log."""

    at: Utc
    actor: Annotated[str, "`user:NAME`, `token:PUBLIC_ID` or `command-line`."]
    act: Annotated[str, "Its code."]
    words: Annotated[str, "The act in plain words, which may change between releases."]
    survey: NotRequired[str | None]
    version: NotRequired[int | None]
    subject: Annotated[
        NotRequired[str | None],
        "A further name: a user, a token's public id, a job's id, a format.",
    ]


class ActionList(TypedDict):
    """Lines of the action log, the newest first."""

    actions: list[ActionLine]


class OperationsDocument(TypedDict):
    """How the server does."""

    version: Annotated[str, "Of hushpoll-server."]
    schema_version: str
    database: Literal["sqlite", "postgresql"]
    database_bytes: Annotated[int, "Size of the database."]
    disk_free_bytes: Annotated[
        NotRequired[int | None],
        "Free on the disk of the database's file; absent of PostgreSQL, whose disk this server "
        "does not see.",
    ]
    disk_bytes: Annotated[int | None, "Size of that disk."]
    reports_waiting: Annotated[int, "In all inboxes, not sealed yet."]
    reports_sealed: Annotated[int, "In all, those of deleted records too."]
    reports_per_second: Annotated[
        NotRequired[float | None],
        "Reports that were stored per second, over `measured_seconds`; absent at the first look.",
    ]
    measured_seconds: Annotated[float, "At most about 60."]
    seal_lag_seconds: Annotated[
        float,
        "At most this long has the oldest report waited to be sealed, as far as this process has "
        "seen.",
    ]
    sealing: Annotated[Literal["server", "worker"], "Who seals."]
    overdue_versions: Annotated[
        int, "Versions that should have been sealed or released a minute ago."
    ]
    queue_reports: Annotated[
        NotRequired[int | None],
        "Reports that wait for their commit in the ingest processes; absent where metrics are off.",
    ]
    jobs: Annotated[dict[str, int], "Background jobs by state."]
    worker_alive: Annotated[bool, "Whether a worker is alive, which takes jobs."]
