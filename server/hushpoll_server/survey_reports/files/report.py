"""A report put together: its numbers, its figures, and the files that it comes as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hushpoll_server.survey_reports.content.report_results import results_of
from hushpoll_server.survey_reports.files.bundle import bundle_of
from hushpoll_server.survey_reports.files.pdf import LONGEST_SECONDS, pdf_of
from hushpoll_server.survey_reports.markup.figures import Draw, Figure, figures_of
from hushpoll_server.survey_reports.markup.page import page_of
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_shared.spelling.json_values import JsonMembers


@dataclass(frozen=True)
class Report:
    """A report of one survey version, a function of its basis and of what draws its charts."""

    basis: Basis
    draw: Draw

    @cached_property
    def results(self) -> JsonMembers:
        """Every number; see `results_of`."""
        return results_of(self.basis)

    @cached_property
    def figures(self) -> list[Figure]:
        """The charts and the tables behind them."""
        return figures_of(self.basis, self.results, self.draw)

    @cached_property
    def html(self) -> bytes:
        """One file, in UTF-8."""
        return page_of(self.basis, self.results, self.figures).encode()

    @cached_property
    def bundle(self) -> bytes:
        """A ZIP from which the same report is made; see ``reports.bundle``."""
        return bundle_of(self.basis, self.results, self.figures, self.html)

    def told_in(self, language: str) -> Report:
        """Return the same in another language, with the numbers that this one has."""
        if language == self.basis.choices.language:
            return self
        choices = replace(self.basis.choices, language=language)
        other = Report(replace(self.basis, choices=choices), self.draw)
        # As a cached property keeps it: numbers are the same in every language.
        vars(other)["results"] = self.results
        return other

    def pdf(self, *, seconds: float = LONGEST_SECONDS) -> bytes:
        """Return the report as PDF; raises as ``pdf_of``."""
        return pdf_of(
            page_of(self.basis, self.results, self.figures, for_print=True), seconds=seconds
        )


@dataclass(frozen=True)
class Form:
    """A kind of file that a report comes as."""

    ending: str
    media_type: str
    make: Callable[[Report], bytes]


FORMS: Final[Mapping[str, Form]] = {
    "html": Form("html", "text/html", lambda report: report.html),
    "pdf": Form("pdf", "application/pdf", lambda report: report.pdf()),
    "bundle": Form("zip", "application/zip", lambda report: report.bundle),
}
"""By the name that a request gives."""
