"""Requests for reports of a survey's results."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Name, Strict
from hushpoll_server.http.bodies import body_of
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.jobs.files import ReportChoices


class ReportQuery(Strict):
    """What a report shows, and the form of its file."""

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

    trend: bool = Field(
        False,
        description="Whether questions are shown beside earlier versions that ask them with the "
        "same answers.",
    )

    results: str = Field(
        "",
        max_length=4_000,
        description="What else is shown, with commas between: each as the name of its route and, "
        "after a question mark, its parameters as an address has them, such as "
        "`independence?a=age&b=gender`. A comma within is written `%2C`. A statistic that "
        "compares two versions is in no report.",
    )

    regressions: str = Field(
        "",
        max_length=400,
        description="Ids of kept regressions, with commas between them; `GET .../regressions` "
        "lists them.",
    )

    language: Literal["en", "de", "fr", "es"] = Field(
        "en",
        description="Of its words. Other results and regressions have words in `en` alone.",
    )

    format: Literal["html", "pdf", "bundle"] = Field(
        "html",
        description="`html` and `pdf` are one file to read and to print. `bundle` is a ZIP with "
        "the manifest, the counts, figures and tables, from which `hushpoll report --from` makes "
        "the same report.",
    )

    def asked(self) -> dict[str, object]:
        """Return the choices as ``Choices.of`` takes them."""
        return {
            "attributes": _words(self.attributes, ","),
            "cross_tables": [_words(pair, ":") for pair in _words(self.cross, ",")],
            "estimator": self.estimator,
            "confidence": self.confidence,
            "fairness": self.fairness,
            "trend": self.trend,
            "results": _words(self.results, ","),
            "regressions": _words(self.regressions, ","),
            "language": self.language,
        }


def _words(text: str, separator: str) -> list[str]:
    return [word.strip() for word in text.split(separator)] if text else []


class PublicationChoices(body_of(ReportChoices)):  # type: ignore[misc]  # made while running
    """What is published, and whether of a survey that still runs."""

    so_far: bool = Field(
        False,
        strict=True,
        description="Whether a version that still runs may be published: its randomised questions "
        "alone.",
    )


class PublicResultsAnswer(Answer):
    """Results that were published to everybody."""

    survey: str = Name
    version: int
    address: str = Field(description="Path of the public page on this server.")
    published_at: str = Field(description="UTC.")
    published_by: str = Field(description="As the action log names who has published.")
    taken_back_at: str | None = Field(description="UTC; None: the results are public.")
    attributes: list[str] = Field(description="Questions that are shown.")
    cross_tables: list[list[str]] = Field(description="Pairs of attributes.")
    estimator: str
    confidence: float
    fairness: bool = Field(description="Whether finished audits were shown.")
    trend: bool = Field(False, description="Whether earlier versions were shown beside questions.")


class PublishedResultsAnswer(PublicResultsAnswer):
    """Results that have just been published."""

    warnings: list[str] = Field(
        description="Tables with a group of fewer than 10 reports in clear, each in a sentence."
    )


class PublicResultsList(Answer):
    """The publications of a version, one that stands before those taken back."""

    publications: list[PublicResultsAnswer]
