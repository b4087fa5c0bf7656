"""Wire mode: each simulated respondent is a real `SurveyClient` over real HTTP."""

from __future__ import annotations

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from hushpoll_client import ClientConfig, Published, Report, ReportNotSent, SurveyClient, randomize
from hushpoll_client.delivery.connections import new_session
from hushpoll_client.delivery.timing import Pacing
from hushpoll_fleet.behaviour.plan import POISONERS, Assignment, Behaviour, FleetPlan
from hushpoll_fleet.behaviour.poisoning import misversioned, poisoned_report
from hushpoll_fleet.sending.account import Account, unwatched
from hushpoll_protocols.errors import InvalidParameter

if TYPE_CHECKING:
    import requests

_T = TypeVar("_T")

# How long a thread sleeps at most before it looks again, since another may add an earlier item.
_LONGEST_NAP = 0.05


class Schedule(Generic[_T]):
    """The next tasks of a fleet in the order of time, shared by its threads.

    Parameters
    ----------
    planned : iterator of (float, item)
        Due times in seconds from the start, ascending; each item is drawn when it is needed.
    over : threading.Event
        Once set, `take` returns None.
    """

    def __init__(self, planned: Iterator[tuple[float, _T]], over: threading.Event) -> None:
        self._planned = planned
        self._over = over
        self._lock = threading.Lock()
        self._order = itertools.count()
        # Due, order, item, and whether it was planned; never without the next planned one.
        self._waiting: list[tuple[float, int, _T, bool]] = []
        self._has_planned = False
        self._busy = 0
        self._began = time.monotonic()

    def put(self, delay: float, item: _T) -> None:
        """Add an item that is due in ``delay`` seconds."""
        with self._lock:
            due = time.monotonic() - self._began + delay
            heapq.heappush(self._waiting, (due, next(self._order), item, False))

    def take(self) -> _T | None:
        """Return the next item once it is due, or None when there is nothing left.

        The thread that takes an item calls `done` afterwards; until then it may add others.
        """
        while not self._over.is_set():
            with self._lock:
                self._plan()
                if self._waiting:
                    wait = self._waiting[0][0] - (time.monotonic() - self._began)
                    if wait <= 0:
                        _, _, item, planned = heapq.heappop(self._waiting)
                        self._has_planned &= not planned
                        self._busy += 1
                        return item
                elif not self._busy:
                    return None
                else:
                    wait = _LONGEST_NAP
            self._over.wait(min(wait, _LONGEST_NAP))
        return None

    def done(self) -> None:
        """Mark an item that was taken as finished."""
        with self._lock:
            self._busy -= 1

    def _plan(self) -> None:
        if self._has_planned:
            return
        planned = next(self._planned, None)
        if planned is not None:
            heapq.heappush(self._waiting, (planned[0], next(self._order), planned[1], True))
            self._has_planned = True


Answers = Mapping[str, str | int | None]
LARGEST_CONCURRENCY: Final = 256

_DEVICE: Final = ClientConfig()


@dataclass(frozen=True, slots=True, kw_only=True)
class WireOptions:
    """How a fleet sends.

    Attributes
    ----------
    concurrency : int
        Respondents at a time, in [1, 256]; each of so many threads keeps one connection.
    noise_seed : int or None
        With a seed, the noise is reproducible and protects nobody; None draws it from the operating
        system, as a device does.
    config : ClientConfig
        Timeouts and retries of each respondent.
    plan : FleetPlan
        When respondents arrive, and how they behave.
    first : int
        Number of the first respondent, for a fleet played in parts; its noise depends on it.
    """

    concurrency: int = 8
    noise_seed: int | None = None
    config: ClientConfig = _DEVICE
    plan: FleetPlan = field(default_factory=FleetPlan)
    first: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= LARGEST_CONCURRENCY:
            raise InvalidParameter(
                f"concurrency is {self.concurrency}; give an integer in [1, {LARGEST_CONCURRENCY}]",
                field="concurrency",
            )


