"""Drafts as JSON: kept, checked, imported."""

from typing import Annotated, Literal, NotRequired, TypedDict

from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.wire.documents.surveys import PublishWarning, SurveyName, Utc

Actor = Annotated[str, "`user:NAME` or `token:ID`."]


class DraftSummary(TypedDict):
    """A draft without its manifest."""

    id: str
    survey: SurveyName
    title: str
    owner: Actor
    created_at: Utc
    changed_at: Utc
    changed_by: Actor
    revision: Annotated[int, "Counts its changes; in quotes it is the ETag."]


class DraftDocument(DraftSummary):
    """A draft."""

    manifest: JsonObject


class DraftList(TypedDict):
    """Drafts, that which was changed last first."""

    drafts: list[DraftSummary]


class ManifestProblemDocument(TypedDict):
    """One thing for which a manifest is refused."""

    field: Annotated[
        str,
        "Path such as `attributes[age].categories`; a question without a valid name stands there "
        "by its position.",
    ]
    value: Annotated[NotRequired[str | None], "What stands there, cut; absent if nothing."]
    message: str
    remedy: Annotated[NotRequired[str | None], "The last part of the message as a sentence."]
    position: Annotated[
        NotRequired[int | None],
        "Of the question, from 0; absent where it is about the whole survey.",
    ]


class ValidationDocument(TypedDict):
    """What a draft lacks, and what its author should know."""

    valid: Annotated[bool, "Whether it could be published now, if need be with allow_weak."]
    problems: Annotated[
        list[ManifestProblemDocument],
        "All that were found, at most 40; those of the survey first.",
    ]
    hardly_protected: Annotated[
        NotRequired[str | None], "Why it is published with allow_weak alone."
    ]
    warnings: Annotated[list[PublishWarning], "Those that publishing would give."]
    digest: Annotated[NotRequired[str | None], "That it would be published with."]
    manifest: Annotated[NotRequired[JsonObject | None], "The form it would be published in."]


class ImageDocument(TypedDict):
    """An image that the server keeps."""

    image: Annotated[str, "SHA-256 of its bytes: what `logo.image` of a manifest names."]
    media_type: str
    width: Annotated[int, "In pixels."]
    height: Annotated[int, "In pixels."]
    bytes: int


class ImportedQuestion(TypedDict):
    """What has become of one question of a file."""

    question: Annotated[str, "Its name in the file."]
    where: Annotated[str, "Its place in the file."]
    outcome: Literal["taken", "changed", "to be decided", "dropped"]
    attribute: Annotated[NotRequired[str | None], "Its name in the draft."]
    messages: Annotated[list[str], "What was changed, is to be decided, or the reason."]
    codes: Annotated[list[str], "The file's codes of its choices, in the order of the categories."]


class ImportReport(TypedDict):
    """What has become of a questionnaire."""

    counts: Annotated[dict[str, int], "Questions by their outcome."]
    survey: Annotated[list[str], "What is to be decided of the whole survey."]
    questions: list[ImportedQuestion]


class ImportDocument(TypedDict):
    """The draft of a questionnaire, and the report."""

    draft: DraftDocument
    report: ImportReport
