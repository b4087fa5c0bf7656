"""Wire mode: every respondent a real `SurveyClient` over real HTTP, several at a time."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from hushpoll_client import ClientConfig, Published, Report, ReportNotSent, SurveyClient, randomize
from hushpoll_client.delivery.connections import new_session
from hushpoll_client.delivery.timing import Pacing
from hushpoll_fleet.behaviour.misbehaviour import misversioned, poisoned_report
from hushpoll_fleet.behaviour.plan import Conduct, Role
from hushpoll_fleet.behaviour.shares import POISONERS, Behaviour
from hushpoll_fleet.sending.account import Account, unwatched
from hushpoll_fleet.sending.agenda import Agenda
from hushpoll_protocols.errors import InvalidParameter

if TYPE_CHECKING:
    import requests

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
    conduct : Conduct
        Who arrives when, and behaves how.
    first : int
        Number of the first respondent, for a fleet played in parts; its noise depends on it.
    """

    concurrency: int = 8
    noise_seed: int | None = None
    config: ClientConfig = _DEVICE
    conduct: Conduct = field(default_factory=Conduct)
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
class _Errand:
    """One thing to send: a respondent's answers, or a report that was kept."""

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
    roles: Sequence[Role] | None = None,
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
    roles : sequence of Role or None
        The part of each respondent, in order of arrival; by default those of the options' conduct.
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
    parts = options.conduct.roles(account.respondents) if roles is None else roles
    agenda = Agenda(_planned(respondents, parts, tokens, options.first), over)
    # Nobody sits out a wait of the client's once the simulation is over.
    fleet = _Fleet(url, published, account, options, Pacing(sleep=over.wait), agenda, over)
    began = time.monotonic()
    try:
        with ThreadPoolExecutor(options.concurrency, thread_name_prefix="respondent") as pool:
            running = [pool.submit(fleet.work, progress) for _ in range(options.concurrency)]
            try:
                for one in running:
                    one.result()
            finally:
                # Also on Ctrl-C: each thread ends with the respondent it has.
                over.set()
    finally:
        account.seconds = time.monotonic() - began
    return account


def _planned(
    respondents: Iterable[Answers],
    roles: Sequence[Role],
    tokens: Iterator[str] | None,
    first: int,
) -> Iterator[tuple[float, _Errand]]:
    for number, (answers, role) in enumerate(zip(respondents, roles, strict=False), start=first):
        token = next(tokens, None) if tokens is not None else None
        yield role.at, _Errand(number, role.behaviour, answers, token)


class _Fleet:
    """What the threads of a fleet share."""

    def __init__(
        self,
        url: str,
        published: Published,
        account: Account,
        options: WireOptions,
        pacing: Pacing,
        agenda: Agenda[_Errand],
        over: threading.Event,
    ) -> None:
        self._url = url
        self._published = published
        self._account = account
        self._options = options
        self._pacing = pacing
        self._agenda = agenda
        self._over = over
        self._lock = threading.Lock()

    def work(self, progress: Callable[[int], None]) -> None:
        """Run errands until there are none left."""
        with new_session() as session:
            while (errand := self._agenda.take()) is not None:
                try:
                    if self._run(errand, session):
                        with self._lock:
                            progress(1)
                finally:
                    self._agenda.done()

    def _run(self, errand: _Errand, session: requests.Session) -> bool:
        """Run one errand; return whether its respondent is done."""
        client = SurveyClient(
            self._url,
            self._published.name,
            published=self._published,
            token=errand.token,
            config=self._options.config,
            session=session,
            pacing=self._pacing,
        )
        report = errand.kept or self._report(errand, client)
        if errand.behaviour is Behaviour.OFFLINE and errand.kept is None:
            self._agenda.put(self._options.conduct.offline_seconds, replace(errand, kept=report))
            return False
        arrived = self._send(client, report, errand.behaviour)
        if arrived and errand.behaviour is Behaviour.REPLAY:
            self._send(client, report, errand.behaviour, again=True)
        return True

    def _report(self, errand: _Errand, client: SurveyClient) -> Report:
        conduct, seed = self._options.conduct, self._options.noise_seed
        if errand.behaviour in POISONERS:
            rng = conduct.stream("poison", errand.number)
            return poisoned_report(
                self._published,
                errand.behaviour,
                errand.answers,
                conduct.aims(self._published),
                rng,
            )
        if seed is None:
            report = client.randomize(errand.answers)
        else:
            bits = SeededBits(seed, errand.number)
            report = randomize(self._published, errand.answers, bits=bits)
        return misversioned(report) if errand.behaviour is Behaviour.WRONG_VERSION else report

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
                given = (error.problem or {}).get("code")
                status = "rejected"
                code = given if isinstance(given, str) else f"status-{error.status}"
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
