"""How sending a report ends: a receipt, or an error that hands the report back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hushpoll_client.report import Report
from hushpoll_protocols.errors import HushpollError, TransportError
from hushpoll_shared.problems import problem_from


class ReportNotSent(TransportError):
    """A report that did not reach the server, or that it refused.

    Attributes
    ----------
    report : Report
        The report. Send these same bytes again (`SurveyClient.send`) if ``retryable``; never
        randomise the answers a second time.
    """

    def __init__(self, cause: HushpollError, report: Report) -> None:
        if isinstance(cause, TransportError):
            super().__init__(
                str(cause), retryable=cause.retryable, status=cause.status, problem=cause.problem
            )
        else:
            # Told apart by the table's code, where the exception has no place for it.
            problem = problem_from(cause)
            super().__init__(str(cause), retryable=False, status=problem["status"], problem=problem)
        self.report = report


@dataclass(frozen=True, slots=True)
class Receipt:
    """The server's acknowledgement, given once the report is durable.

    Attributes
    ----------
    status : {"accepted", "duplicate"}
        Whether these bytes were new. Both mean that the report counts, once.
    report : Report
        What was sent.
    """

    status: Literal["accepted", "duplicate"]
    report: Report
