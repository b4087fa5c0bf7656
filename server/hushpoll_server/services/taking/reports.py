"""Taking one report in."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.access import respondent_hash
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.tables.counters import CounterStore
from hushpoll_server.store.tables.reports import Arrival, Outcome, ReportStore
from hushpoll_server.store.tables.surveys import VersionRow
from hushpoll_shared.spelling.clock import format_timestamp
from hushpoll_shared.wire import reports as wire

INVALID: Final = "invalid-request"


class Ingest:
    """Checks reports before they are stored, says what their outcomes mean, and counts refusals."""

    def __init__(
        self, *, surveys: SurveyService, reports: ReportStore, counters: CounterStore
    ) -> None:
        self._surveys = surveys
        self._reports = reports
        self._counters = counters

    def prepare(
        self, name: str, document: object, authorization: str | None, *, from_memory: bool = False
    ) -> tuple[VersionRow, Arrival]:
        """Return the version and the report that a JSON document is.

        Parameters
        ----------
        name : str
            The survey.
        document : object
            ``{"digest", "id", "record"}`` as JSON gave it.
        authorization : str or None
            The request's ``Authorization`` header; a token survey's single-use token.
        from_memory : bool
            Whether not to ask the database: for a thread that must not wait.

        Raises
        ------
        NotRemembered
            The database would have to be asked.
        InvalidParameter
            The document has another form.
        MalformedRecord
            The record is not one that a device could have sent.
        Refused
            ``unknown-survey`` or ``unknown-digest``.
        """
        try:
            digest, report = wire.parse_report_json(document)
        except InvalidParameter:
            self._count_formless(name, document, from_memory=from_memory)
            raise
        row = self._version(name, digest, from_memory=from_memory)
        published = self._surveys.published(row)
        try:
            published.layout.check(report.record)
        except MalformedRecord as error:
            self.count(row, f"malformed-report:{error.reason}")
            if error.field is not None:
                raise
            # No attribute is at fault, but the member of the request that has the wrong length.
            raise MalformedRecord(str(error), reason=error.reason, field="record") from None
        if published.submission == "token":
            token = respondent_hash(authorization)
            return row, Arrival(row.id, report.id, report.record, row.survey_id, token)
        return row, Arrival(row.id, report.id, report.record)

    def look_up(self, row: VersionRow, arrival: Arrival) -> Outcome:
        """Return the outcome of a report of a version that takes none now.

        Raises
        ------
        Refused
            ``survey-not-open`` or ``survey-closed``, unless the report is in already: a retry is
            never refused.
        """
        (known,) = self._reports.look_up([arrival])
        if known is None:
            raise self.refusal(row)
        return known

    def takes(self, row: VersionRow) -> bool:
        """Return whether new reports of this version are taken, as far as this process knows.

        Another process may have closed it; the transaction that stores a report then says so.
        """
        return self._surveys.state(row) in (State.OPEN, State.CLOSING)

    def refusal(self, row: VersionRow, number: int = 1) -> Refused:
        """Count and return the refusal of so many reports that come too early or too late."""
        self._surveys.look_again(row)
        if self._surveys.state(row) is State.SCHEDULED and row.opens is not None:
            self.count(row, "survey-not-open", number)
            return Refused(
                "survey-not-open",
                f"{row.name} version {row.version} takes reports from "
                f"{format_timestamp(self._surveys.moment(row.opens))} on; keep the report and send "
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
            self._counters.add(row.id, self._surveys.today(), outcome, number)

    def _version(self, name: str, digest: str, *, from_memory: bool) -> VersionRow:
        return self._surveys.by_digest(name, digest, from_memory=from_memory)

    def _count_formless(self, name: str, document: object, *, from_memory: bool) -> None:
        """Count what is no report, if it says of which version it wants to be one."""
        if isinstance(document, Mapping):
            with suppress(InvalidParameter, Refused):
                digest = wire.check_digest(document.get("digest"))
                self.count(self._version(name, digest, from_memory=from_memory), INVALID)

    def checked(self, row: VersionRow, outcome: Outcome) -> Outcome:
        """Count the outcome of a stored report, and return it where it is no refusal.

        Raises
        ------
        Refused
            ``report-conflict``, ``unauthorized`` or ``survey-closed``.
        """
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
        if outcome is Outcome.UNAUTHORIZED:
            raise Refused(
                "unauthorized",
                f"{row.name} takes one single-use token per respondent, and this request has none, "
                "or one that is unknown or spent; send an unspent token of this survey as "
                "'Authorization: Bearer <token>'",
                field="Authorization",
            )
        return outcome
