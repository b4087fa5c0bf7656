"""What all clients of one file in one process share: its connections, its outbox, one worker.

Sharing keeps a hundred surveys of an app from opening a hundred connections and starting as many
threads. Processes share the file alone; there, claims keep them apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet, WeakValueDictionary

from hushpoll_client.delivery.deadlines import within
from hushpoll_client.delivery.delivery import Delivery
from hushpoll_client.delivery.worker import Worker
from hushpoll_client.device.database import Database
from hushpoll_client.device.forks import guard
from hushpoll_client.device.outbox import LOOK_AGAIN_SECONDS, Outbox

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.delivery.retry import Pacing
    from hushpoll_client.device.outbox import Claimed
    from hushpoll_client.faults import Losses

# What an exchange may take beyond its timeouts, such as the computer being busy.
_LEASE_MARGIN_SECONDS: Final = 30.0
# The background looks less often at what another thread or process is sending.
_BACKGROUND_LOOK_SECONDS: Final = 0.5
# A flush of 0 seconds still sends one report, and waits this long for the answer.
_SHORTEST_FLUSH_SECONDS: Final = 1.0

_databases: WeakValueDictionary[tuple[Path, bool], Database] = WeakValueDictionary()
_senders: WeakValueDictionary[tuple[Path, ClientConfig, Pacing], Sender] = WeakValueDictionary()


class Sender:
    """The sending side of one file; made by `sender_of`.

    Parameters
    ----------
    path : Path
        The file.
    config : ClientConfig
        Timeouts, delays and bounds.
    pacing : Pacing
        Source of time and jitter.

    Attributes
    ----------
    quick, durable : Database
        The two connections to the file.
    outbox : Outbox
        What waits in it.
    delivery : Delivery
        Sends from any thread.
    worker : Worker
        Sends in the background.
    """

    rank = 0

    def __init__(self, path: Path, config: ClientConfig, pacing: Pacing) -> None:
        self._config = config
        self._pacing = pacing
        self._users: WeakSet[Losses] = WeakSet()
        self.quick, self.durable = _shared(path, durable=False), _shared(path, durable=True)
        self.outbox = Outbox(
            self.quick,
            self.durable,
            lease=config.connect_timeout + config.exchange_timeout + _LEASE_MARGIN_SECONDS,
            now=pacing.now,
        )
        self.delivery = Delivery(self.outbox, self._lost, config=config, pacing=pacing)
        self.worker = Worker(self._background_step, exit_patience=config.exit_patience)
        guard(self)

    def join(self, user: Losses) -> None:
        """Count ``user`` among those who use the file, and tell it of losses."""
        self._users.add(user)

    def leave(self, user: Losses) -> None:
        """Take ``user`` off; the last to leave ends the thread and closes the file."""
        self._users.discard(user)
        if not self._users:
            self.worker.stop(self._config.exit_patience)
            self.delivery.close()
            self.quick.close()
            self.durable.close()

    def before_fork(self) -> None:
        """Do nothing: what is shared comes to rest by itself."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""

    def after_fork_in_child(self) -> None:
        """Count the users anew: some belong to threads that the child does not have."""
        self._users = WeakSet()

    def flush(self, seconds: float) -> bool:
        """Send what waits, for at most `seconds`; say whether nothing is left."""
        over = self._pacing.monotonic() + seconds
        self.outbox.resume()
        # At least a moment, in which a server nearby takes a report.
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

    def _lost(self, claimed: Claimed, reason: str, detail: str) -> None:
        users = list(self._users)
        # What an earlier run of the app left behind has no client of its own: all are told.
        own = [user for user in users if user.survey == claimed.survey] or users
        for user in own:
            user.count(reason, detail)


def sender_of(path: Path, config: ClientConfig, pacing: Pacing) -> Sender:
    """Return this process's sender for a file, one per configuration."""
    key = (path.absolute(), config, pacing)
    found = _senders.get(key)
    # Two threads may both make one: each works, and one of them is shared from then on.
    return _senders.setdefault(key, Sender(*key)) if found is None else found


def _shared(path: Path, *, durable: bool) -> Database:
    key = (path, durable)
    found = _databases.get(key)
    return _databases.setdefault(key, Database(path, durable=durable)) if found is None else found
