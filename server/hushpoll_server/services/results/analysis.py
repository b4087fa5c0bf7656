"""Estimates and cross-tables, from the counts that sealing makes; none below the minimum batch.

They are about the last release, or about all that is sealed where a survey releases immediately. So
two answers differ by no report or by at least a minimum batch, except for the rest of a survey that
has ended.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from hushpoll_analysis.estimates.cross_table import CrossTable, joint_shares
from hushpoll_analysis.multiplicity.dependencies import check_pairs, rare_pairs
from hushpoll_analysis.query_results import in_domain, result_of, result_within
from hushpoll_analysis.records.answering import answering
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.grouped_source import OfGroups
from hushpoll_analysis.records.hidden_groups import SMALLEST, ClearGroups
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import Source
from hushpoll_protocols import InvalidParameter, SecureBits
from hushpoll_protocols.estimation.likelihood import NotConverged
from hushpoll_protocols.registry import PROTOCOLS
from hushpoll_server.errors import Refused
from hushpoll_server.services.results.release_source import GroupedRelease, ReleaseSource
from hushpoll_server.services.results.releases import Release, Releases
from hushpoll_server.services.surveys.surveys import SurveyService, timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.counts import Aggregate, Aggregator
from hushpoll_server.store.segment_store import SegmentStore
from hushpoll_server.store.segments import Rows
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.qualifying.subject import OfRelease
from hushpoll_shared.queries.cross_tables import CrossTable as JointShares
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import EstimatedShares, Estimates
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tidying import TidyResults, tidy_results
from hushpoll_shared.wire.documents.surveys import ReleaseHeading

R = TypeVar("R", bound=Result)

# Questions that may wait for the one being answered. Each holds a thread of the web process.
WAITING_QUESTIONS: Final = 4
RETRY_AFTER_SECONDS: Final = 5
# Cross-tables of so many cells at most are kept, about 32 bytes for each cell.
KEPT_TABLES: Final = 16
LARGEST_KEPT: Final = 1 << 16


MOST_RARE_PAIRS: Final = 10
"""Pairs with rare answers that are tested for one answer: each takes up to a second."""


def require_few_rare_pairs(query: Dependencies, source: Source) -> None:
    """Refuse tests of more than `MOST_RARE_PAIRS` with rare answers: their tables are drawn."""
    but = query.where or ()
    check_pairs(source.published, query.rate, but)
    rare = rare_pairs(source.published, source.pairs(), query.rate, but)
    if rare > MOST_RARE_PAIRS:
        raise InvalidParameter(
            f"{rare} pairs of attributes have rare answers, of which tables are drawn, and more "
            f"than {MOST_RARE_PAIRS} take too long to wait for: ask for the job dependencies "
            "(hushpoll relate all --job), or test single pairs by independence",
            field="survey",
        )


def counted(published_of: Callable[[int], Published]) -> Aggregator:
    """Return the function by which the store counts records, given each version's manifest."""

    def aggregator(version_id: int, blocks: Iterable[Rows]) -> Aggregate:
        counts = count_pairs(RecordStream.trusted(published_of(version_id), blocks))
        return Aggregate(counts.counts.n, *counts.pack())

    return aggregator


def prepare() -> None:
    """Count one record of every protocol, so that the first seal is as fast as others.

    It would otherwise load numba and its machine code while requests wait for it.
    """
    sensitive = [
        {"name": name.lower(), "role": "sensitive", "protocol": name, "range": [1, 3]}
        for name in PROTOCOLS
    ]
    published = Manifest.from_dict(
        {
            "name": "prepare",
            "version": 1,
            "title": "prepare",
            "epsilon": str(len(PROTOCOLS)),
            "attributes": [*sensitive, {"name": "clear", "role": "plain", "range": [1, 3]}],
        }
    ).resolve()
    answers = {attribute.name: "2" for attribute in published.attributes}
    codes = published.layout.code_answers(answers)
    record = published.layout.encode(codes, SecureBits())
    count_pairs(Records(published, np.frombuffer(record, dtype=np.uint8)[None]))


