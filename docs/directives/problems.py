"""The table of refusals: every problem that the server answers with, from the table in the code."""

from __future__ import annotations

from directives.markdown import table
from hushpoll_shared.wire.problems import PROBLEMS


def text() -> str:
    """Return the table of all problems, in the order of their status."""
    problems = sorted(PROBLEMS.values(), key=lambda problem: (problem.status, problem.code))
    return table(
        ("status", "code", "what happened", "what helps", "send again?"),
        (
            (
                problem.status,
                f"`{problem.code}`",
                problem.title,
                problem.remedy,
                "yes" if problem.retryable else "no",
            )
            for problem in problems
        ),
    )
