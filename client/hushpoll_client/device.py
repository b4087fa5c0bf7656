"""What one device keeps for its respondent: consents, pins, ledger and outbox, and who sends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from hushpoll_client.consent import Consent, missing
from hushpoll_client.database import Database
from hushpoll_client.delivery import Delivery, is_final
from hushpoll_client.faults import Losses, OnLoss, StorageError
from hushpoll_client.ledger import Ledger, Place
from hushpoll_client.outbox import LOOK_AGAIN_SECONDS, Claimed, Outbox
from hushpoll_client.pins import Pins
from hushpoll_client.worker import Worker
from hushpoll_protocols.errors import HushpollError, InvalidParameter, TransportError

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.limits import Limits
    from hushpoll_client.report import Report
    from hushpoll_client.retry import Pacing, RetryHint
    from hushpoll_client.transport import Transport
    from hushpoll_shared.published import Published

# What an exchange may take beyond its timeouts, such as the computer being busy.
_LEASE_MARGIN_SECONDS: Final = 30.0
# The background looks less often at what another thread or process is sending.
_BACKGROUND_LOOK_SECONDS: Final = 0.5


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
        self._databases = (
            Database(self._path, durable=False),
            Database(self._path, durable=True),
        )
        self.consent = Consent(*self._databases)
        self.ledger = Ledger(*self._databases)
        self.losses = Losses(on_loss)
        self._pins = Pins(self._databases[0])
        self._outbox = Outbox(
            *self._databases,
            lease=config.connect_timeout + config.read_timeout + _LEASE_MARGIN_SECONDS,
            now=pacing.now,
        )
        self._delivery = Delivery(self._outbox, self.losses, config=config, pacing=pacing)
        self.worker = Worker(self._background_step, exit_patience=config.exit_patience)

    def open(self) -> None:
        """Open the file, if there is one, so that no answer has to wait for that."""
        if self._path.exists():
            self._databases[0].open()

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

    def keep(self, published: Published, draw: Callable[[], Report]) -> tuple[Report, bool]:
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

    def flush(self, seconds: float) -> bool:
        """Send what waits, of any survey, for at most `seconds`; say whether nothing is left."""
        over = self._pacing.monotonic() + seconds
        self._outbox.resume()
        while (wait := self._delivery.step()) is not None:
            left = over - self._pacing.monotonic()
            if left <= 0 or wait > left:
                return self._outbox.waiting() == 0
            if wait:
                self._pacing.sleep(min(wait, LOOK_AGAIN_SECONDS, left))
        return True

    def _background_step(self) -> float | None:
        wait = self._delivery.step()
        return max(wait, _BACKGROUND_LOOK_SECONDS) if wait else wait

    def close(self) -> None:
        """Stop sending and close the file."""
        self.worker.stop(self._config.exit_patience)
        self._delivery.close()
        for database in self._databases:
            database.close()

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
