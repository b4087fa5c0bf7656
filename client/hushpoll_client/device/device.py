"""What one device keeps for its respondent: consents, pins, ledger and outbox, and who sends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hushpoll_client.delivery.delivery import is_final
from hushpoll_client.delivery.sender import sender_of
from hushpoll_client.device.consent import Consent, missing
from hushpoll_client.device.ledger import Ledger, Place
from hushpoll_client.device.outbox import LOOK_AGAIN_SECONDS, Claimed
from hushpoll_client.device.pins import Pins
from hushpoll_client.faults import Losses, OnLoss, StorageError
from hushpoll_protocols.errors import HushpollError, InvalidParameter, TransportError

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.delivery.retry import Pacing, RetryHint
    from hushpoll_client.delivery.transport import Transport
    from hushpoll_client.device.limits import Limits
    from hushpoll_client.respondent.report import Report
    from hushpoll_shared.survey.published import Published


class Device:
    """One survey's view of the file that a device keeps.

    Parameters
    ----------
    path : str or Path
        The file.
    server, survey : str
        Which survey.
    version : int or None
        The version that is asked for.
    token : str or None
        The respondent's single-use token.
    limits : Limits
        The owner's limits.
    config : ClientConfig
        Timeouts, delays and bounds.
    pacing : Pacing
        Source of time and jitter.
    on_loss : callable or None
        Told of every lost answer.

    Raises
    ------
    InvalidParameter
        If `path` is no path.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        server: str,
        survey: str,
        version: int | None,
        token: str | None,
        limits: Limits,
        config: ClientConfig,
        pacing: Pacing,
        on_loss: OnLoss | None,
    ) -> None:
        if not isinstance(path, str | Path) or not str(path):
            raise InvalidParameter(
                f"storage is {path!r}; give the path of a file that this device keeps",
                field="storage",
            )
        self._server = server
        self._survey = survey
        self._version = version
        self._unstored_consent = False
        self._config = config
        self._pacing = pacing
        self._place = Place(server, token, limits, config.outbox_limit)
        self._path = Path(path)
        self.losses = Losses(survey, on_loss)
        self._sender = sender_of(self._path, config, pacing)
        self._sender.join(self.losses)
        quick, durable = self._sender.quick, self._sender.durable
        self.consent = Consent(quick, durable)
        self.ledger = Ledger(quick, durable)
        self._pins = Pins(quick)
        self._outbox = self._sender.outbox
        self._delivery = self._sender.delivery
        self.worker = self._sender.worker

    def open(self) -> None:
        """Open the file, if there is one, so that no answer has to wait for that."""
        if self._path.exists():
            self._sender.quick.open()

    def consented(self) -> bool:
        """Whether the respondent agrees at this moment."""
        return self._path.exists() and self.consent.given(self._server, self._survey)

    def check_consent(self) -> None:
        """Raise `ConsentMissing` unless the respondent agrees at this moment."""
        if self.consented():
            return
        if self._unstored_consent:
            raise StorageError(f"{self._path} could not keep the consent; nothing was read")
        raise missing(self._server, self._survey)

    def give_consent(self, statement: str | None) -> None:
        """Keep that the respondent agrees."""
        # The caller asked; that the file fails them is not their mistake.
        self._unstored_consent = True
        now = self._pacing.now()
        self.consent.give(self._server, self._survey, statement=statement, now=now)

    def withdraw(self) -> None:
        """Stop and wipe all answers to the survey; see `Consent.withdraw`."""
        self._unstored_consent = False
        if self._path.exists():
            self.consent.withdraw(self._survey)

    def pinned(self) -> Published | None:
        """Return the survey pinned earlier, if there is one."""
        return self._pins.find(self._server, self._survey, self._version)

    def pin(self, published: Published) -> None:
        """Keep the survey as the pin."""
        self._pins.keep(self._server, self._version, published)

    def keep(self, published: Published, draw: Callable[[], Report]) -> tuple[Report | None, bool]:
        """Return the stored report, or check, draw, charge and store; see `Ledger.keep`."""
        return self.ledger.keep(published, draw, self._place)

    def send(self, report: Report, transport: Transport) -> Literal["accepted", "duplicate"]:
        """Send the stored report of a digest until it is acknowledged, refused, or patience ends.

        Raises
        ------
        TransportError
            As the server or the network has it; also if another process is sending it all the time.
        """
        return transport.attempts(
            lambda hint: self._send_once(report, transport, hint),
            what=f"POST {transport.endpoint.url('surveys', self._survey, 'reports')}",
        )

    def answered(self) -> None:
        """Have sent what waits, soon and in the background."""
        self._sender.join(self.losses)
        self.worker.wake()

    def flush(self, seconds: float) -> bool:
        """Send what waits, of any survey, for at most `seconds`; say whether nothing is left."""
        self._sender.join(self.losses)
        return self._sender.flush(seconds)

    def close(self) -> None:
        """Leave the file; its last client in this process stops sending and closes it."""
        self._sender.leave(self.losses)

    def _send_once(
        self, report: Report, transport: Transport, hint: RetryHint
    ) -> Literal["accepted", "duplicate"]:
        over = self._pacing.monotonic() + self._config.patience
        while True:
            claimed = self._outbox.claim(report.digest)
            if isinstance(claimed, Claimed):
                break
            state = self._outbox.state(report.digest)
            if state == "accepted":
                return "duplicate"
            if state != "waiting":
                raise StorageError(
                    f"the report for survey {self._survey!r} is not kept any more, or was refused; "
                    "it is not sent"
                )
            if self._pacing.monotonic() > over:
                raise TransportError(
                    f"the server of survey {self._survey!r} is left alone for now, or another "
                    "process is sending the report; it is kept and sent later",
                    retryable=True,
                )
            self._pacing.sleep(LOOK_AGAIN_SECONDS)
        try:
            return self._delivery.carry(claimed, hint, transport)
        except HushpollError as error:
            if not is_final(error):
                self._outbox.release(claimed)
            raise
        except BaseException:
            self._outbox.release(claimed)
            raise
