"""Reports are checked here before they are stored, one by one or in batches, and counted.

One bad report of a batch never fails its neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.access import respondent_hash
from hushpoll_server.services.surveys.invitations import Invitations
from hushpoll_server.services.surveys.surveys import (
    NotRemembered,
    State,
    SurveyService,
    timestamp,
)
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.counts import CounterStore
from hushpoll_server.store.reports import Batch, Outcome, ReportRow, ReportStore
from hushpoll_server.store.withdrawals import Withdrawal, WithdrawalStore
from hushpoll_shared.survey.terms import INVITED, TOKEN
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import malformed_many, unpack_rows
from hushpoll_shared.wire.withdrawals import parse_withdrawal_json

INVALID: Final = "invalid-request"


@dataclass(eq=False, kw_only=True)
class Ingest:
    """Checks reports before they are stored, says what their outcomes mean, and counts refusals.

    It also takes reports back for their devices.
    """

    surveys: SurveyService
    reports: ReportStore
    counters: CounterStore
    withdrawals: WithdrawalStore
    invitations: Invitations

    def withdraw(self, name: str, document: object) -> Withdrawal:
        """Take back the report whose secret a JSON document has, unless it is sealed.

        The document is ``{"digest", "secret"}``; an error does not show the secret.
        """
        digest, report_id = parse_withdrawal_json(document)
        row = self.surveys.by_digest(name, digest)
        return self.withdrawals.withdraw(row, report_id, self.surveys.today())

    def prepare(
        self, name: str, document: object, authorization: str | None, *, from_memory: bool = False
    ) -> tuple[VersionRow, ReportRow]:
        """Return the version and the report of a JSON document, ``{"digest", "id", "record"}``.

        What no device could have sent is refused; `from_memory` as in `check`.
        """
        try:
            digest, report = wire.parse_report_json(document)
        except InvalidParameter:
            self._count_formless(name, document, from_memory=from_memory)
            raise
        return self.check(
            name, digest, report.id, report.record, authorization, from_memory=from_memory
        )

    def check(
        self,
        name: str,
        digest: str,
        report_id: bytes,
        record: bytes,
        authorization: str | None,
        *,
        from_memory: bool = False,
    ) -> tuple[VersionRow, ReportRow]:
        """Return the version and the report of what was read; refuse a `MalformedRecord`.

        With `from_memory`, for a thread that must not wait, `NotRemembered` is raised where the
        database would have to be asked.
        """
        row = self.surveys.by_digest(name, digest, from_memory=from_memory)
        published = self.surveys.published(row)
        try:
            published.layout.check(record)
        except MalformedRecord as error:
            self.count(row, f"malformed-report:{error.reason}")
            if error.field is not None:
                raise
            # The member of the request has a wrong length, and no attribute is at fault.
            raise MalformedRecord(str(error), reason=error.reason, field="record") from None
        if published.submission == TOKEN:
            token = respondent_hash(authorization)
            return row, ReportRow(row.id, report_id, record, row.survey_id, token)
        if published.submission == INVITED:
            if from_memory:
                # Verifying takes as long as hundreds of other reports: not on the loop's thread.
                raise NotRemembered
            token = self.invitations.spent_by(published, authorization)
            return row, ReportRow(row.id, report_id, record, token=token, invited=True)
        return row, ReportRow(row.id, report_id, record)

    def look_up(self, row: VersionRow, report: ReportRow) -> Outcome:
        """Return the outcome of a report of a version that takes none now.

        It is refused unless the report is stored already: a retry is never refused.
        """
        (known,) = self.reports.look_up([report])
        if known is None:
            raise self.refusal(row)
        return known

    def takes(self, row: VersionRow) -> bool:
        """Return whether new reports of this version are taken, as far as this process knows.

        Another process may have closed it; the transaction that stores a report then says so.
        """
        return self.surveys.state(row) in (State.OPEN, State.CLOSING)

    def refusal(self, row: VersionRow, number: int = 1) -> Refused:
        """Count and return the refusal of `number` reports that come too early or too late."""
        self.surveys.look_again(row)
        if self.surveys.state(row) is State.SCHEDULED and row.opens is not None:
            self.count(row, "survey-not-open", number)
            return Refused(
                "survey-not-open",
                f"{row.name} version {row.version} takes reports from "
                f"{timestamp(row.opens)} on; keep the report and send "
                "the same bytes then",
                field="digest",
            )
        self.count(row, "survey-closed", number)
        return Refused(
            "survey-closed",
            f"{row.name} version {row.version} is closed, and its grace period for devices that "
            "were offline is over; fetch the survey to see whether there is a newer version",
            field="digest",
        )

    def count(self, row: VersionRow, outcome: str, number: int = 1) -> None:
        """Count reports that were not stored, apart from any upload's transaction."""
        if number:
            self.counters.add(row.id, self.surveys.today(), outcome, number)

    def _count_formless(self, name: str, document: object, *, from_memory: bool) -> None:
        """Count a document that is no report, if it has the digest of a version."""
        if isinstance(document, Mapping):
            with suppress(InvalidParameter, Refused):
                digest = wire.check_digest(document.get("digest"))
                row = self.surveys.by_digest(name, digest, from_memory=from_memory)
                self.count(row, INVALID)

    def checked(self, row: VersionRow, outcome: Outcome) -> Outcome:
        """Count the outcome of a stored report, and return it, or raise what it is refused for."""
        if outcome is Outcome.ACCEPTED:
            return outcome
        if outcome is Outcome.CLOSED:
            raise self.refusal(row)
        self.count(row, outcome)
        if outcome is Outcome.CONFLICT:
            raise Refused(
                "report-conflict",
                "another report of this survey has this id; send the bytes first sent under it, "
                "and draw a new id (16 random bytes) for a new report",
                field="id",
            )
        if outcome is Outcome.SPENT:
            raise Refused(
                "token-spent",
                "another report was sent with this token before; send the bytes that were first "
                "sent with it, or answer with an invitation of your own",
                field="Authorization",
            )
        if outcome is Outcome.UNAUTHORIZED:
            if self.surveys.published(row).submission == INVITED:
                raise Refused(
                    "unauthorized",
                    f"{row.name} version {row.version} takes one token per report, which a device "
                    "gets for its invitation, and this request has none, or one of another "
                    "version; redeem an invitation of this version",
                    field="Authorization",
                )
            raise Refused(
                "unauthorized",
                f"{row.name} takes one single-use token per respondent, and this request has none, "
                "or one that is unknown or spent; send an unspent token of this survey as "
                "'Authorization: Bearer <token>'",
                field="Authorization",
            )
        return outcome


