"""Answers about regressions."""

from __future__ import annotations

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Strict
from hushpoll_server.api.models.jobs import JobAnswer


class RegressionPath(Strict):
    """A regression by the id of its job."""

    regression_id: str = Field(
        pattern=r"^[0-9a-f]{32}$", description="The id of the job `regress`."
    )


class RegressionSummary(Answer):
    """What a list says of a regression; the job's result says all."""

    n: int = Field(description="Records.")
    confidence: float
    released_at: str | None = Field(
        None, description="Of the release that it is of; null if the survey releases at once."
    )
    formula: str
    family: str = Field(description="`logit`, `multinomial`, `ordered` or `linear`.")
    outcome: str
    predictors: list[str]
    verdict: str = Field(description="`informative`, or `too noisy to tell` of all slopes.")
    converged: bool = Field(description="Whether the maximum is shown to be reached.")
    sentences: list[str] = Field(description="What the slopes say, other things equal.")
    smallest_group: int | None = Field(
        None,
        description="Reports of the smallest group in clear that it keeps to, so that readers "
        "without the right to export see it; null if it keeps to none.",
    )


class RegressionEntry(Answer):
    """A regression, with what it found once it is done."""

    job: JobAnswer
    regression: RegressionSummary | None = None


class RegressionList(Answer):
    """The newest 200 regressions of a survey's version, the newest first."""

    regressions: list[RegressionEntry]