class SeededBits:
    """Reproducible words for one respondent of a simulation. Not private.

    Parameters
    ----------
    seed, respondent : int
        The same two give the same words, whichever thread asks.
    """

    __slots__ = ("_random",)

    def __init__(self, seed: int, respondent: int) -> None:
        self._random = random.Random(f"{seed}/{respondent}")

    def word(self) -> int:
        """Return the next 64-bit word."""
        return self._random.getrandbits(64)

    def words(self, count: int) -> Sequence[int]:
        """Return the next `count` words."""
        return [self._random.getrandbits(64) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class _Task:
    """One respondent's answers to send, or a report that it has kept."""

    number: int
    behaviour: Behaviour
    answers: Answers
    token: str | None = None
    kept: Report | None = None


def play(
    url: str,
    published: Published,
    respondents: Iterable[Answers],
    account: Account,
    *,
    options: WireOptions,
    assignments: Sequence[Assignment] | None = None,
    tokens: Iterator[str] | None = None,
    progress: Callable[[int], None] = unwatched,
) -> Account:
    """Let every respondent answer, and keep the account.

    A respondent who reaches the end of the client's patience without an answer ends the simulation:
    the server is away, and the others would each wait as long. Theirs stay unsent.

    Parameters
    ----------
    url : str
        Address of the server.
    published : Published
        The survey, as pinned by every respondent.
    respondents : iterable of mapping
        Answers of each.
    account : Account
        Starts with the number of respondents; also right if the simulation is interrupted.
    options : WireOptions
        How to send.
    assignments : sequence of Assignment or None
        When each respondent arrives and how it behaves; by default as the options' plan says.
    tokens : iterator of str or None
        One single-use token per respondent, for a token survey.
    progress : callable
        Called with the number of respondents just done.

    Returns
    -------
    Account
        The same object.
    """
    over = threading.Event()
    if assignments is None:
        assignments = options.plan.assignments(account.respondents)
    schedule = Schedule(_planned(respondents, assignments, tokens, options.first), over)
    # Once the simulation is over, no client goes on waiting for its next attempt.
    fleet = _Fleet(url, published, account, options, Pacing(sleep=over.wait), schedule, over)
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(options.concurrency, thread_name_prefix="respondent") as pool:
            running = [pool.submit(fleet.work, progress) for _ in range(options.concurrency)]
            try:
                for future in running:
                    future.result()
            finally:
                # On Ctrl-C, too, each thread ends after its present respondent.
                over.set()
    finally:
        account.seconds = time.monotonic() - began
    return account


def _planned(
    respondents: Iterable[Answers],
    assignments: Sequence[Assignment],
    tokens: Iterator[str] | None,
    first: int,
) -> Iterator[tuple[float, _Task]]:
    for number, (answers, assignment) in enumerate(
        zip(respondents, assignments, strict=False), start=first
    ):
        token = next(tokens, None) if tokens is not None else None
        yield assignment.at, _Task(number, assignment.behaviour, answers, token)


class _Fleet:
    """What the threads of a fleet share."""

    def __init__(
        self,
        url: str,
        published: Published,
        account: Account,
        options: WireOptions,
        pacing: Pacing,
        schedule: Schedule[_Task],
        over: threading.Event,
    ) -> None:
        self._url = url
        self._published = published
        self._account = account
        self._options = options
        self._pacing = pacing
        self._schedule = schedule
        self._over = over
        self._lock = threading.Lock()

    def work(self, progress: Callable[[int], None]) -> None:
        """Run tasks until none is left."""
        with new_session() as session:
            while (task := self._schedule.take()) is not None:
                try:
                    if self._run(task, session):
                        with self._lock:
                            progress(1)
                finally:
                    self._schedule.done()

    def _run(self, task: _Task, session: requests.Session) -> bool:
        """Run one task; return whether its respondent is done."""
        client = SurveyClient(
            self._url,
            self._published.name,
            published=self._published,
            token=task.token,
            config=self._options.config,
            session=session,
            pacing=self._pacing,
        )
        report = task.kept or self._report(task, client)
        if task.behaviour is Behaviour.OFFLINE and task.kept is None:
            self._schedule.put(self._options.plan.offline_seconds, replace(task, kept=report))
            return False
        arrived = self._send(client, report, task.behaviour)
        if arrived and task.behaviour is Behaviour.REPLAY:
            self._send(client, report, task.behaviour, again=True)
        return True

    def _report(self, task: _Task, client: SurveyClient) -> Report:
        plan, seed = self._options.plan, self._options.noise_seed
        if task.behaviour in POISONERS:
            rng = plan.stream("poison", task.number)
            return poisoned_report(
                self._published,
                task.behaviour,
                task.answers,
                plan.aims(self._published),
                rng,
            )
        if seed is None:
            report = client.randomize(task.answers)
        else:
            bits = SeededBits(seed, task.number)
            report = randomize(self._published, task.answers, bits=bits)
        return misversioned(report) if task.behaviour is Behaviour.WRONG_VERSION else report

    def _send(
        self, client: SurveyClient, report: Report, behaviour: Behaviour, *, again: bool = False
    ) -> bool:
        """Send, and enter it into the account; return whether the server answered."""
        account = self._account
        status, code = "pending", ""
        try:
            status = client.send(report).status
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
