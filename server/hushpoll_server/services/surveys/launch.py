"""The launch plan of a draft: how precise each question and the audit will be for an expected n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hushpoll_analysis.planning.asked_pairs import pair_outlooks
from hushpoll_analysis.planning.goals import refuse_draws
from hushpoll_analysis.planning.needed import N_MAX, POWER
from hushpoll_analysis.planning.planner import question_precision
from hushpoll_analysis.planning.power import LEVEL, AuditAssumptions, audit_powers
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.surveys.plans import Plans
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents import ExpectedAudit, LaunchPlan, QuestionPrecision

WIDTH: Final = 0.1
"""Width of an interval that is wanted where none is named: plus or minus five points of 100."""


def launch_plan(
    plans: Plans, draft: Mapping[str, Any], published: Published, *, n: int, width: float = WIDTH
) -> LaunchPlan:
    """Return what a survey will be able to say, before anybody has answered.

    Parameters
    ----------
    plans : Plans
        Give the verdicts.
    draft : mapping
        The manifest as JSON.
    published : Published
        What it resolves to.
    n : int
        Respondents, in [1, 10^9].
    width : float
        Mean width that no question's intervals should exceed, in (0, 1].

    Returns
    -------
    LaunchPlan
        JSON. ``questions``: for each the mean width of a category's 0.95 interval where all
        categories are equally frequent, and the smallest difference of a category's share between
        two halves of the respondents that is found with a power of 0.8 (None: no difference is).
        ``verdict``: whether the widest is narrow enough, with the n or epsilon that it takes if
        not. ``together``: whether the draft's blocks need fewer respondents for that than its
        questions alone; None without blocks. ``pairs``: of each pair that the draft marks the
        verdict with which its result will begin. ``audit``: which disparity is found from the
        records alone; None where no group is declared.

    Raises
    ------
    InvalidParameter
        If n or width is outside its interval.
    Refused
        ``unavailable``: too many other plans are being computed.
    """
    if not 1 <= n <= N_MAX:
        raise InvalidParameter(f"n is {n}; give from 1 to {N_MAX:,} respondents", field="n")
    refuse_draws(published)
    questions: list[QuestionPrecision] = [
        {
            "name": attribute.name,
            "categories": attribute.k,
            "protocol": None if attribute.oracle is None else attribute.oracle.name,
            "epsilon": None
            if attribute.oracle is None
            else format_epsilon(attribute.oracle.epsilon),
            **question_precision(published, attribute, n),
        }
        for attribute in published.attributes
    ]
    widest = max(questions, key=lambda question: question["width"])
    goals = [{"kind": "width", "subject": widest["name"], "value": width}]
    if published.protected is not None:
        goals.append({"kind": "audit", "subject": "SPD", "value": None})
    planned = plans.plan(draft, goals, {}, n=n)
    told = planned["goals"]
    audit = None
    if published.protected is not None:
        audit = _audit(published, published.protected.attribute, n, told[1])
    return {
        "n": n,
        "confidence": LEVEL,
        "power": POWER,
        "wanted": width,
        "questions": questions,
        "verdict": told[0],
        "together": planned["together"],
        "pairs": to_json(pair_outlooks(published, _pairs(draft), n)),
        "audit": audit,
    }


def _pairs(draft: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(a, b) for a, b in draft.get("pairs") or ()]


def _audit(
    published: Published, attribute: str, n: int, smallest: Mapping[str, Any]
) -> ExpectedAudit:
    assumed = AuditAssumptions()
    powers = audit_powers(published, n, assumed)
    return {
        "attribute": attribute,
        "gap": assumed.gap,
        "powers": dict(powers),
        "sentence": smallest["sentence"],
    }
