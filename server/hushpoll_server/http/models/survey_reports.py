"""Requests for reports of a survey's results."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from hushpoll_server.http.models.common import Strict
from hushpoll_shared.estimators import CONFIDENCES


class ReportChoices(Strict):
    """What a report shows."""

    attributes: str = Field(
        "",
        max_length=2_000,
        description="Names of attributes, with commas between them; by default all of them.",
    )
    cross: str = Field(
        "",
        max_length=1_000,
        description="Cross-tables: pairs of attributes, the rows' first, with a colon within a "
        "pair and commas between pairs.",
    )
    estimator: Literal["unbiased", "projected", "shrunk"] = Field(
        "unbiased", description="All but unbiased have no interval."
    )
    confidence: float = Field(
        0.95, ge=CONFIDENCES[0], le=CONFIDENCES[1], description="Of the intervals."
    )
    fairness: bool = Field(True, description="Whether finished audits of fairness are shown.")

    def asked(self) -> dict[str, Any]:
        """Return the choices as ``Choices.of`` takes them."""
        return {
            "attributes": _words(self.attributes, ","),
            "cross_tables": [_words(pair, ":") for pair in _words(self.cross, ",")],
            "estimator": self.estimator,
            "confidence": self.confidence,
            "fairness": self.fairness,
        }


class ReportQuery(ReportChoices):
    """What a report shows, and the form of its file."""

    format: Literal["html", "pdf", "bundle"] = Field(
        "html",
        description="`html` and `pdf` are one file to read and to print. `bundle` is a ZIP with "
        "the manifest, the counts, figures and tables, from which `hushpoll report --from` makes "
        "the same report.",
    )


def _words(text: str, separator: str) -> list[str]:
    return [word.strip() for word in text.split(separator)] if text else []
