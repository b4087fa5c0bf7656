"""Taking a batch of reports in: one bad report never fails its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.services.taking.reports import INVALID, Ingest
from hushpoll_server.store.tables.reports import Batch, Outcome, ReportStore
from hushpoll_server.store.tables.surveys import VersionRow
from hushpoll_shared.wire.batch import malformed_many, unpack_rows
from hushpoll_shared.wire.reports import (
    ID_SIZE,
    JSON_MEDIA_TYPE,
    REPORTS_HEADER_SIZE,
    parse_reports_header,
)


@dataclass(frozen=True, order=True)
class Rejection:
    """One report of a batch that was not taken.

    Parameters
    ----------
    index : int
        Its place in the batch, from 0.
    code : str
        Code of the problem table.
    field : str or None
        Field or attribute at fault.
    reason : str or None
        Of a malformed record.
    """

    index: int
    code: str
    field: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a batch; accepted + duplicate + len(rejected) is its size."""

    accepted: int
    duplicate: int
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True, eq=False)
class CheckedBatch:
    """A batch that was read and checked, and not yet stored.

    Parameters
    ----------
    row : VersionRow
        The version.
    batch : Batch
        Its well-formed reports.
    places : ndarray of int
        Where each of them was in the batch, from 0.
    sent : int
        Reports that were sent.
    rejected : tuple of Rejection
        Those that are malformed.
    """

    row: VersionRow
    batch: Batch
    places: npt.NDArray[np.intp]
    sent: int
    rejected: tuple[Rejection, ...]


class BatchIngest:
    """Checks a batch as arrays, and says what its outcomes mean.

    All of it is for a thread that may wait: for the database, and for as long as a check takes.
    """

    def __init__(
        self,
        *,
        ingest: Ingest,
        surveys: SurveyService,
        reports: ReportStore,
        max_reports: int,
    ) -> None:
        self._ingest = ingest
        self._surveys = surveys
        self._reports = reports
        self._max_reports = max_reports

    def check(self, name: str, body: bytes) -> CheckedBatch:
        """Check a batch in its binary form.

        Parameters
        ----------
        name : str
            The survey.
        body : bytes
            Header and n rows of id and record; see ``hushpoll_shared.wire.reports``.

        Raises
        ------
        InvalidParameter
            The header is wrong, or the rest is no whole number of reports.
        Refused
            ``unknown-survey``, ``unknown-digest``, ``unsupported-media-type`` (a token survey),
            ``payload-too-large``.
        """
        row = self._surveys.by_digest(name, parse_reports_header(body))
        published = self._surveys.published(row)
        if published.submission == "token":
            raise Refused(
                "unsupported-media-type",
                f"{row.name} takes one single-use token per report, so it takes no batches; "
                f"send each report by itself, as {JSON_MEDIA_TYPE}, with its token as "
                "'Authorization: Bearer <token>'",
                field="Content-Type",
            )
        width = ID_SIZE + row.record_size
        if len(body) > REPORTS_HEADER_SIZE + self._max_reports * width:
            raise Refused(
                "payload-too-large",
                f"the batch has more than {self._max_reports} reports; split it into several "
                "requests",
                field="body",
            )
        try:
            _, ids, records = unpack_rows(body, row.record_size)
        except InvalidParameter:
            # The last of them is none.
            begun = -(-(len(body) - REPORTS_HEADER_SIZE) // width)
            self._ingest.count(row, INVALID, begun)
            raise
        bad, malformed = malformed_many(published, records)
        rejected = tuple(
            Rejection(one.index, "malformed-report", one.field, one.reason) for one in malformed
        )
        good = np.flatnonzero(~bad)
        # Without a malformed one, the arrays are the body itself, and are not copied.
        batch = (
            Batch(row.id, ids[good], records[good]) if malformed else Batch(row.id, ids, records)
        )
        return CheckedBatch(row, batch, good, len(ids), rejected)

    def look_up(self, checked: CheckedBatch) -> Sequence[Outcome]:
        """Return the outcomes of a batch for a version that takes no reports now.

        Raises
        ------
        Refused
            ``survey-not-open`` or ``survey-closed``, unless every report is in already: a retry is
            never refused.
        """
        known = [one for one in self._reports.look_up(checked.batch) if one is not None]
        if len(known) < len(checked.batch) or not len(checked.batch):
            raise self._ingest.refusal(checked.row, checked.sent)
        return known

    def settled(self, checked: CheckedBatch, outcomes: Sequence[Outcome]) -> BatchOutcome:
        """Count and return what became of a batch, given an outcome for each well-formed report.

        Raises
        ------
        Refused
            ``survey-closed``: another process has closed the version meanwhile.
        """
        if Outcome.CLOSED in outcomes:
            raise self._ingest.refusal(checked.row, checked.sent)
        rejected = list(checked.rejected)
        if Outcome.CONFLICT in outcomes:
            rejected += [
                Rejection(index, outcome.value, "id")
                for index, outcome in zip(checked.places.tolist(), outcomes, strict=True)
                if outcome is Outcome.CONFLICT
            ]
        duplicates = outcomes.count(Outcome.DUPLICATE)
        self._count(checked.row, rejected, duplicates)
        return BatchOutcome(
            accepted=outcomes.count(Outcome.ACCEPTED),
            duplicate=duplicates,
            rejected=tuple(sorted(rejected, key=lambda one: one.index)),
        )

    def _count(self, row: VersionRow, rejected: Sequence[Rejection], duplicates: int) -> None:
        counts = Counter(
            one.code if one.reason is None else f"{one.code}:{one.reason}" for one in rejected
        )
        counts[Outcome.DUPLICATE.value] += duplicates
        for outcome, number in counts.items():
            self._ingest.count(row, outcome, number)
