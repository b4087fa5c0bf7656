"""How an answer ends: what `SurveyClient.answer`, `submit` and `send` return, raise and count.

A caller's mistake is always raised. A fault of the disk, or of this package, must not break the
host app: it is counted, and logged without its message. With ``ClientConfig.raise_faults``, as in
tests, it is raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from hushpoll_protocols.errors import (
    BudgetExhausted,
    HushpollError,
    InvalidParameter,
    ManifestRefused,
    TransportError,
)
from hushpoll_shared.wire.problems import problem_from

if TYPE_CHECKING:
    from hushpoll_client.device.randomization import Report
    from hushpoll_shared.wire.answers import Acknowledgement

OnLoss = Callable[[str], object]
BeforeSend = Callable[["Outgoing"], object]
Status = Literal["kept", "known", "refused", "failed"]


class ConsentMissing(HushpollError):
    """The respondent has not agreed, or no longer agrees; nothing was read and nothing was sent."""


class StorageError(HushpollError):
    """The device's own file cannot be read or written; nothing was randomised or sent."""


class OutboxFull(StorageError):
    """Too many reports wait to be sent; nothing was randomised."""


class ClientDisabled(HushpollError):
    """The host app's owner has switched the client off; nothing was asked, stored or sent."""


class ReportDropped(HushpollError):
    """The host app's ``before_send`` refused the report; it was deleted, and is not sent."""


class ReportNotSent(TransportError):
    """A report that did not reach the server, or that the server refused.

    Attributes
    ----------
    report : Report
        The report. Send these same bytes again (`SurveyClient.send`) if ``retryable``; never
        randomise the answers a second time.
    """

    def __init__(self, cause: HushpollError, report: Report) -> None:
        if isinstance(cause, TransportError):
            super().__init__(
                str(cause),
                retryable=not is_final(cause),
                status=cause.status,
                problem=cause.problem,
            )
        elif isinstance(cause, ClientDisabled | ReportDropped):
            # The host app's will, of which no server knows.
            super().__init__(str(cause), retryable=False)
        else:
            # Other exceptions have no place for a code, so it is looked up in the problem table.
            problem = problem_from(cause)
            super().__init__(str(cause), retryable=False, status=problem["status"], problem=problem)
        self.report = report


@dataclass(frozen=True, slots=True)
class Receipt:
    """The server's acknowledgement, given once the report is durable; or that it is kept.

    Attributes
    ----------
    status : {"accepted", "duplicate", "waiting"}
        Whether these bytes were new to the server; both mean that the report counts, once.
        ``waiting``, of `SurveyClient.submit` with ``storage`` alone: the server has not taken the
        report yet; the device keeps it and sends it in the background.
    report : Report
        What was sent, or waits.
    known : bool
        Whether that is the waiting report of an earlier answer of this device: the answers given
        to `SurveyClient.submit` now were then neither randomised nor sent.
    """

    status: Acknowledgement | Literal["waiting"]
    report: Report
    known: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one answer.

    Attributes
    ----------
    status : {"kept", "known", "refused", "failed"}
        ``kept``: randomised now, and stored to be sent. ``known``: this version was answered
        before; that report stands, whatever was answered now. ``refused``: the owner's limits, the
        pin, a full outbox or the kill switch forbid it. ``failed``: the device's file or this
        package did. In the last two nothing was randomised, spent or sent.
    reason : str or None
        Stable code where refused or failed: ``disabled``, ``budget``, ``manifest``,
        ``outbox-full``, ``no-manifest``, ``storage``, ``internal``.
    error : HushpollError or None
        The same in words, with what to do about it.
    """

    status: Status
    reason: str | None = None
    error: HushpollError | None = field(default=None, repr=False)

    @property
    def stands(self) -> bool:
        """Whether a report is stored, and is or will be sent."""
        return self.status in ("kept", "known")


def is_final(error: HushpollError) -> bool:
    """Whether the server itself refuses a report for good, so that sending it again is useless."""
    if isinstance(error, TransportError):
        # An answer that is not recognised as the server's has no problem.
        return error.problem is not None and not error.retryable
    # Problems with exceptions of their own all name a fault of the report.
    return True


CALLERS_MISTAKES: Final = (InvalidParameter, ConsentMissing)
"""What `SurveyClient.answer` raises: only the caller can correct it."""

# The first that fits. A refusal is the owner's will, a failure is a fault.
_REASONS: Final[tuple[tuple[type[HushpollError], Status, str], ...]] = (
    (ClientDisabled, "refused", "disabled"),
    (BudgetExhausted, "refused", "budget"),
    (ManifestRefused, "refused", "manifest"),
    (OutboxFull, "refused", "outbox-full"),
    (StorageError, "failed", "storage"),
)


def outcome_of(error: Exception) -> Outcome:
    """Return the outcome that stands for an error which is not the caller's mistake."""
    for kind, status, reason in _REASONS:
        if isinstance(error, kind):
            return Outcome(status, reason, error)
    # Its type alone: the message of an internal fault may hold an answer.
    return Outcome(
        "failed", "internal", HushpollError(f"a fault in hushpoll: {type(error).__name__}")
    )


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What `before_send` is told of a report that is about to leave; no answer and no record.

    Attributes
    ----------
    server : str
        Where it goes.
    survey : str
        Name of the survey.
    version : int
        Version of the survey.
    digest : str
        Digest of that version.
    epsilon : Decimal
        What answering was charged.
    """

    server: str
    survey: str
    version: int
    digest: str
    epsilon: Decimal


class Losses:
    """Counts every answer that will not arrive, by reason, and logs it at WARNING.

    `on_loss` is called in the thread that noticed the loss; what it raises is logged.
    """

    def __init__(
        self, survey: str, on_loss: OnLoss | None, before_send: BeforeSend | None = None
    ) -> None:
        self.survey = survey
        self._counts: Counter[str] = Counter()
        self._on_loss = on_loss
        self._before_send = before_send

    @property
    def asks(self) -> bool:
        """Whether the host app wants to be asked."""
        return self._before_send is not None

    def allows(self, outgoing: Outgoing) -> bool:
        """Return whether the host app's ``before_send`` lets a report leave.

        If the app's code fails, that is a `TransportError`: the report is kept, and the app asked
        again later.
        """
        if self._before_send is None:
            return True
        try:
            return self._before_send(outgoing) is not False
        except Exception as error:
            # Its type alone, since the app's message may hold anything.
            kind = type(error).__name__
            warn("before_send raised %s; the report for %s is kept", kind, outgoing.survey)
            raise TransportError(
                f"before_send raised {kind}; the report is kept", retryable=True
            ) from None

    def count(self, reason: str, detail: str) -> None:
        """Count one loss by its stable code; the detail is for the log, and never an answer."""
        self._counts[reason] += 1
        warn("an answer is lost (%s): %s", reason, detail)
        if self._on_loss is None:
            return
        try:
            self._on_loss(reason)
        except Exception as error:
            # This is the host app's code, and the thread may be ours.
            warn("on_loss raised %s", type(error).__name__)

    def by_reason(self) -> dict[str, int]:
        """Return how many answers this process has lost, by reason."""
        return dict(self._counts)


def warn(message: str, *values: object) -> None:
    """Log at WARNING; an app that meets no fault does not pay for importing the module."""
    import logging

    logging.getLogger("hushpoll_client").warning(message, *values)
