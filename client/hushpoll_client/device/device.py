"""One respondent's file as a `SurveyClient` uses it, and what all clients of that file share.

The clients of one file in one process share its connections, its outbox and one thread that sends:
so a hundred surveys of an app open no hundred connections and start no hundred threads. Processes
share the file alone; claims in the outbox keep them from sending the same report at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet, WeakValueDictionary

from hushpoll_client.delivery.timing import within
from hushpoll_client.device.consent import Consent, Pins, consent_missing
from hushpoll_client.device.database import Database
from hushpoll_client.device.ledger import Ledger, Place
from hushpoll_client.device.outbox import LOOK_AGAIN_SECONDS, Claim, Delivery, Outbox
from hushpoll_client.device.outcomes import (
    BeforeSend,
    Losses,
    OnLoss,
    Outgoing,
    StorageError,
    is_final,
)
from hushpoll_client.device.redemption import Redemption, Redemptions
from hushpoll_client.device.withdrawals import Withdrawal
from hushpoll_client.threads import Guarded, SendingThread
from hushpoll_protocols.errors import HushpollError, TransportError, refusal_of
from hushpoll_shared.survey.terms import INVITED
from hushpoll_shared.wire.paths import reports_path

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.delivery.timing import Pacing, RetryHint
    from hushpoll_client.delivery.transport import Transport
    from hushpoll_client.device.consent import Limits
    from hushpoll_client.device.randomization import Report
    from hushpoll_shared.survey.published import Published
    from hushpoll_shared.wire.answers import Acknowledgement


class Device:
    """The part of a device's file that belongs to one survey; see `SurveyClient`."""

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
        before_send: BeforeSend | None,
    ) -> None:
        if not isinstance(path, str | Path) or not str(path):
            raise refusal_of("storage")(
                f"is {path!r}; give the path of a file that this device keeps"
            )
        self._server = server
        self._survey = survey
        self._version = version
        self._unstored_consent = False
        self._config = config
        self._pacing = pacing
        self._place = Place(
            server, token, limits, config.outbox_limit, lambda: self._later(config.send_jitter)
        )
        self._path = Path(path)
        self.losses = Losses(survey, on_loss, before_send)
        self._file = device_file(self._path, config, pacing)
        self._file.join(self.losses)
        quick, durable = self._file.quick, self._file.durable
        self.consent = Consent(quick, durable)
        self.ledger = Ledger(quick, durable)
        self._pins = Pins(quick)
        self._redemptions = Redemptions(quick, durable)
        self._outbox = self._file.outbox
        self._delivery = self._file.delivery
        self.thread = self._file.thread

    def open(self) -> None:
        """Open the file, if there is one, so that no answer has to wait for that."""
        if self._path.exists():
            self._file.quick.open()

    def consented(self) -> bool:
        """Whether the respondent agrees at this moment."""
        return self._path.exists() and self.consent.given(self._server, self._survey)

    def check_switch(self) -> None:
        """Do nothing: the client is not switched off."""

    def check_consent(self) -> None:
        """Raise `ConsentMissing` unless the respondent agrees at this moment."""
        if self.consented():
            return
        if self._unstored_consent:
            raise StorageError(f"{self._path} could not keep the consent; nothing was read")
        raise consent_missing(self._server, self._survey)

    def give_consent(self, statement: str | None) -> None:
        """Store that the respondent agrees."""
        # From now on a missing consent is a fault of the file, not the caller's mistake.
        self._unstored_consent = True
        now = self._pacing.now()
        self.consent.give(self._server, self._survey, statement=statement, now=now)

    def withdraw(self) -> int:
        """Stop and wipe all answers to the survey; see `Consent.withdraw`.

        Returns how many reports may be on a server that cannot take them back: they have no secret.
        """
        self._unstored_consent = False
        if not self._path.exists():
            return 0
        unable = self.ledger.unable(self._survey)
        self.consent.withdraw(self._survey)
        return unable

    def take_back(self, seconds: float) -> Withdrawal:
        """Ask the servers of the survey's withdrawn reports, for at most `seconds`."""
        if not self._path.exists():
            return Withdrawal(wiped=True)
        return self.ledger.withdrawals.ask(
            config=self._config, pacing=self._pacing, seconds=seconds, survey=self._survey
        )

    def pinned(self) -> Published | None:
        """Return the survey pinned earlier, if there is one and the respondent agrees."""
        if not self.consented():
            return None
        return self._pins.find(self._server, self._survey, self._version)

    def pin(self, published: Published) -> None:
        """Store the survey as the pin, once the respondent agrees."""
        if self.consented():
            self._pins.keep(self._server, self._version, published)

    def keep(self, published: Published, draw: Callable[[], Report]) -> tuple[Report | None, bool]:
        """Return the stored report, or check, draw, charge and store; see `Ledger.keep`."""
        if published.submission != INVITED:
            return self.ledger.keep(published, draw, self._place)
        config = self._config
        longest = max(config.parting, config.send_jitter)
        place = replace(
            self._place,
            token=self._redemptions.token(published.digest) or self._place.token,
            send_after=lambda: self._later(longest),
        )
        kept = self.ledger.keep(published, draw, place)
        if kept[1]:
            self._redemptions.forget(published.digest)
        return kept

    def redemption(self, published: Published) -> Redemption | None:
        """Return the one redemption of a version; None if this device has answered it."""
        return self._redemptions.once(published)

    def redeemed(self, published: Published, token: str) -> None:
        """Keep the token that the redemption has become."""
        self._redemptions.keep(published.digest, token)

    def token(self, published: Published) -> str | None:
        """Return the token that the redemption of a version has become, if it has."""
        return self._redemptions.token(published.digest)

    def answered_before(self, published: Published) -> bool:
        """Whether this device has answered the version."""
        return self._outbox.state(published.digest) is not None

    def parting(self, report: Report, longest: float, pacing: Pacing) -> float:
        """Seconds until the stored report of an invited survey may leave."""
        due = self._outbox.send_after(report.digest)
        return min(max(due - pacing.now().timestamp(), 0.0), longest)

    def send(self, report: Report, transport: Transport, patience: float) -> Acknowledgement:
        """Send the stored report of a digest until it is acknowledged, refused, or patience ends.

        Raises `TransportError` also if another process is sending it all the time.
        """
        return transport.attempts(
            lambda hint: self._send_once(report, transport, hint, patience),
            *reports_path(self._survey),
            patience=patience,
        )

    def _later(self, longest: float) -> float:
        now = self._pacing.now().timestamp()
        return now + self._pacing.uniform(0, longest) if longest else 0.0

    def answered(self) -> None:
        """Wake the thread that sends in the background."""
        self._file.join(self.losses)
        self.thread.wake()

    def flush(self, seconds: float) -> bool:
        """Send what waits, of any survey, for at most `seconds`; say whether nothing is left.

        Then servers are asked to take back what was withdrawn, if there is time.
        """
        self._file.join(self.losses)
        over = self._pacing.monotonic() + seconds
        done = self._file.flush(seconds)
        left = over - self._pacing.monotonic()
        withdrawals = self.ledger.withdrawals
        done &= not withdrawals.ask(
            config=self._config, pacing=self._pacing, seconds=left
        ).unanswered
        if not done and (self._config.send_jitter or self._outbox.holds_back()):
            # What is not due yet, perhaps since an earlier run of the app, is sent when it is.
            self.thread.wake()
        return done

    def close(self) -> None:
        """Leave the file; the last client in this process stops the thread and closes the file."""
        self._file.leave(self.losses)

    def _send_once(
        self, report: Report, transport: Transport, hint: RetryHint, patience: float
    ) -> Acknowledgement:
        over = self._pacing.monotonic() + patience
        while True:
            claimed = self._outbox.claim(report.digest)
            if isinstance(claimed, Claim):
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
                # The background then leaves the server alone for as long as it asked.
                self._delivery.postpone(claimed, error, hint)
            raise
        except BaseException:
            self._outbox.release(claimed)
            raise


