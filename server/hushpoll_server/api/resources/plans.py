"""What an analyst asks before there is a survey: whether a draft could answer what is wanted."""

from __future__ import annotations

from typing import ClassVar

from flask import Response
from pydantic import Field

from hushpoll_analysis.planning.verdicts import GOALS_MAX
from hushpoll_analysis.shuffling import DELTA
from hushpoll_analysis.verdicts.needed import N_MAX
from hushpoll_server.api.routes import Routes
from hushpoll_server.http.bodies import BodySize, Parameters
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.tables import TableQuery, answer_in_form
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.tables.plans import verdicts_table
from hushpoll_shared.wire.documents.plans import GoalKind, PlanDocument


class GoalBody(Parameters):
    """What the survey has to answer."""

    kind: GoalKind = Field(
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


class PopulationBody(Parameters):
    """What is assumed of the population of an audit."""

    positive: float = Field(
        0.3, ge=0, lt=1, description="Share predicted positive in the unprivileged group."
    )
    unprivileged: float = Field(0.5, gt=0, lt=1, description="Share of that group.")
    base: float = Field(0.3, gt=0, lt=1, description="Share with a positive label.")
    recall: float | None = Field(
        None, ge=0, lt=1, description="Share of them predicted positive, in that group."
    )


class PlanBody(Parameters):
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


api = Routes("plans", "/plans")


@api.operation("POST", "", 503, answer=PlanDocument, scope="read")
def plan(body: PlanBody, query: TableQuery) -> Response:
    """Say whether a draft could answer what is wanted, and with which n or epsilon it could.

    Nothing is stored. A plan takes up to some seconds, so a server computes one at a time; others
    wait for their turn, at most 15 seconds, and are then answered 503. The table has a row for each
    goal.
    """
    asked = body.model_dump()
    answer = services().plans.plan(
        asked.pop("manifest"), asked.pop("goals"), asked.pop("population") or {}, **asked
    )
    return answer_in_form(
        PlanDocument,
        answer,
        verdicts_table,
        form=query.format,
        name=f"{answer['survey']}-plan",
    )
