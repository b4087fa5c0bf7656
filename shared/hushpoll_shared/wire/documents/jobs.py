"""Background jobs as JSON."""

from typing import Annotated, Final, Literal, NotRequired, TypedDict, get_args

from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.documents.surveys import SurveyName

JobName = Literal[
    "seal",
    "export",
    "train",
    "tune",
    "fairness",
    "shape",
    "report",
    "table",
    "weight",
    "dependencies",
    "regress",
    "invite",
    "remind",
]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
JOB_STATES: Final[tuple[JobState, ...]] = get_args(JobState)


class JobProgress(TypedDict):
    """How far a job is, or was when it ended without a result."""

    text: Annotated[str, "What it does now."]
    done: Annotated[int, "Steps of that which are done."]
    total: Annotated[NotRequired[int | None], "Of how many, where it is known."]
    unit: Annotated[str, "What a step is, in the plural."]


class JobError(TypedDict):
    """Why a job has no result."""

    code: Annotated[str, "Of the problem table, or `worker-lost`."]
    detail: str


class JobResult(TypedDict):
    """The file that a job made."""

    name: str
    media_type: str
    size: Annotated[int, "Bytes."]


class JobDocument(TypedDict):
    """A job."""

    id: str
    kind: JobName
    survey: SurveyName
    version: int
    parameters: JsonObject
    state: JobState
    hint: Annotated[
        NotRequired[str], "Of a job that waits and that no worker would take now: what to do."
    ]
    attempt: Annotated[int, "How many workers have begun with it."]
    created_at: str
    started_at: Annotated[NotRequired[str], "UTC; when a worker last began with it."]
    worker_alive: Annotated[
        NotRequired[bool], "Of a job that runs: whether its worker was heard of lately."
    ]
    progress: Annotated[
        NotRequired[JobProgress], "As of a second ago or less, while its worker is alive."
    ]
    finished_at: NotRequired[str]
    result: NotRequired[JobResult]
    error: NotRequired[JobError]


class JobList(TypedDict):
    """The newest 200 jobs of the surveys that the token is for, the newest first."""

    jobs: list[JobDocument]


class MailsSent(TypedDict):
    """What became of the mails of a job.

    They were taken by the mail server, refused by it for good, not taken when they were last tried,
    or not sent, since the invitation was redeemed meanwhile, or the survey was closed.
    """

    survey: str
    version: int
    sent: int
    refused: int
    later: int
    redeemed: int
