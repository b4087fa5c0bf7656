"""The kinds of background jobs: scope, words and table of each, and which reports are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class DeclaredJob:
    """What everybody knows of a kind of job; the server's ``jobs.kinds`` knows how it is done."""

    scope: str
    """What the API token that asks for it needs."""
    words: str
    """What it makes, as the action log says it."""
    table: str | None = None
    """The name in ``hushpoll_shared.statistic_tables`` of the table that its result is also given
    as."""
    rows: str | None = None
    """The member of that result that has the table's rows."""


JOB_KINDS: Final[Mapping[str, DeclaredJob]] = MappingProxyType(
    {
        "seal": DeclaredJob("publish", "a seal of waiting reports"),
        "export": DeclaredJob("read", "an export of records"),
        "train": DeclaredJob("train", "a model"),
        "tune": DeclaredJob("train", "a search for a model's parameters"),
        "fairness": DeclaredJob("train", "a fairness audit", table="fairness", rows="metrics"),
        "shape": DeclaredJob(
            "read", "a test of the reports' shape", table="shape", rows="attributes"
        ),
        "table": DeclaredJob(
            "read", "a table of several questions", table="joint-table", rows="cells"
        ),
        "weight": DeclaredJob(
            "read", "weighted shares", table="weighted-shares", rows="attributes"
        ),
        "dependencies": DeclaredJob(
            "read", "tests of all pairs of questions", table="dependencies", rows="pairs"
        ),
        "regress": DeclaredJob("read", "a regression", table="regression", rows="coefficients"),
        "report": DeclaredJob("read", "a report of results"),
        "invite": DeclaredJob("publish", "invitations by mail"),
        "remind": DeclaredJob("publish", "reminders by mail"),
    }
)

MOST_FIGURES_AT_ONCE: Final = 24
"""Charts of a report that a request waits for; each takes a tenth of a second to draw."""

MOST_PICTURES_AT_ONCE: Final = 48
"""Pictures in the files of such a report; each option of a select-all has one."""
