"""What can fail on a device beside the network, and how it stays away from the host app.

A caller's mistake is always raised. A fault of the disk, or of this package, is logged by its type
alone and counted; with ``ClientConfig.raise_faults``, as in tests, it is raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hushpoll_protocols.errors import HushpollError

OnLoss = Callable[[str], object]


class ConsentMissing(HushpollError):
    """The respondent has not agreed, or no longer agrees; nothing was read and nothing was sent."""


class StorageError(HushpollError):
    """The device's own file cannot be read or written; nothing was randomised or sent."""


class OutboxFull(StorageError):
    """Too many reports wait to be sent; nothing was randomised."""


def warn(message: str, *values: object) -> None:
    """Log at WARNING; an app that meets no fault does not pay for importing the module."""
    import logging

    logging.getLogger("hushpoll_client").warning(message, *values)


class Losses:
    """Counts every answer that will not arrive, by reason, and says so at WARNING.

    Parameters
    ----------
    survey : str
        Whose answers.
    on_loss : callable or None
        Called with the reason, from whichever thread noticed. What it raises is logged.
    """

    def __init__(self, survey: str, on_loss: OnLoss | None) -> None:
        self.survey = survey
        self._counts: Counter[str] = Counter()
        self._on_loss = on_loss

    def count(self, reason: str, detail: str) -> None:
        """Count one loss.

        Parameters
        ----------
        reason : str
            Stable code.
        detail : str
            For the log; never an answer.
        """
        self._counts[reason] += 1
        warn("an answer is lost (%s): %s", reason, detail)
        if self._on_loss is None:
            return
        try:
            self._on_loss(reason)
        except Exception as error:
            # The host's own code, in what may be our thread.
            warn("on_loss raised %s", type(error).__name__)

    def by_reason(self) -> dict[str, int]:
        """Return how many answers this process has lost, by reason."""
        return dict(self._counts)
