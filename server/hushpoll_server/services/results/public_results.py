"""Results of a survey for everybody: published, shown and taken back.

What is published is frozen: the page and its bundle are kept as they were made. So a later release
of this program, a deleted record or a changed clock makes no second set of numbers, whose
differences would tell more than either.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import secrets
import threading
from dataclasses import dataclass
from typing import Final, cast

from hushpoll_server.charts.drawing import NotDrawn
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.results.survey_reports import RETRY_AFTER_SECONDS, SurveyReports
from hushpoll_server.services.surveys.surveys import State, SurveyService, timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.editing.publications import PublicationRow, PublicationStore
from hushpoll_server.survey_reports.content.small_group_warnings import warnings_of
from hushpoll_server.survey_reports.files.report import Report
from hushpoll_server.survey_reports.markup.page import page_of
from hushpoll_server.survey_reports.sources.choices import Choices
from hushpoll_server.translations.speech import ENGLISH, LANGUAGES
from hushpoll_shared.wire.documents.results import PublicResultsDocument, PublishedResultsDocument

log = get_logger(__name__)

MOST_BYTES: Final = 16 * 2**20
"""A page has at most so many, and so has a bundle."""

KEPT: Final = 8
"""Publications, each in one language, whose files are kept in memory."""

BUNDLE: Final = "bundle.zip"


@dataclass(frozen=True)
class Snapshot:
    """What one publication shows: a page, as it is and by gzip, and the ZIP behind it."""

    page: bytes
    compressed: bytes
    bundle: bytes
    etag: str
    """Names the publication's content."""
    language: str = ENGLISH
    """Of its words."""