class Analysis:
    """What an analyst can ask of a survey version's records.

    Questions that need the records themselves are worked on one at a time: each takes every core
    and holds blocks of records. A few may wait; more are refused with ``unavailable``, so that
    analysts never keep reports out. Questions that counts answer do not queue.

    Every question says whether it is asked for a person who may export the records. For all others,
    and for public results, groups in clear of fewer than `smallest_group` reports are merged, and
    no attribute in clear is shown before the end of collection: `source` is the one place that
    decides it, so that no statistic knows.
    """

    def __init__(
        self,
        *,
        surveys: SurveyService,
        segments: SegmentStore,
        releases: Releases,
        smallest_group: int = SMALLEST,
    ) -> None:
        self.smallest_group = smallest_group
        self._groups: dict[tuple[int, int], ClearGroups] = {}
        self._surveys = surveys
        self._segments = segments
        self._releases = releases
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(1 + WAITING_QUESTIONS)
        self._tables: dict[tuple[object, ...], CrossTable] = {}
        self._tables_lock = threading.Lock()

    def table(
        self, row: VersionRow, a: str, b: str, *, confidence: float, may_export: bool
    ) -> tuple[OfRelease, CrossTable]:
        """Return the cross-table of two attributes as arrays; raises as `result`.

        The newest tables are kept, as an analyst looks at one as a page, a picture and a file.
        """
        source = self.source(row, may_export=may_export)
        _require_shown(source, {a: "a", b: "b"})
        pair(source.published, a, b)
        counts = answering(source, (a, b)).pair(a, b)
        arrays = (counts.first, counts.second, counts.both)
        seen = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).digest()
        key = (row.id, a, b, confidence, counts.n, seen)
        with self._tables_lock:
            table = self._tables.pop(key, None)
        if table is None:
            table = joint_shares(JointShares(a=a, b=b, confidence=confidence), source)
        if table.frequency.size <= LARGEST_KEPT:
            with self._tables_lock:
                self._tables[key] = table
                while len(self._tables) > KEPT_TABLES:
                    del self._tables[next(iter(self._tables))]
        return self.about(row, source.release), table

    def result(
        self,
        row: VersionRow,
        query: Query[R],
        before: VersionRow | None = None,
        *,
        may_export: bool,
    ) -> R:
        """Return the result of a query about a version, or about it and an earlier one.

        Without `may_export`, small groups in clear are merged in it; it says which.
        """
        source = self.source(row, may_export=may_export)
        asked = query.names() | dict.fromkeys(query.where or (), "where")
        _require_shown(source, asked)
        if before is not None:
            require_two_versions(before, row)
            earlier = self.source(before, may_export=may_export)
            _require_shown(earlier, asked)
            return _explained(result_of(query, source, earlier), source, earlier)
        inside = in_domain(query, source)
        if isinstance(query, Dependencies):
            require_few_rare_pairs(query, inside)
        try:
            result = result_within(query, inside)
        except NotConverged as error:
            raise InvalidParameter(
                f"estimator is 'likelihood': {error}; choose another estimator", field="estimator"
            ) from error
        within = (inside,) if query.where is not None else ()
        result = _explained(result, source, *within)
        return replace(result, about=self.about(row, source.release))

    def tidy(
        self,
        row: VersionRow,
        addresses: Sequence[str],
        require: Callable[[str, int], object],
        *,
        may_export: Callable[..., bool],
    ) -> TidyResults:
        """Return the results of a version's standard queries, or of those named, as one table.

        `addresses` are as :func:`hushpoll_shared.tidying.tidy_results` takes them.
        `require` refuses another version, by survey and number, that the reader may not see;
        `may_export` says it of the version, and of the earlier one or None.
        """

        def ask(query: Query[Any]) -> Result:
            before = None
            if query.compares:
                spelled = query.spelled()
                other = spelled.get("since_survey", row.name)
                version = int(spelled["since_version"])
                require(other, version)
                before = self._surveys.compared(other, version)
            allowed = may_export(row, before)
            found: Result = self.result(row, query, before, may_export=allowed)
            return found

        self.release(row)  # refuses once, not query by query, where there is nothing yet
        published = self._surveys.published(row)
        return tidy_results(published, ask, addresses)

    def shares(self, row: VersionRow, *, may_export: bool) -> EstimatedShares | None:
        """Return the shares of every attribute; None where nothing is released yet."""
        try:
            return self.result(row, Estimates(), may_export=may_export)
        except Refused as error:
            if error.code not in ("not-released", "not-enough-reports"):
                raise
            return None

    def about(self, row: VersionRow, release: Release) -> OfRelease:
        """Return what every result says of its version and release."""
        return OfRelease(**self.heading(row, release))

    def source(self, row: VersionRow, *, may_export: bool) -> ReleaseSource | GroupedRelease:
        """Return the counts of a version's release, as queries ask for them.

        Without `may_export` they are of the groups in clear that may be seen; raises as `groups`.
        """
        whole = ReleaseSource(
            self._surveys.published(row),
            lambda: self.release(row),
            lambda release: self.scanning(row, release),
        )
        if may_export or self.smallest_group <= 1 or not whole.published.clear:
            return whole
        return GroupedRelease(whole, self._groups_of(row, whole))

    def seen(self, row: VersionRow, *, may_export: bool) -> ClearGroups | None:
        """Return what may be seen of a version's attributes in clear; None: all of it.

        Before there is a release, or where records are gone that it takes, no attribute in clear.
        """
        try:
            source = self.source(row, may_export=may_export)
        except Refused:
            return ClearGroups.before_the_end(self._surveys.published(row), self.smallest_group)
        return source.groups if isinstance(source, OfGroups) else None

    def _groups_of(self, row: VersionRow, whole: ReleaseSource) -> ClearGroups:
        """Return the groups in clear that may be seen.

        They are made once, of all reports that will ever be: figures of a group would otherwise
        change from one release to the next by what few respondents sent.
        """
        if not row.ended:
            return ClearGroups.before_the_end(whole.published, self.smallest_group)
        key = row.id, self.smallest_group
        groups = self._groups.get(key)
        if groups is None:
            groups = ClearGroups.of(whole.published, whole.pairs(), self.smallest_group)
            self._groups[key] = groups
        return groups

    def heading(self, row: VersionRow, release: Release) -> ReleaseHeading:
        """Return what every answer says of its version and release."""
        return {
            "survey": row.name,
            "version": row.version,
            "digest": row.digest,
            "pending": release.pending,
            **self._releases.describe(row),
        }

    def release(self, row: VersionRow) -> Release:
        """Return what analysts may learn of a version now; see ``Releases.current``."""
        return self._releases.current(row)

    def require_records(self, row: VersionRow) -> None:
        """Refuse a question about records where a version has too few, or none any more."""
        self._refuse_deleted(row, self.release(row))

    def _refuse_deleted(self, row: VersionRow, release: Release) -> None:
        if release.records_deleted_at is not None:
            raise _gone(row, timestamp(release.records_deleted_at))

    @contextmanager
    def scanning(self, row: VersionRow, release: Release) -> Iterator[RecordStream]:
        """Let the block read the records of a version's release, when it is its turn.

        Where too many wait for theirs, it is refused.
        """
        self._refuse_deleted(row, release)
        if not self._places.acquire(blocking=False):
            raise Refused(
                "unavailable",
                f"{1 + WAITING_QUESTIONS} questions are being answered or wait; ask again after "
                f"{RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            )
        try:
            with self._turn:
                blocks = self._segments.blocks(
                    row.id, row.record_size, released_only=release.released_at is not None
                )
                yield RecordStream.trusted(self._surveys.published(row), blocks)
        finally:
            self._places.release()


def _require_shown(source: Source, asked: Mapping[str, str]) -> None:
    """Refuse attributes that are not shown, each with the parameter that names it."""
    if isinstance(source, OfGroups):
        for name, field in asked.items():
            source.groups.require(name, field=field)


def _explained(result: R, *sources: Source) -> R:
    """Return a result that says which groups in clear were merged or left out."""
    words = [
        words
        for source in sources
        if isinstance(source, OfGroups)
        for words in source.groups.sentences()
    ]
    return replace(result, small_groups=tuple(dict.fromkeys(words))) if words else result


def require_two_versions(before: VersionRow, after: VersionRow) -> None:
    """Refuse to compare a version with itself."""
    if before.id == after.id:
        raise InvalidParameter(
            f"{after.name} version {after.version} is compared with itself; name an earlier "
            "version, or another survey",
            field="since_version",
        )


def _gone(row: VersionRow, when: str) -> Refused:
    return Refused(
        "records-deleted",
        f"the records of {row.name} version {row.version} were deleted at {when}; estimates, and "
        "cross-tables of attributes with few categories, are still given",
    )