# How much longer than its timeouts an exchange may last, on a busy computer for example.
_LEASE_MARGIN_SECONDS: Final = 30.0
# How often the background looks at a report that another thread or process is sending.
_BACKGROUND_LOOK_SECONDS: Final = 0.5
# A flush of 0 seconds still sends one report, and waits this long for the server's answer.
_SHORTEST_FLUSH_SECONDS: Final = 1.0

_databases: WeakValueDictionary[tuple[Path, bool], Database] = WeakValueDictionary()
_files: WeakValueDictionary[tuple[Path, ClientConfig, Pacing], DeviceFile] = WeakValueDictionary()


class DeviceFile(Guarded):
    """A device's file, opened by this process with two connections; made by `device_file`.

    Its outbox has the reports that wait, which `delivery` sends from any thread, and `thread` in
    the background.
    """

    def __init__(self, path: Path, config: ClientConfig, pacing: Pacing) -> None:
        self._config = config
        self._pacing = pacing
        self._users: WeakSet[Losses] = WeakSet()
        self._asked: dict[str, Losses] = {}
        self.quick, self.durable = _shared(path, durable=False), _shared(path, durable=True)
        self.outbox = Outbox(
            self.quick,
            self.durable,
            lease=config.connect_timeout + config.exchange_timeout + _LEASE_MARGIN_SECONDS,
            now=pacing.now,
        )
        self.delivery = Delivery(
            self.outbox, self._lost, allows=self._allows, config=config, pacing=pacing
        )
        self.thread = SendingThread(self._background_step, exit_patience=config.exit_patience)
        super().__init__()

    def join(self, user: Losses) -> None:
        """Count ``user`` among the clients of the file; report losses to it, and ask it."""
        self._users.add(user)
        if user.asks:
            # A report must not leave unasked because its client has been forgotten meanwhile.
            self._asked[user.survey] = user

    def leave(self, user: Losses) -> None:
        """Remove ``user``; the last to leave ends the thread and closes the file."""
        self._users.discard(user)
        if self._asked.get(user.survey) is user:
            del self._asked[user.survey]
        if not self._users:
            self.thread.stop(self._config.exit_patience)
            self.delivery.close()
            self.quick.close()
            self.durable.close()

    def after_fork_in_child(self) -> None:
        """Forget the users: some belong to threads that the child does not have."""
        super().after_fork_in_child()
        self._users = WeakSet(self._asked.values())

    def flush(self, seconds: float) -> bool:
        """Send what waits, for at most `seconds`; say whether nothing is left."""
        over = self._pacing.monotonic() + seconds
        self.outbox.resume()
        with within(max(seconds, _SHORTEST_FLUSH_SECONDS), f"the {seconds:.4g} s of this call"):
            while (wait := self.delivery.step()) is not None:
                left = over - self._pacing.monotonic()
                if left <= 0 or wait > left:
                    return self.outbox.waiting() == 0
                if wait:
                    self._pacing.sleep(min(wait, LOOK_AGAIN_SECONDS, left))
        return True

    def _background_step(self) -> float | None:
        wait = self.delivery.step()
        return max(wait, _BACKGROUND_LOOK_SECONDS) if wait else wait

    def _lost(self, claimed: Claim, reason: str, detail: str) -> None:
        for user in self._users_of(claimed.survey):
            user.count(reason, detail)

    def _allows(self, outgoing: Outgoing) -> bool:
        return all(user.allows(outgoing) for user in self._users_of(outgoing.survey))

    def _users_of(self, survey: str) -> list[Losses]:
        users = list(self._users)
        # A report that an earlier run of the app left has no client of its own: it is every one's.
        return [user for user in users if user.survey == survey] or users


def device_file(path: Path, config: ClientConfig, pacing: Pacing) -> DeviceFile:
    """Return this process's object for a file: one per path and configuration."""
    key = (path.absolute(), config, pacing)
    opened = _files.get(key)
    # Two threads may both make one: each works, and one of them is shared from then on.
    return _files.setdefault(key, DeviceFile(*key)) if opened is None else opened


def _shared(path: Path, *, durable: bool) -> Database:
    key = (path, durable)
    opened = _databases.get(key)
    return opened or _databases.setdefault(key, Database(path, durable=durable))
