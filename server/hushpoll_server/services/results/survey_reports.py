"""Reports of a survey version's last release: what they are made from, and their files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.answering import answering, require_answered
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.grouped_source import OfGroups
from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.regression.terms.formulas import read_formula
from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.charts.drawing import Drawing, NotDrawn
from hushpoll_server.errors import Refused
from hushpoll_server.services.results.analysis import Analysis, require_few_rare_pairs
from hushpoll_server.services.results.jobs import Jobs
from hushpoll_server.services.results.kept_results import why_withheld
from hushpoll_server.services.results.releases import Release, Releases
from hushpoll_server.services.results.waves import waves_of
from hushpoll_server.services.surveys.surveys import State, SurveyService, timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import DONE
from hushpoll_server.survey_reports.content.small_group_warnings import warnings_of
from hushpoll_server.survey_reports.content.waves import Wave
from hushpoll_server.survey_reports.files.pdf import NotPrinted, require_pdf
from hushpoll_server.survey_reports.files.report import FORMS, Report
from hushpoll_server.survey_reports.sources.basis import Basis
from hushpoll_server.survey_reports.sources.choices import MOST_CELLS, Choices
from hushpoll_server.survey_reports.sources.report_counts import Needed
from hushpoll_shared.estimators import ESTIMATOR_TERMS
from hushpoll_shared.jobs.files import MOST_FIGURES_AT_ONCE, MOST_PICTURES_AT_ONCE
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.spelling.canonical import canonical_json, parse_json
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published

AUDITS: Final = "fairness"
MOST_AUDITS: Final = 3
REGRESSIONS: Final = "regress"
RETRY_AFTER_SECONDS: Final = 5


@dataclass(frozen=True)
class ReportFile:
    """A report as a file."""

    name: str
    media_type: str
    body: bytes


class SurveyReports:
    """Makes reports of versions; what they show is what analysts may learn now."""

    def __init__(
        self,
        *,
        surveys: SurveyService,
        releases: Releases,
        analysis: Analysis,
        jobs: Jobs,
        drawing: Drawing,
    ) -> None:
        self._surveys = surveys
        self._releases = releases
        self._analysis = analysis
        self._jobs = jobs
        self._drawing = drawing

    def choices(self, row: VersionRow, *, may_export: bool, **asked: Any) -> Choices:
        """Return what a report shows; raises as ``Choices.of``, and for what may not be seen."""
        groups = self._analysis.seen(row, may_export=may_export)
        if groups is None:
            return Choices.of(self._surveys.published(row), **asked)
        for name in asked.get("attributes", ()):
            groups.require(name, field="attributes")
        for name in (name for names in asked.get("cross_tables", ()) for name in names):
            groups.require(name, field="cross")
        choices = Choices.of(groups.shown, **asked)
        for query in choices.results:
            for name in query.names():
                groups.require(name, field="results")
        return choices

    def report(self, row: VersionRow, choices: Choices, *, may_export: bool) -> Report:
        """Return the report of a version's last release.

        Without `may_export`, as of public results, small groups in clear are merged in it.
        """
        return Report(self._basis(row, choices, may_export=may_export), self._draw)

    def warnings(self, row: VersionRow, choices: Choices) -> list[str]:
        """Return what an editor should know before a report is public; raises as `report`."""
        return warnings_of(self._basis(row, replace(choices, fairness=False), may_export=False))

    def require_short(self, row: VersionRow, choices: Choices) -> None:
        """Refuse a report for which a request does not wait.

        It has at most `MOST_FIGURES_AT_ONCE` charts and `MOST_PICTURES_AT_ONCE` pictures.
        """
        figures = choices.figures(self._surveys.published(row))
        if choices.pictures > MOST_PICTURES_AT_ONCE:
            raise InvalidParameter(
                f"the report has {choices.pictures} pictures, one for each question and option, "
                f"and a request waits for at most {MOST_PICTURES_AT_ONCE}; ask for the job report, "
                "or for fewer questions and cross-tables",
                field="attributes",
            )
        if figures > MOST_FIGURES_AT_ONCE:
            raise InvalidParameter(
                f"the report has {figures} charts, and a request waits for at most "
                f"{MOST_FIGURES_AT_ONCE}; ask for the job report, or for fewer questions and "
                "cross-tables",
                field="attributes",
            )

    def file(
        self,
        row: VersionRow,
        choices: Choices,
        form: str,
        *,
        may_export: bool,
        at_once: bool = True,
    ) -> ReportFile:
        """Return a report as a file of one of ``FORMS``.

        Without `may_export` small groups are merged; with `at_once` it is what a request waits for.
        """
        if at_once:
            self.require_short(row, choices)
        self.require_form(form)
        report = self.report(row, choices, may_export=may_export)
        kind = FORMS[form]
        try:
            body = kind.make(report)
        except MissingExtra as error:
            raise Refused("missing-extra", str(error)) from error
        except (NotDrawn, NotPrinted) as error:
            raise Refused("unavailable", str(error), retry_after=RETRY_AFTER_SECONDS) from error
        return ReportFile(f"{row.name}-{row.version}.{kind.ending}", kind.media_type, body)

    def require_form(self, form: str) -> None:
        """Refuse a form of ``FORMS`` that this server cannot make: ``missing-extra``."""
        if form == "pdf":
            try:
                require_pdf()
            except MissingExtra as error:
                raise Refused(
                    "missing-extra", f"{error}, on the web server as well as on its workers"
                ) from error

    def _draw(self, specification: Mapping[str, object]) -> bytes:
        return self._drawing.draw(specification, "svg")

    def _basis(self, row: VersionRow, choices: Choices, *, may_export: bool) -> Basis:
        source = self._analysis.source(row, may_export=may_export)
        groups = source.groups if isinstance(source, OfGroups) else None
        shown = None if choices.results else choices.attributes
        named = {*choices.attributes, *(name for pair in choices.cross_tables for name in pair)}
        everything = choices.results or named >= {one.name for one in source.published.attributes}
        counts = source.questions(shown)
        needed = Needed(
            source.published,
            counts,
            partial(self._joint, row, source.release, may_export),
            source.pairs,
        )
        for names in choices.cross_tables:
            require_answered(source.published, names, field="cross")
            needed.pair(*names)
        for query in choices.results:
            if isinstance(query, Dependencies):
                require_few_rare_pairs(query, needed)
            result_of(query, needed)
        cells = sum(joint.both.size for joint in needed.joint.values())
        if cells > MOST_CELLS:
            raise InvalidParameter(
                f"results need the counts of {len(needed.joint)} pairs of questions with {cells} "
                f"cells; a report has at most {MOST_CELLS}: choose fewer",
                field="results",
            )
        return Basis(
            published=self._surveys.published(row),
            groups=groups if groups is None or everything else groups.only(named),
            choices=choices,
            n=counts.n,
            support={
                field.name: counts.support[field.name]
                for field in fields_of(source.published, shown)
            },
            joint=needed.joint,
            answered={
                field.name: counts.answered[field.name]
                for field in fields_of(source.published, shown)
                if field.mask is not None
            },
            facts=self._facts(row, choices, groups, may_export=may_export),
        )

    def _joint(
        self, row: VersionRow, release: Release, may_export: bool, a: str, b: str
    ) -> JointCounts:
        source = self._analysis.source(row, may_export=may_export)
        later, counts = source.release, answering(source, [a, b]).pair(a, b)
        if later.reports != release.reports or later.released_at != release.released_at:
            raise Refused(
                "unavailable",
                "a release was made meanwhile; ask again",
                retry_after=RETRY_AFTER_SECONDS,
            )
        return JointCounts(counts.n, counts.first, counts.second, np.ascontiguousarray(counts.both))

    def _facts(
        self, row: VersionRow, choices: Choices, groups: ClearGroups | None, *, may_export: bool
    ) -> JsonMembers:
        account = self._releases.account(row)
        closes = self._surveys.closes_at(row)
        facts: dict[str, object] = {
            "state": self._surveys.state(row).value,
            "release": row.release,
            "released_at": account["released_at"],
            "opens": None if row.opens is None else timestamp(row.opens),
            "closes": None if closes is None else timestamp(closes),
            "duplicate": account["duplicate"],
            "rejected": dict(account["rejected"]),
            "audits": self._audits(row, choices, groups) if choices.fairness else [],
            "made_with": {
                "hushpoll": version("hushpoll"),
                "numpy": version("numpy"),
                "vl-convert-python": version("vl-convert-python"),
            },
        }
        if choices.regressions:
            facts["regressions"] = self._regressions(row, choices, groups)
        if choices.trend:
            facts["waves"] = self._waves(row, choices, may_export=may_export)
        # As a bundle's reader has it, so that the same page is made of both.
        read: JsonMembers = parse_json(canonical_json(facts))
        return read

    def _waves(self, row: VersionRow, choices: Choices, *, may_export: bool) -> list[Wave]:
        """Return what earlier versions told; nothing of an estimator without intervals.

        Answers in clear are those of closed versions alone: of one that runs, two reports would
        tell the answers that came between them.
        """
        if ESTIMATOR_TERMS[choices.estimator].no_interval is not None:
            return []
        surveys, analysis = self._surveys, self._analysis

        def seen(wave: VersionRow) -> Published:
            groups = analysis.seen(wave, may_export=may_export)
            return surveys.published(wave) if groups is None else groups.shown

        return waves_of(
            row,
            [one for one in surveys.all() if one.name == row.name and one.version < row.version],
            choices.attributes,
            confidence=choices.confidence,
            seen=seen,
            over=lambda wave: surveys.state(wave) is State.CLOSED,
            ask=partial(analysis.result, may_export=may_export),
        )

    def _regressions(
        self, row: VersionRow, choices: Choices, groups: ClearGroups | None
    ) -> list[JsonMembers]:
        """Return kept regressions that were chosen, in the order of their ids as given.

        Refused is one that is not done, and one of groups in clear that the reader may not see.
        """
        jobs = {job.id: job for job in self._jobs.newest_of(row, REGRESSIONS) if job.state == DONE}
        found = []
        for one in choices.regressions:
            if one not in jobs:
                raise InvalidParameter(
                    f"regressions has {one}, which is no finished regression of version "
                    f"{row.version} of {row.name}; take one from the list of regressions",
                    field="regressions",
                )
            result = json.loads(b"".join(self._jobs.result(jobs[one])))
            names = read_formula(result["formula"]).variables
            complete = result["n"] == self._releases.reports(row)
            withheld = groups and why_withheld(groups, result, names, complete=complete)
            if withheld:
                raise Refused("forbidden", withheld)
            found.append(result)
        return found

    def _audits(
        self, row: VersionRow, choices: Choices, groups: ClearGroups | None
    ) -> list[JsonMembers]:
        """Return the newest finished audits of questions that are shown, by their parameters.

        An audit has shares of the target's answers within the groups of another question: it is
        shown only where both are, and its groups may be seen.
        """
        reports = self._releases.reports(row)
        target = self._surveys.published(row).target
        audits: dict[str, JsonMembers] = {}
        for job in self._jobs.newest_of(row, AUDITS):
            if job.state == DONE and job.parameters not in audits:
                result = json.loads(b"".join(self._jobs.result(job)))
                concerned = {result["protected"]["attribute"], target.name if target else None}
                complete = result["n"] == reports
                withheld = groups and groups.why_not_kept(concerned, complete=complete)
                if concerned <= set(choices.attributes) and not withheld:
                    audits[job.parameters] = {
                        "parameters": json.loads(job.parameters),
                        "result": result,
                    }
            if len(audits) == MOST_AUDITS:
                break
        return list(audits.values())
