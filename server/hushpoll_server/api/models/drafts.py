"""Requests and answers about drafts: checked, planned, kept, published."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from hushpoll_analysis.verdicts.needed import N_MAX
from hushpoll_server.api.models.common import Answer, Name, Strict
from hushpoll_server.api.models.plans import TogetherAnswer, VerdictAnswer
from hushpoll_server.api.models.surveys import PublishWarning
from hushpoll_server.api.schemas import RESULT_VERDICT
from hushpoll_server.http.bodies import BodySize
from hushpoll_server.services.surveys.launch import WIDTH

Actor = Field(description="`user:NAME` or `token:ID`.")


class DraftPath(Strict):
    """A draft by its id."""

    draft_id: str = Field(pattern=r"^[0-9a-f]{16}$", description="The draft's id.")


class DraftBody(Strict):
    """A manifest that is not published yet."""

    BODY: ClassVar = BodySize.MANIFEST

    manifest: dict[str, object] = Field(
        description="May be incomplete and wrong, but for the survey's name."
    )


class DraftSummary(Answer):
    """A draft without its manifest."""

    id: str
    survey: str = Name
    title: str
    owner: str = Actor
    created_at: str = Field(description="UTC.")
    changed_at: str = Field(description="UTC.")
    changed_by: str = Actor
    revision: int = Field(description="Counts its changes; in quotes it is the ETag.")


class DraftAnswer(DraftSummary):
    """A draft."""

    manifest: dict[str, object]


class ImageAnswer(Answer):
    """An image that the server keeps."""

    image: str = Field(description="SHA-256 of its bytes: what `logo.image` of a manifest names.")
    media_type: str
    width: int = Field(description="In pixels.")
    height: int = Field(description="In pixels.")
    bytes: int


class ImportQuery(Strict):
    """How a questionnaire that is sent is called."""

    file: str = Field(
        "the file", min_length=1, max_length=200, description="The file's name, for messages."
    )
    survey: str | None = Field(
        None,
        pattern=r"^[a-z0-9_-]{1,64}$",
        description="The survey's name; by default one that is made of the form's.",
    )


class ImportedQuestion(Answer):
    """What has become of one question of a file."""

    question: str = Field(description="Its name in the file.")
    where: str = Field(description="Its place in the file.")
    outcome: Literal["taken", "changed", "to be decided", "dropped"]
    attribute: str | None = Field(None, description="Its name in the draft.")
    messages: list[str] = Field(description="What was changed, is to be decided, or the reason.")
    codes: list[str] = Field(
        description="The file's codes of its choices, in the order of the categories."
    )


class ImportReport(Answer):
    """What has become of a questionnaire."""

    counts: dict[str, int] = Field(description="Questions by their outcome.")
    survey: list[str] = Field(description="What is to be decided of the whole survey.")
    questions: list[ImportedQuestion]


class ImportAnswer(Answer):
    """The draft of a questionnaire, and the report."""

    draft: DraftAnswer
    report: ImportReport


class DraftList(Answer):
    """Drafts, that which was changed last first."""

    drafts: list[DraftSummary]


class ManifestProblemAnswer(Answer):
    """One thing for which a manifest is refused."""

    field: str = Field(
        description="Path such as `attributes[age].categories`; a question without a valid name "
        "stands there by its position."
    )
    value: str | None = Field(None, description="What stands there, cut; absent if nothing.")
    message: str
    remedy: str | None = Field(None, description="The last part of the message as a sentence.")
    position: int | None = Field(
        None, description="Of the question, from 0; absent where it is about the whole survey."
    )


class ValidationAnswer(Answer):
    """What a draft lacks, and what its author should know."""

    valid: bool = Field(
        description="Whether it could be published now, if need be with allow_weak."
    )
    problems: list[ManifestProblemAnswer] = Field(
        description="All that were found, at most 40; those of the survey first."
    )
    hardly_protected: str | None = Field(
        None, description="Why it is published with allow_weak alone."
    )
    warnings: list[PublishWarning] = Field(description="Those that publishing would give.")
    digest: str | None = Field(None, description="That it would be published with.")
    manifest: dict[str, object] | None = Field(
        None, description="The form it would be published in."
    )


class LaunchBody(Strict):
    """A draft, and how many respondents are expected."""

    BODY: ClassVar = BodySize.MANIFEST

    manifest: dict[str, object] = Field(description="A valid one; it is not stored.")
    n: int = Field(ge=1, le=N_MAX, strict=True, description="Respondents.")
    width: float = Field(
        WIDTH, gt=0, le=1, description="That no question's intervals should exceed on average."
    )


class QuestionPrecision(Answer):
    """How precise a question's shares will be, if all its categories are equally frequent.

    Of a number it is its mean, as a part of the range of its answers.
    """

    name: str
    categories: int
    protocol: str | None = Field(description="Null for a question in clear.")
    epsilon: str | None
    width: float = Field(description="Mean width of a category's interval.")
    detectable: float | None = Field(
        description="Smallest difference of a share between two halves of the respondents that is "
        "found; null if none is."
    )
    mean_width: float | None = Field(
        description="Of a number: mean width of the interval of its mean, in its unit; else null."
    )


class ExpectedAudit(Answer):
    """What an audit from the records alone will find."""

    attribute: str
    gap: float = Field(description="Disparity for which the powers are.")
    powers: dict[str, float | None] = Field(
        description="Chance to find it, by group metric; null where it cannot be. Empty where "
        "nobody answers what an audit needs."
    )
    sentence: str = Field(
        description="The smallest disparity of SPD that is found, in words, or why there is none."
    )


class PairPlan(Answer):
    """What a survey will be able to say of two questions whose relation it is to tell."""

    a: str
    b: str
    statistic: Literal["independence", "cross-tables"] = Field(
        description="Whose verdict it is: of the cross-table where the two have no test."
    )
    verdict: RESULT_VERDICT | None = Field(  # type: ignore[valid-type]  # made while running
        description="With which its result will begin; null where none is computed."
    )
    refusal: str | None = Field(description="Why none is computed; null where one is.")


class LaunchAnswer(Answer):
    """What a survey will be able to say, before anybody has answered."""

    n: int
    confidence: float
    power: float = Field(description="Of `detectable`.")
    wanted: float = Field(description="The width that is wanted.")
    questions: list[QuestionPrecision]
    verdict: VerdictAnswer = Field(description="Of the question with the widest intervals.")
    together: TogetherAnswer | None = Field(
        description="Questions alone, in blocks and drawn side by side; null with one way only."
    )
    pairs: list[PairPlan] = Field(description="Those that the draft marks, in its order.")
    audit: ExpectedAudit | None = Field(description="Null where no group is declared.")
