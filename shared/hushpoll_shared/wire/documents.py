"""The documents that a server answers analysts with, member by member, for both sides.

The server's services make them, its HTTP models describe them to the API's users, and the client
returns them. Documents of queries are in :mod:`hushpoll_shared.queries`; a model's card and a
manifest are free, so they are ``JsonObject``.
"""

from typing import Final, Literal, NotRequired, TypedDict, get_args

from hushpoll_shared.spelling.json_values import JsonObject

ReleaseKind = Literal["daily", "weekly", "end", "immediate"]
SurveyState = Literal["scheduled", "open", "closing", "closed"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JOB_STATES: Final[tuple[JobState, ...]] = get_args(JobState)


class JobProgress(TypedDict):
    """How far a job is; ``total`` is None where it is not known."""

    text: str
    done: int
    total: NotRequired[int | None]
    unit: str


class JobError(TypedDict):
    """Why a job has no result; ``code`` is of the problem table, or ``worker-lost``."""

    code: str
    detail: str


class JobResult(TypedDict):
    """The file that a job made; ``size`` in bytes."""

    name: str
    media_type: str
    size: int


class JobDocument(TypedDict):
    """A background job; what is not known of it yet is absent. Times are UTC."""

    id: str
    kind: str
    survey: str
    version: int
    parameters: JsonObject
    state: JobState
    attempt: int
    created_at: str
    hint: NotRequired[str]
    started_at: NotRequired[str]
    worker_alive: NotRequired[bool]
    progress: NotRequired[JobProgress]
    finished_at: NotRequired[str]
    result: NotRequired[JobResult]
    error: NotRequired[JobError]


class ProtectionDocument(TypedDict):
    """One thing that a training read, from whom it is protected, and by what."""

    what: str
    from_whom: str
    how: str


class ModelSummary(TypedDict):
    """What a list says of a model; its card says all."""

    learner: str
    encoding: str
    parameters: JsonObject
    seed: int
    rows: NotRequired[int | None]
    local_epsilon: str
    epsilon: NotRequired[float | None]
    delta: NotRequired[float | None]
    accountant: NotRequired[str | None]
    protections: list[ProtectionDocument]
    on_records: NotRequired[JsonObject | None]


class TrainingRun(TypedDict):
    """A training, with its model once it is done."""

    job: JobDocument
    model: NotRequired[ModelSummary | None]


class LearnerParameter(TypedDict):
    """A parameter of a learner, as far as a job of the server may choose it."""

    name: str
    kind: Literal["whole number", "number", "word"]
    default: int | float | str
    low: NotRequired[float | None]
    high: NotRequired[float | None]
    words: NotRequired[list[str] | None]


class LearnerDocument(TypedDict):
    """A learner; ``reason`` says why it cannot run on the server, None if it can."""

    name: str
    label: str
    description: str
    reason: NotRequired[str | None]
    private: bool
    can_be_tuned: bool
    parameters: list[LearnerParameter]


class EncodingDocument(TypedDict):
    """How records become features."""

    name: str
    description: str


class LearnersDocument(TypedDict):
    """What may be trained on a version's records; ``reason`` says why nothing can be."""

    target: NotRequired[JsonObject | None]
    reason: NotRequired[str | None]
    default_learner: str
    default_encoding: str
    encodings: list[EncodingDocument]
    learners: list[LearnerDocument]


class ShortMetric(TypedDict, total=False):
    """A metric in a list of audits: its numbers and conclusion, or why it is withheld."""

    value: float | None
    lower: float | None
    upper: float | None
    conclusion: str
    withheld: str


class AuditSummary(TypedDict):
    """What a list says of an audit; the result of its job says all."""

    n: int
    confidence: float
    released_at: NotRequired[str | None]
    attribute: str
    privileged: list[str]
    unprivileged: list[str]
    together: NotRequired[str | None]
    metrics: NotRequired[dict[str, ShortMetric] | None]
    largest: NotRequired[dict[str, ShortMetric] | None]
    disparities: NotRequired[dict[str, int] | None]


class AuditEntry(TypedDict):
    """An audit, with what it found once it is done."""

    job: JobDocument
    audit: NotRequired[AuditSummary | None]


class VerdictDocument(TypedDict):
    """What a result can tell, and which of its parts cannot be told."""

    says: str
    sentence: str
    too_noisy: list[str]


class SurveySummary(TypedDict):
    """What a list says of a version; ``reports`` only to a token that may read."""

    survey: str
    version: int
    title: str
    digest: str
    state: SurveyState
    reports: NotRequired[int | None]


class PublishWarning(TypedDict):
    """What an author should know of a manifest; without ``attribute``, of the whole survey."""

    code: str
    attribute: NotRequired[str | None]
    message: str


class PublishedDocument(TypedDict):
    """A published version; ``manifest`` is its published form."""

    survey: str
    version: int
    digest: str
    warnings: list[PublishWarning]
    manifest: JsonObject


class ClosedDocument(TypedDict):
    """A version that was closed, and until when reports of offline devices are taken."""

    survey: str
    version: int
    state: Literal["closing", "closed"]
    closed_at: str
    accepts_until: str


class DraftSummary(TypedDict):
    """A draft without its manifest; ``owner`` and ``changed_by`` are user:NAME or token:ID."""

    id: str
    survey: str
    title: str
    owner: str
    created_at: str
    changed_at: str
    changed_by: str
    revision: int


class DraftDocument(DraftSummary):
    """A draft."""

    manifest: JsonObject


class ImageDocument(TypedDict):
    """An image that the server keeps: its SHA-256, and its size in pixels and bytes."""

    image: str
    media_type: str
    width: int
    height: int
    bytes: int


class ManifestProblemDocument(TypedDict):
    """One thing for which a manifest is refused; see ``ManifestProblem``."""

    field: str
    message: str
    value: NotRequired[str | None]
    remedy: NotRequired[str | None]
    position: NotRequired[int | None]


class ValidationDocument(TypedDict):
    """What a draft lacks, and what its author should know."""

    valid: bool
    problems: list[ManifestProblemDocument]
    warnings: list[PublishWarning]
    hardly_protected: NotRequired[str | None]
    digest: NotRequired[str | None]
    manifest: NotRequired[JsonObject | None]


class QuestionPrecision(TypedDict):
    """How precise a question's shares will be; ``detectable`` is None where no difference is."""

    name: str
    categories: int
    protocol: str | None
    epsilon: str | None
    width: float
    detectable: float | None
    mean_width: NotRequired[float | None]


class ExpectedAudit(TypedDict):
    """What an audit from the records alone will find."""

    attribute: str
    gap: float
    powers: dict[str, float | None]
    sentence: str


class LaunchPlan(TypedDict):
    """What a survey will be able to say, before anybody has answered.

    ``verdict`` is of the question with the widest intervals, ``together`` of the draft's blocks,
    ``pairs`` of the pairs that it marks.
    """

    n: int
    confidence: float
    power: float
    wanted: float
    questions: list[QuestionPrecision]
    verdict: JsonObject
    together: JsonObject | None
    pairs: list[JsonObject]
    audit: ExpectedAudit | None


class ReleaseTimes(TypedDict):
    """When a version releases, did last and will next. Times are UTC."""

    release: ReleaseKind
    released_at: NotRequired[str | None]
    next_release: NotRequired[str | None]


class ReportCounts(ReleaseTimes):
    """What became of a version's reports; ``inbox`` is None of one that releases on a schedule."""

    accepted: int
    inbox: NotRequired[int | None]
    sealed: int
    withdrawn: int
    duplicate: int
    rejected: dict[str, int]


class ReleaseSummary(ReleaseTimes):
    """What a list of versions says of a release."""

    reports: int


class ReleaseHeading(ReleaseTimes):
    """What every answer says of its version and release."""

    survey: str
    version: int
    digest: str
    pending: int | None


class RefusedDay(TypedDict):
    """Duplicates and refusals of a day, YYYY-MM-DD, UTC."""

    day: str
    duplicate: int
    rejected: dict[str, int]


class QualityAccount(ReportCounts):
    """What became of all reports, and whether the numbers agree.

    ``received`` is the sum of all outcomes; ``counted`` the reports whose counts are kept for
    estimates, None while there are too few; ``reconciles`` whether these are the sealed ones.
    """

    received: int
    counted: int | None
    reconciles: bool | None
    refused_by_day: list[RefusedDay] | None


class CountsDocument(QualityAccount):
    """The counts of a version's reports, with the version that they are of."""

    survey: str
    version: int
    digest: str
    state: SurveyState


class DeletedRecords(TypedDict):
    """Records that were deleted; their counts stay."""

    survey: str
    version: int
    deleted: int
    deleted_at: str


class ChosenResults(TypedDict):
    """The questions and statistics that published results show."""

    attributes: list[str]
    cross_tables: list[list[str]]
    estimator: str
    confidence: float
    fairness: bool
    trend: NotRequired[bool]


class PublicationDocument(ChosenResults):
    """Results that everybody may see at ``address``; ``warnings`` only where they are published."""

    survey: str
    version: int
    address: str
    published_at: str
    published_by: str
    taken_back_at: str | None
    warnings: NotRequired[list[str]]


class NewToken(TypedDict):
    """A bearer token, which is shown this once."""

    token: str
    id: str
    scopes: list[str]
    expires_at: NotRequired[str | None]


class RotatedToken(NewToken):
    """A bearer token in place of another, and until when that one is valid."""

    replaces: str
    replaced_until: str


class TokenSummary(TypedDict):
    """A bearer token without its secret; ``surveys`` is None where it is for every survey."""

    id: str
    label: str
    scopes: list[str]
    state: Literal["valid", "replaced", "expired", "revoked"]
    issued_at: NotRequired[str | None]
    surveys: NotRequired[list[str] | None]
    replaced_by: NotRequired[str | None]
    expires_at: NotRequired[str | None]
    last_used: NotRequired[str | None]


class InvitationCounts(TypedDict):
    """How many invitations to a version there are; None of a version that takes none."""

    submission: str
    invited: int | None
    redeemed: int | None


class MailPreview(TypedDict):
    """A mail that invites or reminds a person who is made up, as it would be sent."""

    language: str
    sender: str
    recipient: str
    subject: str
    body: str


class MailsSent(TypedDict):
    """What became of the mails of a job: sent, refused for good, not taken yet, not needed."""

    survey: str
    version: int
    sent: int
    refused: int
    later: int
    redeemed: int


class TokenCounts(TypedDict):
    """How many respondent tokens of a survey are spent; None where that is not told."""

    submission: str
    unspent: int | None
    spent: int | None


class CodebookShare(TypedDict):
    """The share of an answer, with its interval."""

    estimate: float
    standard_error: float | None
    lower: float | None
    upper: float | None


class CodebookAnswer(TypedDict):
    """An answer: its code in exports, its words by language, its kind, and its share."""

    code: int
    words: dict[str, str]
    kind: Literal["answer", "skipped", "not asked"]
    share: CodebookShare | None


class CodebookText(TypedDict):
    """What is read of a question in one language; of an option or an item also what is asked."""

    asked: str | None
    question: str
    help: str | None
    section: str | None
    unit: str | None


class CodebookLaw(TypedDict):
    """By which law a question was randomised; p and q are null where answers differ in theirs."""

    domain: int
    parameters: dict[str, str]
    p: float | None
    q: float | None
    realized_epsilon: str


class CodebookQuestion(TypedDict):
    """A question of a codebook."""

    name: str
    role: str
    select: str | None
    block: str | None
    draw: str | None
    asked_if: dict[str, list[str]]
    protocol: str | None
    epsilon: str | None
    law: CodebookLaw | None
    how_to_debias: str
    n: int | None
    texts: dict[str, CodebookText]
    answers: list[CodebookAnswer]


class CodebookDocument(TypedDict):
    """Every question of a survey version in every language, how it was sent, and its shares."""

    survey: str
    version: int
    digest: str
    titles: dict[str, str]
    epsilon: str
    reports: int | None
    confidence: float | None
    intervals: str | None
    questions: list[CodebookQuestion]


class ImportedQuestion(TypedDict):
    """What has become of one question of a file."""

    question: str
    where: str
    outcome: Literal["taken", "changed", "to be decided", "dropped"]
    attribute: str | None
    messages: list[str]
    codes: list[str]


class ImportReport(TypedDict):
    """What has become of a questionnaire: how many questions have each outcome, and every one."""

    counts: dict[str, int]
    survey: list[str]
    questions: list[ImportedQuestion]


class ImportedDraft(TypedDict):
    """The draft that a server keeps of a questionnaire, and the report."""

    draft: DraftDocument
    report: ImportReport
