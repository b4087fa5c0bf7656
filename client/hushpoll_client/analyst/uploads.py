"""Batches of reports, uploaded with a token of scope ``submit``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushpoll_client.analyst.calls import Calls, object_of, survey_path, unexpected
from hushpoll_shared.wire.reports import REPORTS_MEDIA_TYPE


@dataclass(frozen=True, slots=True)
class BulkReceipt:
    """The server's account of one batch.

    Attributes
    ----------
    accepted, duplicate : int
        Reports that were new, and that were there before.
    rejected : tuple of mapping
        Per refused report: ``index`` in the batch, ``code`` of the problem table, ``field``.
    """

    accepted: int
    duplicate: int
    rejected: tuple[Mapping[str, Any], ...]


class UploadCalls(Calls):
    """Uploads batches."""

    def submit_bulk(self, name: str, body: bytes) -> BulkReceipt:
        """Upload one batch, the same bytes again until it is acknowledged or refused.

        Parameters
        ----------
        name : str
            The survey.
        body : bytes
            What `hushpoll_shared.wire.reports.pack_reports` or
            `hushpoll_shared.wire.batch.pack_rows` made.
        """
        answer = object_of(
            self._transport.post(
                *survey_path(name),
                "reports",
                body=body,
                media_type=REPORTS_MEDIA_TYPE,
            )
        )
        accepted, duplicate, rejected = (
            answer.get(key) for key in ("accepted", "duplicate", "rejected")
        )
        if not (type(accepted) is type(duplicate) is int and isinstance(rejected, list)):
            raise unexpected("accepted, duplicate and rejected")
        if not all(isinstance(report, dict) for report in rejected):
            raise unexpected("objects in rejected")
        return BulkReceipt(accepted, duplicate, tuple(rejected))
