"""Taking a batch of reports in: one bad report never fails its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.services.ingest import INVALID, Ingest
from hushpoll_server.services.surveys import SurveyService
from hushpoll_server.services.writer import Writer
from hushpoll_server.store.reports import Batch, Outcome, ReportStore
from hushpoll_server.store.surveys import VersionRow
from hushpoll_shared.batch import malformed_many, unpack_rows
from hushpoll_shared.wire import (
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


class BatchIngest:
    """Checks a batch with array kernels and hands it to the writer as one group."""

    def __init__(
        self,
        *,
        ingest: Ingest,
        surveys: SurveyService,
        reports: ReportStore,
        writer: Writer,
        max_reports: int,
    ) -> None:
        self._ingest = ingest
        self._surveys = surveys
        self._reports = reports
        self._writer = writer
        self._max_reports = max_reports

    def take(self, name: str, pieces: Iterable[bytes]) -> BatchOutcome:
        """Take a batch in its binary form, durably, as one group.

        What is wrong with it as a whole is said as soon as it shows, and no further piece is asked
        for.

        Parameters
        ----------
        name : str
            The survey.
        pieces : iterable of bytes
            Header and n rows of id and record, cut anywhere; see ``hushpoll_shared.wire``.

        Raises
        ------
        InvalidParameter
            The header is wrong, or the rest is no whole number of reports.
        Refused
            ``unknown-survey``, ``unknown-digest``, ``unsupported-media-type`` (a token survey),
            ``payload-too-large``, ``survey-not-open`` and ``survey-closed`` (unless every report
            is in already), ``unavailable``.
        """
        row, body = self._arrived(name, pieces)
        try:
            _, ids, records = unpack_rows(body, row.record_size)
        except InvalidParameter:
            # The last of them is none.
            begun = -(-(len(body) - REPORTS_HEADER_SIZE) // (ID_SIZE + row.record_size))
            self._ingest.count(row, INVALID, begun)
            raise
        bad, malformed = malformed_many(self._surveys.published(row), records)
        rejected = [
            Rejection(one.index, "malformed-report", one.field, one.reason) for one in malformed
        ]
        good = np.flatnonzero(~bad)
        # Without a malformed one, the arrays are the body itself, and are not copied.
        batch = (
            Batch(row.id, ids[good], records[good]) if malformed else Batch(row.id, ids, records)
        )
        outcomes = self._store(row, batch, len(ids))
        if Outcome.CONFLICT in outcomes:
            rejected += [
                Rejection(index, outcome.value, "id")
                for index, outcome in zip(good.tolist(), outcomes, strict=True)
                if outcome is Outcome.CONFLICT
            ]
        self._count(row, rejected, outcomes.count(Outcome.DUPLICATE))
        return BatchOutcome(
            accepted=outcomes.count(Outcome.ACCEPTED),
            duplicate=outcomes.count(Outcome.DUPLICATE),
            rejected=tuple(sorted(rejected, key=lambda one: one.index)),
        )

    def _arrived(self, name: str, pieces: Iterable[bytes]) -> tuple[VersionRow, bytearray]:
        """Return the version and the body; of a body that is refused no more than a piece."""
        body = bytearray()
        rest = iter(pieces)
        while len(body) < REPORTS_HEADER_SIZE and (piece := next(rest, b"")):
            body += piece
        row = self._surveys.by_digest(name, parse_reports_header(body))
        if self._surveys.published(row).submission == "token":
            raise Refused(
                "unsupported-media-type",
                f"{row.name} takes one single-use token per report, so it takes no batches; "
                f"send each report by itself, as {JSON_MEDIA_TYPE}, with its token as "
                "'Authorization: Bearer <token>'",
                field="Content-Type",
            )
        most = REPORTS_HEADER_SIZE + self._max_reports * (ID_SIZE + row.record_size)
        for piece in chain([b""], rest):
            body += piece
            if len(body) > most:
                raise Refused(
                    "payload-too-large",
                    f"the batch has more than {self._max_reports} reports; split it into several "
                    "requests",
                    field="body",
                )
        return row, body

    def _store(self, row: VersionRow, batch: Batch, sent: int) -> Sequence[Outcome]:
        if self._ingest.takes(row):
            outcomes = self._writer.submit(batch) if len(batch) else []
            if Outcome.CLOSED in outcomes:
                raise self._ingest.refusal(row, sent)
            return outcomes
        # The retry of a batch that is in already is never refused.
        known = [one for one in self._reports.look_up(batch) if one is not None]
        if len(known) < len(batch) or not len(batch):
            raise self._ingest.refusal(row, sent)
        return known

    def _count(self, row: VersionRow, rejected: Sequence[Rejection], duplicates: int) -> None:
        counts = Counter(
            one.code if one.reason is None else f"{one.code}:{one.reason}" for one in rejected
        )
        counts[Outcome.DUPLICATE.value] += duplicates
        for outcome, number in counts.items():
            self._ingest.count(row, outcome, number)
