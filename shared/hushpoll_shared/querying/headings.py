"""The line that says which reports a result is about."""

from __future__ import annotations

from collections.abc import Mapping

from hushpoll_shared.estimators import UNBIASED


def heading(answer: Mapping[str, object]) -> str:
    """Return the line that says which reports an answer is about."""
    estimator = answer.get("estimator", UNBIASED)
    return (
        f"{answer.get('survey')} version {answer.get('version')}, {answer.get('n')} reports"
        + (f", {answer['pending']} more pending" if answer.get("pending") else "")
        + _released(answer)
        + (f", estimator {estimator}" if estimator != UNBIASED else "")
    )


def _released(answer: Mapping[str, object]) -> str:
    """Say which release it is, of a survey that releases on a schedule."""
    if not answer.get("released_at"):
        return ""
    following = answer.get("next_release")
    return f", released at {answer['released_at']}" + (
        f"; the next {following}" if following else ""
    )
