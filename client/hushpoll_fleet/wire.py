"""Wire mode: every respondent a real `SurveyClient` over real HTTP, several at a time."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hushpoll_client import ClientConfig, Published, Report, ReportNotSent, SurveyClient, randomize
from hushpoll_client.retry import Pacing
from hushpoll_client.sessions import new_session
from hushpoll_fleet.account import Account, unwatched
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
    """

    concurrency: int = 8
    noise_seed: int | None = None
    config: ClientConfig = _DEVICE

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


def play(
    url: str,
    published: Published,
    respondents: Iterator[Answers],
    account: Account,
    *,
    options: WireOptions,
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
    respondents : iterator of mapping
        Answers of each.
    account : Account
        Starts with the number of respondents; also right if the simulation is interrupted.
    options : WireOptions
        How to send.
    tokens : iterator of str or None
        One single-use token per respondent, for a token survey.
    progress : callable
        Called with the number of respondents just done.

    Returns
    -------
    Account
        The same object.
    """
    turns = enumerate(respondents)
    lock = threading.Lock()
    over = threading.Event()
    # Nobody sits out a wait of the client's once the simulation is over.
    pacing = Pacing(sleep=over.wait)

    def settle(result: Report | str) -> None:
        with lock:
            if result == "accepted":
                account.accepted += 1
            elif result == "duplicate":
                account.duplicate += 1
            elif isinstance(result, str):
                account.rejected[result] += 1
            else:
                account.pending += 1
                over.set()
            progress(1)

    def work() -> None:
        with new_session() as session:
            while not over.is_set():
                with lock:
                    turn = next(turns, None)
                    token = next(tokens, None) if tokens is not None and turn is not None else None
                if turn is None:
                    return
                settle(respond(*turn, token, session))

    def respond(
        number: int, answers: Answers, token: str | None, session: requests.Session
    ) -> Report | str:
        client = SurveyClient(
            url,
            published.name,
            published=published,
            token=token,
            config=options.config,
            session=session,
            pacing=pacing,
        )
        try:
            if options.noise_seed is None:
                return client.submit(answers).status
            bits = SeededBits(options.noise_seed, number)
            return client.send(randomize(published, answers, bits=bits)).status
        except ReportNotSent as error:
            if error.retryable:
                return error.report
            code = (error.problem or {}).get("code")
            return code if isinstance(code, str) else f"status-{error.status}"

    began = time.monotonic()
    try:
        with ThreadPoolExecutor(options.concurrency, thread_name_prefix="respondent") as pool:
            running = [pool.submit(work) for _ in range(options.concurrency)]
            try:
                for one in running:
                    one.result()
            finally:
                # Also on Ctrl-C: each thread ends with the respondent it has.
                over.set()
    finally:
        account.seconds = time.monotonic() - began
    return account