@dataclass(frozen=True, order=True)
class Rejection:
    """One report of a batch that was not taken."""

    index: int
    """Its place in the batch, from 0."""
    code: str
    """Of the problem table."""
    field: str | None = None
    """Field or attribute at fault."""
    reason: str | None = None
    """Of a malformed record."""


@dataclass(frozen=True)
class BatchOutcome:
    """What became of a batch; accepted + duplicate + len(rejected) is its size."""

    accepted: int
    duplicate: int
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True, eq=False)
class CheckedBatch:
    """A batch that was read and checked, and not yet stored."""

    row: VersionRow
    batch: Batch
    places: npt.NDArray[np.intp]
    """int[n]: where each of the well-formed reports was in the batch, from 0."""
    sent: int
    """Reports that were sent."""
    rejected: tuple[Rejection, ...]


@dataclass(eq=False, kw_only=True)
class BatchIngest:
    """Checks a batch as arrays, and says what its outcomes mean.

    Its methods are for a thread that may wait for the database and for long checks.
    """

    ingest: Ingest
    surveys: SurveyService
    reports: ReportStore
    max_reports: int

    def check(self, name: str, body: bytes) -> CheckedBatch:
        """Check a batch in its binary form, as ``hushpoll_shared.wire.reports`` has it.

        Refused as a whole are a wrong header, a part of a report, too many of them, and a token
        survey.
        """
        row = self.surveys.by_digest(name, wire.parse_reports_header(body))
        published = self.surveys.published(row)
        if published.submission in (TOKEN, INVITED):
            raise Refused(
                "unsupported-media-type",
                f"{row.name} takes one token per report, so it takes no batches; "
                f"send each report by itself, as {wire.JSON_MEDIA_TYPE}, with its token as "
                "'Authorization: Bearer <token>'",
                field="Content-Type",
            )
        width = wire.ID_SIZE + row.record_size
        if len(body) > wire.REPORTS_HEADER_SIZE + self.max_reports * width:
            raise Refused(
                "payload-too-large",
                f"the batch has more than {self.max_reports} reports; split it into several "
                "requests",
                field="body",
            )
        try:
            _, ids, records = unpack_rows(body, row.record_size)
        except InvalidParameter:
            # The last report is incomplete.
            begun = -(-(len(body) - wire.REPORTS_HEADER_SIZE) // width)
            self.ingest.count(row, INVALID, begun)
            raise
        bad, malformed = malformed_many(published, records)
        rejected = tuple(
            Rejection(fault.index, "malformed-report", fault.field, fault.reason)
            for fault in malformed
        )
        good = np.flatnonzero(~bad)
        # Without a malformed report, the arrays are the body itself, and are not copied.
        batch = (
            Batch(row.id, ids[good], records[good]) if malformed else Batch(row.id, ids, records)
        )
        return CheckedBatch(row, batch, good, len(ids), rejected)

    def look_up(self, checked: CheckedBatch) -> Sequence[Outcome]:
        """Return the outcomes of a batch for a version that takes no reports now.

        It is refused unless every report is stored already: a retry is never refused.
        """
        known = [outcome for outcome in self.reports.look_up(checked.batch) if outcome is not None]
        if len(known) < len(checked.batch) or not len(checked.batch):
            raise self.ingest.refusal(checked.row, checked.sent)
        return known

    def settled(self, checked: CheckedBatch, outcomes: Sequence[Outcome]) -> BatchOutcome:
        """Count and return what became of a batch, given an outcome for each well-formed report.

        It is refused where another process has closed the version meanwhile.
        """
        if Outcome.CLOSED in outcomes:
            raise self.ingest.refusal(checked.row, checked.sent)
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
            rejected=tuple(sorted(rejected)),
        )

    def _count(self, row: VersionRow, rejected: Sequence[Rejection], duplicates: int) -> None:
        counts = Counter(
            fault.code if fault.reason is None else f"{fault.code}:{fault.reason}"
            for fault in rejected
        )
        counts[Outcome.DUPLICATE.value] += duplicates
        for outcome, number in counts.items():
            self.ingest.count(row, outcome, number)