class PublicResults:
    """Publishes results of surveys, and takes them back."""

    def __init__(
        self, store: PublicationStore, *, surveys: SurveyService, reports: SurveyReports
    ) -> None:
        self._store = store
        self._surveys = surveys
        self._reports = reports
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Snapshot] = {}

    def require_over(self, row: VersionRow) -> None:
        """Refuse a version that is not over, or not all of which is released yet."""
        state = self._surveys.state(row)
        if state is not State.CLOSED:
            raise Refused(
                "survey-not-over",
                f"{row.name} version {row.version} is {state.value}; its results can be published "
                "once it is closed and its grace period is over; until then, publish randomised "
                "questions as results so far (so_far, --so-far on the command line)",
            )
        if not row.ended:
            raise Refused(
                "survey-not-over",
                f"the last reports of {row.name} version {row.version} are not released yet; "
                "publish in some seconds",
            )

    def require_running(self, row: VersionRow, choices: Choices) -> None:
        """Refuse results so far that show more of a respondent than a randomised answer.

        Two publications of a survey that runs differ by the reports between them. What was
        randomised stays randomised; answers in clear would be told of few people, or of one. A
        version that nobody can answer yet is refused, too.
        """
        state = self._surveys.state(row)
        if state not in (State.OPEN, State.CLOSING):
            raise Refused(
                "survey-not-over",
                f"{row.name} version {row.version} is {state.value}; results so far are those of a "
                "survey that runs: publish them once people can answer it",
            )
        shown = {*choices.attributes, *(name for pair in choices.cross_tables for name in pair)}
        shown |= {name for query in choices.results for name in query.names()}
        published = self._surveys.published(row)
        clear = [one for one in sorted(shown) if not published.attribute(one).perturbed]
        if clear or any(not query.names() for query in choices.results):
            named = ", ".join(clear) or "another result is of all questions and some of them"
            verb = "are" if len(clear) > 1 or not clear else "is"
            raise Refused(
                "survey-not-over",
                f"{named} {verb} sent in clear, and {row.name} version {row.version} still runs: "
                "two publications would tell the answers of those who came between them; leave "
                "this out, or publish once the survey is closed",
                field="attribute",
            )

    def require_publishable(self, row: VersionRow, choices: Choices, *, so_far: bool) -> None:
        """Refuse results that may not be published now; see `require_over` and `require_running`.

        With `so_far` they may be those of a survey that still runs.
        """
        if so_far and self._surveys.state(row) is not State.CLOSED:
            self.require_running(row, choices)
        else:
            self.require_over(row)

    def publish(
        self, row: VersionRow, choices: Choices, *, actor: str, so_far: bool = False
    ) -> PublishedResultsDocument:
        """Make the results of a version public; an earlier publication gives way.

        Return it as `history` describes it, with ``warnings``: see ``SurveyReports.warnings``. With
        `so_far` they may be those of a survey that still runs: of randomised answers alone. More
        charts than a request waits for, and larger files, are refused.
        """
        self.require_publishable(row, choices, so_far=so_far)
        self._reports.require_short(row, choices)
        report = self._reports.report(row, choices, may_export=False)
        files = {}
        try:
            for language in choices.languages:
                files[language] = _files(report.told_in(language), row.version)
        except NotDrawn as error:
            raise Refused("unavailable", str(error), retry_after=RETRY_AFTER_SECONDS) from error
        publication = PublicationRow(
            id=secrets.token_hex(16),
            version_id=row.id,
            choices=json.dumps(choices.to_dict(), sort_keys=True),
            published_at=self._surveys.now(),
            published_by=actor,
            taken_back_at=None,
        )
        self._store.add(publication, files)
        log.info("results-published", survey=row.name, version=row.version)
        return {**self._describe(publication), "warnings": warnings_of(report.basis)}

    def take_back(self, row: VersionRow) -> None:
        """End the publication of a version; its files are deleted.

        One that there is not is refused.
        """
        if not self._store.take_back(row.id, self._surveys.now()):
            raise Refused(
                "not-found",
                f"no results of {row.name} version {row.version} are published; publish them first",
            )
        log.info("results-taken-back", survey=row.name, version=row.version)

    def history(self, row: VersionRow) -> list[PublicResultsDocument]:
        """Return the publications of a version, one that stands before those taken back."""
        return [self._describe(publication) for publication in self._store.of_version(row.id)]

    def newest(self, name: str) -> VersionRow:
        """Return the highest version of a survey whose results are public; raises as `shown`."""
        rows = [row for row in self._surveys.all() if row.name == name]
        refusal: Refused | None = None
        for row in sorted(rows, key=lambda row: -row.version):
            try:
                self._standing(row)
            except Refused as error:
                gone = error.code == "results-taken-back"
                refusal = error if gone or refusal is None else refusal
            else:
                return row
        raise refusal or _nothing()

    def languages(self, name: str, version: int) -> tuple[str, ...]:
        """Return the languages that a publication is told in, its own first; raises as `shown`."""
        publication = self._of(name, version)
        own = json.loads(publication.choices).get("language", ENGLISH)
        told = self._store.languages(publication.id)
        return (own, *(one for one in LANGUAGES if one in told and one != own))

    def shown(self, name: str, version: int, language: str | None = None) -> Snapshot:
        """Return what everybody may see of a version, in one of `languages` or in its own.

        Refused is one that was not published, or whose results were taken back.
        """
        publication = self._of(name, version)
        own = json.loads(publication.choices).get("language", ENGLISH)
        return self._snapshot(publication, language or own, own)

    def _of(self, name: str, version: int) -> PublicationRow:
        for row in self._surveys.all():
            if (row.name, row.version) == (name, version):
                return self._standing(row)
        raise _nothing()

    def _standing(self, row: VersionRow) -> PublicationRow:
        publications = self._store.of_version(row.id)
        if not publications:
            raise _nothing()
        if publications[0].taken_back_at is not None:
            raise Refused(
                "results-taken-back", "these results were published and have been taken back"
            )
        return publications[0]

    def _snapshot(self, publication: PublicationRow, language: str, own: str) -> Snapshot:
        key = publication.id, language
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        files = self._store.files(publication.id, None if language == own else language)
        if files is None:  # it was taken back a moment ago
            raise Refused(
                "results-taken-back", "these results were published and have been taken back"
            )
        page, bundle = files
        etag = hashlib.sha256(page + bundle).hexdigest()
        snapshot = Snapshot(page, gzip.compress(page, mtime=0), bundle, etag, language)
        with self._lock:
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = snapshot
        return snapshot

    def _describe(self, publication: PublicationRow) -> PublicResultsDocument:
        row = self._surveys.by_id(publication.version_id)
        back = publication.taken_back_at
        described = {
            "survey": row.name,
            "version": row.version,
            "address": f"/results/{row.name}/versions/{row.version}",
            "published_at": timestamp(publication.published_at),
            "published_by": publication.published_by,
            "taken_back_at": None if back is None else timestamp(back),
            "trend": False,
            **json.loads(publication.choices),
        }
        return cast("PublicResultsDocument", described)


def _files(report: Report, version: int) -> tuple[bytes, bytes]:
    """Return the page and the bundle of a publication in one language; refuse too large ones."""
    page = page_of(
        report.basis,
        report.results,
        report.figures,
        beside=f"{version}/",
        bundle=BUNDLE,
        languages=[one for one in LANGUAGES if one in report.basis.choices.languages],
    ).encode()
    bundle = report.bundle
    if max(len(page), len(bundle)) > MOST_BYTES:
        raise Refused(
            "payload-too-large",
            f"the page has {len(page)} bytes and its bundle {len(bundle)}, of at most "
            f"{MOST_BYTES}; choose fewer questions or cross-tables",
        )
    return page, bundle


def _nothing() -> Refused:
    return Refused("not-found", "no results are published at this address; the link may be wrong")
