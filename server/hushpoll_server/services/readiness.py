"""The check behind ``/ready``: whether this process can store reports now, and if not, why."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from hushpoll_server.logs import get_logger

log = get_logger(__name__)

PROBE_SECONDS: Final = 2.0
NO_WORKER: Final = (
    "no worker runs, so jobs wait: start hushpoll worker with the settings of the server, or start "
    "the server without --no-worker"
)
WORKER_STARTS: Final = "the worker of this server is starting, so jobs wait for some seconds"
WORKER_START_SECONDS: Final = 60.0
"""How long the worker of a server may take to come up."""

# After a commit that succeeded, and after the start of a write of its own, readiness does not write
# again for so long.
WRITE_INTERVAL_SECONDS: Final = 1.0


class MissingWorker:
    """What to say where no worker is alive: in the first minute, the server's may be starting."""

    def __init__(self, *, own: bool, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._starts_until = monotonic() + WORKER_START_SECONDS if own else -math.inf

    def hint(self) -> str:
        """Return the sentence, with its remedy."""
        return WORKER_STARTS if self._monotonic() < self._starts_until else NO_WORKER


class CommitState(NamedTuple):
    """What the thread that stores reports is doing."""

    waiting: int
    """Reports that wait for their commit, those in the present group included."""
    most: int
    """Reports that may wait."""
    stopping: bool = False
    """Whether new reports are refused."""
    died: bool = False
    """Whether the thread ended without being told to."""
    failed: bool = False
    """Whether the last commit failed."""
    ended_at: float = -math.inf
    """Seconds of the monotonic clock; minus infinity before the first commit."""


@dataclass(frozen=True)
class Reason:
    """Why the server is not ready: ``code`` in words, with nothing of a request or a respondent."""

    code: str
    """``stopping``, ``writer``, ``queue``, ``database``, ``schema`` or ``writing``."""
    detail: str


class _Probe:
    """A question to the database, asked on a thread: the database may hang.

    It is asked once at a time, and its answer is for all requests that wait for it. `began_at` and
    `as_of`, when it was last asked and when that was whose answer is the last, are of the monotonic
    clock.
    """

    def __init__(self, ask: Callable[[], str | None], name: str) -> None:
        self._ask = ask
        self._name = name
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ended.set()
        self.began_at = self.as_of = -math.inf
        self.answer: str | None = None
        self.error: Exception | None = None

    def begin(self, now: float, *, not_before: float = -math.inf) -> None:
        """Ask, unless it is being asked or `now` is before a moment."""
        with self._lock:
            if self._ended.is_set() and now >= not_before:
                self.began_at = now
                self._ended.clear()
                threading.Thread(
                    target=self._run, args=(now,), name=self._name, daemon=True
                ).start()

    def wait(self, seconds: float) -> bool:
        """Return whether the answer is there within so many seconds."""
        return self._ended.wait(seconds)

    def _run(self, now: float) -> None:
        try:
            self.answer, self.error = self._ask(), None
        except Exception as error:  # of whatever driver: it is the answer
            self.error = error
        finally:
            self.as_of = now
            self._ended.set()


class Readiness:
    """Answers within two seconds, also where the database hangs.

    Whether reports can be stored is known by the last commit; where that is too old or failed, by a
    small write of readiness's own. `expected` is the schema version of this program.
    """

    def __init__(
        self,
        *,
        commit_state: Callable[[], CommitState],
        write: Callable[[], None],
        schema_version: Callable[[], str | None],
        expected: str,
        any_worker: Callable[[], bool] = lambda: True,
        probe_seconds: float = PROBE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commit_state = commit_state
        self._expected = expected
        self._probe_seconds = probe_seconds
        self._monotonic = monotonic
        self._version = _Probe(schema_version, "hushpoll-readiness")
        self._any_worker = any_worker
        self._worker = _Probe(self._ask_for_worker, "hushpoll-worker-probe")
        self._write = _Probe(write, "hushpoll-write-probe")
        self._failing = False

    def reasons(self) -> list[Reason]:
        """Return why the server is not ready; nothing if it is."""
        end = time.monotonic() + self._probe_seconds
        reasons = [*self._of_the_commit(), *self._of_the_database()]
        return reasons or self._of_writing(max(0.0, end - time.monotonic()))

    def worker(self) -> str:
        """Return whether a worker of the database is alive: ``ok``, ``none`` or ``unknown``."""
        self._worker.begin(self._monotonic())
        if not self._worker.wait(self._probe_seconds) or self._worker.error is not None:
            return "unknown"
        return str(self._worker.answer)

    def _ask_for_worker(self) -> str:
        return "ok" if self._any_worker() else "none"

    def _of_the_commit(self) -> list[Reason]:
        state = self._commit_state()
        reasons = []
        if state.stopping:
            reasons.append(Reason("stopping", "the server is stopping"))
        elif state.died:
            reasons.append(Reason("writer", "the thread that stores reports has ended"))
        if state.waiting >= state.most:
            reasons.append(
                Reason(
                    "queue", f"{state.waiting} reports wait to be stored, of at most {state.most}"
                )
            )
        return reasons

    def _of_the_database(self) -> list[Reason]:
        probe = self._version
        probe.begin(self._monotonic())
        if not probe.wait(self._probe_seconds):
            return [
                Reason("database", f"the database did not answer within {self._probe_seconds:g} s")
            ]
        if probe.error is not None:
            return [Reason("database", "the database does not answer")]
        if probe.answer != self._expected:
            return [
                Reason(
                    "schema",
                    f"the database has schema version {probe.answer}, this program "
                    f"{self._expected}",
                )
            ]
        return []

    def _of_writing(self, seconds: float) -> list[Reason]:
        """Return a reason where the last commit or write failed.

        A write that takes longer than `seconds` has not failed: on SQLite, writes wait for a seal
        to end.
        """
        state, probe = self._commit_state(), self._write
        stored_at = -math.inf if state.failed else state.ended_at
        last = max(stored_at, probe.began_at)
        probe.begin(self._monotonic(), not_before=last + WRITE_INTERVAL_SECONDS)
        probe.wait(seconds)
        by_commit = state.ended_at >= probe.as_of
        # A commit that failed is logged where it failed.
        error = None if by_commit else probe.error
        failing = state.failed if by_commit else error is not None
        if error is not None and not self._failing:
            log.error("nothing-can-be-stored", error=type(error.__cause__ or error).__name__)
            self._failing = True
        elif self._failing and not failing:
            log.info("storing-works-again")
            self._failing = False
        if not failing:
            return []
        return [
            Reason("writing", "the database stores nothing; what is stored already can be read")
        ]
