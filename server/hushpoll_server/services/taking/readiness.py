"""Whether this process can take reports now, and if not, why."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from hushpoll_server.services.taking.writability import Writability

PROBE_SECONDS = 2.0


class CommitState(Protocol):
    """What the thread that stores reports is doing."""

    @property
    def waiting(self) -> int:
        """Reports that wait for their commit."""

    @property
    def most(self) -> int:
        """Reports that may wait."""

    @property
    def stopping(self) -> bool:
        """Whether new reports are refused."""

    @property
    def died(self) -> bool:
        """Whether the thread ended by itself."""


class Commit(Protocol):
    """What stores the reports of this process."""

    @property
    def state(self) -> CommitState:
        """What it is doing now."""


@dataclass(frozen=True)
class Reason:
    """Why the server is not ready.

    Parameters
    ----------
    code : str
        ``stopping``, ``writer``, ``queue``, ``database``, ``schema`` or ``writing``.
    detail : str
        The same in words; nothing of a request or a respondent.
    """

    code: str
    detail: str


@dataclass(eq=False)
class _Probe:
    """One question to the database, shared by all requests that ask while it lasts."""

    done: threading.Event = field(default_factory=threading.Event)
    version: str | None = None
    failed: bool = True


class Readiness:
    """Answers within two seconds, also where the database hangs.

    Parameters
    ----------
    commit : Commit
        Stores the reports of this process.
    writability : Writability
        Knows whether reports can be stored.
    schema_version : callable
        Asks the database for its schema version.
    expected : str
        Schema version of this program.
    """

    def __init__(
        self,
        *,
        commit: Commit,
        writability: Writability,
        schema_version: Callable[[], str | None],
        expected: str,
        probe_seconds: float = PROBE_SECONDS,
    ) -> None:
        self._commit = commit
        self._writability = writability
        self._schema_version = schema_version
        self._expected = expected
        self._probe_seconds = probe_seconds
        self._lock = threading.Lock()
        self._probe: _Probe | None = None

    def reasons(self) -> list[Reason]:
        """Return why the server is not ready; nothing if it is."""
        end = time.monotonic() + self._probe_seconds
        reasons = [*self._of_the_commit(), *self._of_the_database()]
        return reasons or self._of_writing(max(0.0, end - time.monotonic()))

    def _of_the_commit(self) -> list[Reason]:
        state = self._commit.state
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

    def _of_writing(self, seconds: float) -> list[Reason]:
        if not self._writability.failing(seconds):
            return []
        return [
            Reason("writing", "the database stores nothing; what is stored already can be read")
        ]

    def _of_the_database(self) -> list[Reason]:
        with self._lock:
            probe = self._probe
            if probe is None or probe.done.is_set():
                probe = self._probe = _Probe()
                threading.Thread(
                    target=self._ask, args=(probe,), name="hushpoll-readiness", daemon=True
                ).start()
        if not probe.done.wait(self._probe_seconds):
            return [
                Reason("database", f"the database did not answer within {self._probe_seconds:g} s")
            ]
        if probe.failed:
            return [Reason("database", "the database does not answer")]
        if probe.version != self._expected:
            return [
                Reason(
                    "schema",
                    f"the database has schema version {probe.version}, this program "
                    f"{self._expected}",
                )
            ]
        return []

    def _ask(self, probe: _Probe) -> None:
        try:
            probe.version = self._schema_version()
            probe.failed = False
        except Exception:  # whatever it is, the answer is the same
            probe.failed = True
        finally:
            probe.done.set()
