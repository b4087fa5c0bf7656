"""What a result is about: a release of a survey version, or a file of its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hushpoll_shared.estimators import UNBIASED


@dataclass(frozen=True, kw_only=True)
class OfRelease:
    """The survey version, and the release of it, that a server's result is about."""

    survey: str
    version: int
    digest: str
    pending: int | None
    release: Literal["daily", "weekly", "end", "immediate"]
    released_at: str | None
    next_release: str | None


@dataclass(frozen=True, kw_only=True)
class OfFile:
    """The survey version, and the file of records, that a result is about."""

    survey: str
    version: int
    digest: str
    inputs: Mapping[str, str]


def heading(answer: Mapping[str, object]) -> str:
    """Return the line that says which reports an answer is about."""
    estimator = answer.get("estimator", UNBIASED)
    n = answer.get("n")
    reports = f"{n:,}" if isinstance(n, int) else n
    return (
        f"{answer.get('survey')} version {answer.get('version')}, {reports} reports"
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


def options_sentence(options: Mapping[str, str]) -> str:
    """Return what the options of select-alls say by whose names a result is about."""
    words = (f"{name} is the option “{text}”" for name, text in options.items())
    return f"{'; '.join(words)}."
