"""The launch plan of a draft: how precise each question and the audit will be for an expected n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hushpoll_analysis.auditing.power import LEVEL, AuditAssumptions, audit_powers
from hushpoll_analysis.planning.pair_outlooks import pair_outlooks
from hushpoll_analysis.planning.planner import question_precision
from hushpoll_analysis.records.answering import audited, require_answered
from hushpoll_analysis.verdicts.needed import N_MAX, POWER
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.surveys.plans import Plans
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.documents.plans import ExpectedAudit, LaunchDocument, QuestionPrecision

WIDTH: Final = 0.1
"""Width of an interval that is wanted where none is named: plus or minus five points of 100."""


def launch_plan(
    plans: Plans, draft: Mapping[str, object], published: Published, *, n: int, width: float = WIDTH
) -> LaunchDocument:
    """Return what a survey will be able to say, before anybody has answered.

    `n` respondents, in [1, 10^9], and `width`, in (0, 1], that the mean width of no question's
    intervals should exceed. ``questions`` has for each the mean width of a category's 0.95 interval
    where all categories are equally frequent, and the smallest difference of a category's share
    between two halves of the respondents that is found with a power of 0.8 (None: no difference
    is); of a number both are of its mean, as parts of its range, and ``mean_width`` is in its unit.
    ``verdict``: whether the widest is narrow enough, with the n or epsilon that it takes if not.
    ``together``: with which respondents that is told by questions alone, in blocks and drawn; None
    where there is one way only. ``pairs``: of each pair that the draft marks the verdict with which
    its result will begin. ``audit``: which disparity is found from the records alone; None where no
    group is declared.
    """
    if not 1 <= n <= N_MAX:
        raise InvalidParameter(f"n is {n}; give from 1 to {N_MAX:,} respondents", field="n")
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
    goals = [_goal(widest, width)]
    audited_by_some = published.protected is not None and published.share_answering(
        audited(published)
    )
    if audited_by_some:
        goals.append({"kind": "audit", "subject": "SPD", "value": None})
    planned = plans.plan(draft, goals, {}, n=n)
    told = planned["goals"]
    audit = None
    if published.protected is not None:
        smallest = told[1]["sentence"] if audited_by_some else None
        audit = _audit(published, published.protected.attribute, n, smallest)
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


def _goal(question: QuestionPrecision, width: float) -> JsonMembers:
    """Return the goal that a question's intervals are no wider; of a number its mean's."""
    if question["mean_width"] is None:
        return {"kind": "width", "subject": question["name"], "value": width}
    span = question["mean_width"] / question["width"]
    return {"kind": "mean", "subject": question["name"], "value": width * span}


def _audit(published: Published, attribute: str, n: int, smallest: str | None) -> ExpectedAudit:
    """Return what an audit will find; in words why there is none, where nobody answers for it."""
    assumed, powers, sentence = AuditAssumptions(), {}, smallest
    if sentence is None:
        try:
            require_answered(published, audited(published))
        except InvalidParameter as error:
            sentence = f"No audit: {error}."
    else:
        powers = dict(audit_powers(published, n, assumed))
    return {
        "attribute": attribute,
        "gap": assumed.gap,
        "powers": powers,
        "sentence": sentence or "",
    }
