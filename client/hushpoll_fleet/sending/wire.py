"""Wire mode: each simulated respondent is a real `SurveyClient` over real HTTP."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from hushpoll_client import ClientConfig, Report, ReportNotSent, SurveyClient
from hushpoll_client.delivery.timing import Pacing
from hushpoll_fleet.behaviour import POISONERS, Behaviour, other_digest
from hushpoll_fleet.sending.account import Account, no_progress
from hushpoll_fleet.sending.fleet import Fleet, Member
from hushpoll_protocols.errors import refusal_of

_T = TypeVar("_T")

# How long a thread sleeps at most before it looks again, since the simulation may be over.
_LONGEST_NAP = 0.05


class Schedule(Generic[_T]):
    """The next tasks of a fleet in the order of time, which its threads share.

    `planned` are due times in seconds from the start, ascending, with items that are drawn when
    they are needed. Once `over` is set, `take` returns None.
    """

    def __init__(self, planned: Iterator[tuple[float, _T]], over: threading.Event) -> None:
        self._planned = planned
        self._over = over
        # Notified when an item is put, and when the last one is done.
        self._changed = threading.Condition(threading.Lock())
        self._order = itertools.count()
        # Due, order, item, and whether it was planned; never without the next planned one.
        self._waiting: list[tuple[float, int, _T, bool]] = []
        self._has_planned = False
        self._busy = 0
        self._began = time.monotonic()

    def put(self, delay: float, item: _T) -> None:
        """Add an item that is due in ``delay`` seconds."""
        with self._changed:
            due = time.monotonic() - self._began + delay
            heapq.heappush(self._waiting, (due, next(self._order), item, False))
            self._changed.notify()

    def take(self) -> _T | None:
        """Return the next item once it is due, or None when there is nothing left.

        The thread that takes an item calls `done` afterwards; until then it may add others.
        """
        while not self._over.is_set():
            with self._changed:
                self._plan()
                wait = _LONGEST_NAP
                if self._waiting:
                    wait = min(wait, self._waiting[0][0] - (time.monotonic() - self._began))
                    if wait <= 0:
                        _, _, item, planned = heapq.heappop(self._waiting)
                        self._has_planned &= not planned
                        self._busy += 1
                        return item
                elif not self._busy:
                    return None
                self._changed.wait(wait)
        return None

    def done(self) -> None:
        """Mark an item that was taken as finished."""
        with self._changed:
            self._busy -= 1
            if not self._busy:
                self._changed.notify_all()

    def _plan(self) -> None:
        if self._has_planned:
            return
        planned = next(self._planned, None)
        if planned is not None:
            heapq.heappush(self._waiting, (planned[0], next(self._order), planned[1], True))
            self._has_planned = True


LARGEST_CONCURRENCY: Final = 256
_DEVICE: Final = ClientConfig()


@dataclass(frozen=True, slots=True)
class _Task:
    """A respondent whose report is to be sent; `report` is one that it randomised earlier."""

    member: Member
    report: Report | None = None


def play(
    url: str,
    fleet: Fleet,
    account: Account,
    *,
    concurrency: int = 8,
    config: ClientConfig = _DEVICE,
    progress: Callable[[int], None] = no_progress,
) -> Account:
    """Let every respondent answer, and return the account, right also if it is interrupted.

    A respondent who reaches the end of the client's patience without an answer ends the simulation:
    the server is away, and the others would each wait as long. Their reports stay unsent. Each of
    `concurrency` threads, in [1, 256], keeps one connection.
    """
    if not 1 <= concurrency <= LARGEST_CONCURRENCY:
        raise refusal_of("concurrency")(
            f"is {concurrency}; give an integer in [1, {LARGEST_CONCURRENCY}]"
        )
    over = threading.Event()
    sender = _Sender(url, fleet, account, config, over)
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(concurrency, thread_name_prefix="respondent") as pool:
            try:
                running = [pool.submit(sender.work, progress) for _ in range(concurrency)]
                for future in running:
                    future.result()
            finally:
                # On Ctrl-C, too, which may come while threads are still being started, each thread
                # ends after its present respondent.
                over.set()
    finally:
        account.seconds = time.monotonic() - began
    return account


class _Sender:
    """What the threads that play a fleet share."""

    def __init__(
        self,
        url: str,
        fleet: Fleet,
        account: Account,
        config: ClientConfig,
        over: threading.Event,
    ) -> None:
        self._url = url
        self._fleet = fleet
        self._account = account
        self._config = config
        self._over = over
        # Once the simulation is over, no client goes on waiting for its next attempt.
        self._pacing = Pacing(sleep=over.wait)
        planned = ((member.assignment.at, _Task(member)) for member in fleet.members())
        self._schedule = Schedule(planned, over)
        self._lock = threading.Lock()

    def work(self, progress: Callable[[int], None]) -> None:
        """Run tasks until none is left."""
        published = self._fleet.published
        with SurveyClient(
            self._url,
            published.name,
            published=published,
            config=self._config,
            pacing=self._pacing,
        ) as first:
            while (task := self._schedule.take()) is not None:
                try:
                    if self._run(task, first.for_next_respondent(task.member.token)):
                        with self._lock:
                            progress(1)
                finally:
                    self._schedule.done()

    def _run(self, task: _Task, client: SurveyClient) -> bool:
        """Run one task; return whether its respondent is done."""
        fleet, member = self._fleet, task.member
        behaviour = member.assignment.behaviour
        report = task.report or fleet.report(member, client.randomize)
        if behaviour is Behaviour.OFFLINE and task.report is None:
            self._schedule.put(fleet.plan.offline_seconds, _Task(member, report))
            return False
        if behaviour is Behaviour.WRONG_VERSION:
            report = replace(report, digest=other_digest(report.digest))
        answered = self._send(client, report, behaviour)
        if answered and behaviour is Behaviour.REPLAY:
            self._send(client, report, behaviour, again=True)
        return True

    def _send(
        self, client: SurveyClient, report: Report, behaviour: Behaviour, *, again: bool = False
    ) -> bool:
        """Send, and enter it into the account; return whether the server answered."""
        account = self._account
        status, code = "pending", ""
        try:
            status = client.send(report, wait=self._config.patience).status
        except ReportNotSent as error:
            if not error.retryable:
                problem_code = (error.problem or {}).get("code")
                status = "rejected"
                code = problem_code if isinstance(problem_code, str) else f"status-{error.status}"
        with self._lock:
            account.replays += again
            if not again:
                account.poisoned += behaviour in POISONERS
                account.misversioned += behaviour is Behaviour.WRONG_VERSION
            if status == "accepted":
                account.accepted += 1
            elif status == "duplicate":
                account.duplicate += 1
            elif status == "rejected":
                account.rejected[code] += 1
            else:
                account.pending += 1
                self._over.set()
        return status != "pending"
