"""Requests and answers about surveys that are planned."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from hushpoll_analysis.planning.goals import Kind
from hushpoll_analysis.planning.verdicts import GOALS_MAX
from hushpoll_analysis.shuffling import DELTA
from hushpoll_analysis.verdicts.needed import N_MAX
from hushpoll_server.api.models.common import Answer, Strict
from hushpoll_server.http.bodies import BodySize
from hushpoll_shared.estimators import CONFIDENCES


class GoalBody(Strict):
    """What the survey has to answer."""

    kind: Kind = Field(
        description="Mean width of the interval of a category's share; difference of a share "
        "between two groups that are told apart in clear; change of it between two versions; lead "
        "of one category over another of the same attribute; mean width of the interval of a lead; "
        "gap of a share between two categories of another attribute; association of two "
        "attributes; mean width of the interval of a mean; gap of means between two categories "
        "of another attribute; slope of a logit, of one attribute on another; audit that finds a "
        "disparity from the records alone."
    )
    subject: str = Field(
        description="The attribute; OF/GIVEN for a gap, an association or a mean-gap; "
        "OUTCOME~PREDICTOR+HELD for a slope; the group metric of an audit."
    )
    value: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="What is wanted; null asks which can be had. In the unit of the scale for a "
        "mean and a mean-gap, phi for an association, logits for a slope, otherwise in (0, 1].",
    )
    share: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="The category's share, by default 1/categories; of a lead that of the category "
        "that is behind, by default as much as the others'.",
    )
    group: float | None = Field(
        None,
        gt=0,
        le=0.5,
        description="The smaller group's share of the respondents; by default 0.5 of a difference, "
        "and of a gap, a mean-gap or a slope as much as the others'.",
    )
    confidence: float = Field(
        0.95,
        ge=CONFIDENCES[0],
        le=CONFIDENCES[1],
        description="Of the interval, in [0.01, 0.999999].",
    )


class PopulationBody(Strict):
    """What is assumed of the population of an audit."""

    positive: float = Field(
        0.3, ge=0, lt=1, description="Share predicted positive in the unprivileged group."
    )
    unprivileged: float = Field(0.5, gt=0, lt=1, description="Share of that group.")
    base: float = Field(0.3, gt=0, lt=1, description="Share with a positive label.")
    recall: float | None = Field(
        None, ge=0, lt=1, description="Share of them predicted positive, in that group."
    )


class PlanBody(Strict):
    """A draft, and what is wanted of it."""

    BODY: ClassVar = BodySize.MANIFEST

    manifest: dict[str, object] = Field(description="The draft; it is not stored.")
    goals: list[GoalBody] = Field(min_length=1, max_length=GOALS_MAX)
    n: int | None = Field(
        None, ge=1, le=N_MAX, strict=True, description="Respondents; null asks how many it takes."
    )
    epsilon: str | None = Field(
        None, max_length=40, description="In place of the draft's, a decimal number."
    )
    delta: float = Field(DELTA, ge=1e-30, lt=1, description="Of a trusted shuffler's guarantee.")
    crowd: int | None = Field(
        None, ge=1, le=N_MAX, strict=True, description="Reports with the same values in clear."
    )
    population: PopulationBody | None = None


class GoalAnswer(Answer):
    """The goal, as it was understood."""

    kind: Kind
    subject: str
    value: float | None
    confidence: float
    share: float | None = None
    group: float | None = None


class VerdictAnswer(Answer):
    """What is said of one goal."""

    goal: GoalAnswer
    answer: Literal["yes", "no", "needs", "has"] = Field(
        description="`needs` where n is asked for, `has` where a value is."
    )
    n: int | None
    epsilon: str
    predicted: float | None = Field(
        description="Mean width, or the chance to find what is wanted; where no value is wanted, "
        "the width, or the smallest difference that is found with a power of 0.8; null for a "
        "width where some surveys' intervals have no bound, and for a slope that a regression will "
        "call too noisy to tell, whatever the answers."
    )
    n_needed: int | None = Field(description="Fewest respondents that would do, to three digits.")
    epsilon_needed: str | None = Field(
        description="Smallest epsilon with which n would do, to three digits."
    )
    sampling_alone: float | None = Field(
        description="What would be predicted in clear, where no epsilon does."
    )
    sentence: str


class ShuffledAnswer(Answer):
    """What a trusted shuffler would add to the local epsilon, which it never replaces."""

    local_epsilon: str
    crowd: int = Field(description="Reports with the same values in clear.")
    clear: list[str]
    delta: float
    epsilon: float = Field(description="Of the perturbed answers, rounded up.")
    sentence: str


class DrawAnswer(Answer):
    """Blocks of which each respondent answers some, drawn at random."""

    name: str
    blocks: list[str]
    answer: int = Field(description="How many of them.")


class WayAnswer(Answer):
    """One way to randomise the questions, and the respondents that it takes."""

    name: Literal["split", "together", "drawn"]
    blocks: list[list[str]] = Field(description="Questions that are randomised together.")
    draws: list[DrawAnswer] = Field(description="Of whose blocks each respondent answers some.")
    n_needed: list[int | None] = Field(
        description="Of each goal that wants a value, in order; null if no number is enough."
    )
    n_needed_for_all: int | None


class TogetherAnswer(Answer):
    """Questions alone beside questions in blocks and drawn, for what is wanted."""

    verdict: str
    recommended: Literal["split", "together", "drawn"]
    ways: list[WayAnswer]


class PlanAnswer(Answer):
    """A verdict in words, and what it rests on."""

    verdict: str
    answer: Literal["yes", "no", "needs", "has"]
    survey: str
    epsilon: str
    n: int | None
    goals: list[VerdictAnswer]
    together: TogetherAnswer | None = Field(description="Null where there is one way only.")
    shuffled: ShuffledAnswer | None
    selects: list[str] | None = Field(
        default=None,
        description="What each select-all is published as, and why; absent without any.",
    )
