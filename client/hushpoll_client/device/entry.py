"""One line of a ledger, as its respondent may read it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from hushpoll_protocols import format_epsilon

if TYPE_CHECKING:
    from hushpoll_client.respondent.report import Report

State = Literal["waiting", "accepted", "refused", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One answered version of a survey.

    Attributes
    ----------
    digest : str
        Of the published survey.
    survey_digest : str
        SHA-256 of the survey's name.
    epsilon : Decimal
        What answering was charged.
    state : {"waiting", "accepted", "refused", "withdrawn"}
        ``refused`` by the server, for the reason of that name.
    survey, version, server, reason : str, int or None
        None once withdrawn; `reason` also where nothing was refused.
    id : str or None
        Number of the report, in base64url: by it the server refuses a repeat. None once withdrawn.
    report : Report or None
        What is to be sent, or was refused; None once the server has taken it, or once withdrawn.
    """

    digest: str
    survey_digest: str
    epsilon: Decimal
    state: State
    survey: str | None
    version: int | None
    server: str | None
    id: str | None
    report: Report | None
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON, the report as the server takes it."""
        return {
            "digest": self.digest,
            "survey_digest": self.survey_digest,
            "epsilon": format_epsilon(self.epsilon),
            "state": self.state,
            "survey": self.survey,
            "version": self.version,
            "server": self.server,
            "reason": self.reason,
            "id": self.id,
            "report": None if self.report is None else json.loads(self.report.to_json()),
        }
