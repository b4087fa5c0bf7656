"""How sending a report ends: a receipt, or an error that hands the report back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hushpoll_client.respondent.report import Report
from hushpoll_protocols.errors import HushpollError, TransportError
from hushpoll_shared.wire.problems import problem_from

if TYPE_CHECKING:
    from hushpoll_client.delivery.transport import Answer


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
    known : bool
        Whether that is the report of an earlier answer of this device, which `SurveyClient.submit`
        found waiting: the answers given now were then neither randomised nor sent.
    """

    status: Literal["accepted", "duplicate"]
    report: Report
    known: bool = False


def acknowledgement(answer: Answer) -> Literal["accepted", "duplicate"]:
    """Return what a successful answer to a report says.

    Raises
    ------
    TransportError
        If it is no acknowledgement: the login page of a network comes with status 200 as well.
        Retryable.
    """
    match answer.json():
        case {"status": "accepted"}:
            return "accepted"
        case {"status": "duplicate"}:
            return "duplicate"
    raise TransportError(
        "the answer does not acknowledge the report; check that the address is a hushpoll "
        "server's, and that no network's login page is in between",
        retryable=True,
        status=answer.status,
    )
