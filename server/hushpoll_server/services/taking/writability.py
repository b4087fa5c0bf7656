"""Whether the database stores anything: by the last commit, or by a small write of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from hushpoll_server.logs import get_logger

log = get_logger(__name__)

INTERVAL_SECONDS: Final = 1.0

_Upload = TypeVar("_Upload")
_Outcome = TypeVar("_Outcome")


class Writability:
    """Remembers whether the last commit succeeded; where that is too old, it writes a probe itself.

    Parameters
    ----------
    write : callable
        Makes a small durable write; raises if it fails.
    interval : float
        Seconds, above 0. After a commit that succeeded, and after the start of a write of its own,
        it does not write again for so long.
    monotonic : callable
        Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        write: Callable[[], None],
        *,
        interval: float = INTERVAL_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._interval = interval
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._failing = False
        self._known_until = monotonic()
        self._ended = threading.Event()
        self._ended.set()

    def watched(
        self, commit: Callable[[Sequence[_Upload]], _Outcome]
    ) -> Callable[[Sequence[_Upload]], _Outcome]:
        """Return `commit` such that its success or failure is known here."""

        def watch(uploads: Sequence[_Upload]) -> _Outcome:
            try:
                outcome = commit(uploads)
            except Exception:
                self._note(failing=True)
                raise
            self._note(failing=False)
            self._known_until = self._monotonic() + self._interval
            return outcome

        return watch

    def failing(self, seconds: float) -> bool:
        """Return whether the last attempt to write failed.

        Parameters
        ----------
        seconds : float
            How long to wait for a write that is under way. One that takes longer has not failed:
            on SQLite, writes wait for a seal to end.
        """
        with self._lock:
            now = self._monotonic()
            if self._ended.is_set() and now >= self._known_until:
                self._known_until = now + self._interval
                self._ended.clear()
                threading.Thread(
                    target=self._attempt, name="hushpoll-write-probe", daemon=True
                ).start()
        self._ended.wait(seconds)
        return self._failing

    def _attempt(self) -> None:
        try:
            self._write()
        except Exception as error:  # of whatever driver: it is the answer
            self._note(failing=True, error=type(error.__cause__ or error).__name__)
        else:
            self._note(failing=False)
        finally:
            self._ended.set()

    def _note(self, *, failing: bool, error: str | None = None) -> None:
        changed, self._failing = failing != self._failing, failing
        if changed and failing and error is not None:
            log.error("nothing-can-be-stored", error=error)
        elif changed and not failing:
            log.info("storing-works-again")
