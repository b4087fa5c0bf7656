"""Deleting the records of a survey version that is over."""

from __future__ import annotations

from dataclasses import dataclass

from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger
from hushpoll_server.services.maintenance.sealing import Sealing
from hushpoll_server.services.surveys.surveys import State, SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobStore
from hushpoll_server.store.segment_store import SegmentStore

log = get_logger(__name__)


@dataclass(frozen=True)
class Deletion:
    """How many records were deleted, and the second since 1970 (UTC) of the last deletion."""

    records: int
    at: int


class Retention:
    """Deletes records; their counts stay, and their ids, which refuse replays."""

    def __init__(
        self,
        *,
        surveys: SurveyService,
        segments: SegmentStore,
        jobs: JobStore,
        sealing: Sealing,
    ) -> None:
        self._surveys = surveys
        self._segments = segments
        self._jobs = jobs
        self._sealing = sealing

    def delete(self, row: VersionRow) -> Deletion:
        """Delete the records of a version that takes no more reports; counts and ids stay."""
        state = self._surveys.state(row)
        if state is not State.CLOSED:
            raise Refused(
                "survey-not-over",
                f"{row.name} version {row.version} is {state.value}; its records can be deleted "
                "once it is closed and its grace period is over",
            )
        # Reports in the inbox are counted like the others and deleted with them. From then on no
        # process takes a report of the version.
        self._sealing.seal(row, last=True)
        deleted = self._segments.delete_records(row.id, row.record_size, self._surveys.now())
        # Exports that jobs have made hold the records as well.
        self._jobs.forget_version(row.id, "export")
        self._segments.vacuum()
        if deleted:
            log.info("records-deleted", survey=row.name, version=row.version, records=deleted)
        sealed = self._segments.sealed(row.id)
        at = None if sealed is None else sealed.records_deleted_at
        return Deletion(deleted, self._surveys.now() if at is None else at)
