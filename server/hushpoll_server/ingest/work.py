"""Work that must not hold the event loop up: on a few threads, redemptions in groups."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from hushpoll_server.errors import Refused
from hushpoll_server.ingest.group_commit import unavailable
from hushpoll_server.services.surveys.invitations import CheckedRedemption

# For the database, a compressed or large body, a batch's checks.
WORK_THREADS: Final = 4
MOST_WORK: Final = 1000
MOST_AT_ONCE: Final = 100
"""Redemptions of one transaction."""

_Result = TypeVar("_Result")
Evaluation = dict[str, str]
Redeem = Callable[[Sequence[CheckedRedemption]], Sequence[Evaluation | Refused]]


class Work:
    """Runs functions that may wait on a few threads, with a bounded queue."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(WORK_THREADS, thread_name_prefix="hushpoll-work")
        self._waiting = 0

    async def run(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """Return what `function` returns; refuse where too much waits."""
        if self._waiting >= MOST_WORK:
            raise unavailable(f"{self._waiting} requests wait already")
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, function, *arguments)
        finally:
            self._waiting -= 1

    def stop(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class RedemptionGroups:
    """Redeems invitations in groups: those that come while one is stored share the next one.

    One thread stores a group in one transaction and evaluates it, so a redemption costs a share of
    a commit, and no thread waits for another. All else happens on the event loop.
    """

    def __init__(self, redeem: Redeem, work: Work) -> None:
        self._redeem = redeem
        self._work = work
        self._waiting: deque[tuple[CheckedRedemption, asyncio.Future[Evaluation]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def redeem(self, redemption: CheckedRedemption) -> Evaluation:
        """Return the answer to a redemption, once it is stored; refuse where too many wait."""
        if len(self._waiting) >= MOST_WORK:
            raise unavailable(f"{len(self._waiting)} redemptions wait already")
        settled: asyncio.Future[Evaluation] = asyncio.get_running_loop().create_future()
        self._waiting.append((redemption, settled))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await settled

    async def _run(self) -> None:
        try:
            while self._waiting:
                size = min(len(self._waiting), MOST_AT_ONCE)
                await self._settle([self._waiting.popleft() for _ in range(size)])
        finally:
            self._running = None

    async def _settle(
        self, group: Sequence[tuple[CheckedRedemption, asyncio.Future[Evaluation]]]
    ) -> None:
        try:
            answers = await self._work.run(self._redeem, [redemption for redemption, _ in group])
        except BaseException as error:
            for _, settled in group:
                if not settled.done():
                    settled.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, settled), answer in zip(group, answers, strict=True):
            if settled.done():  # its client has gone
                continue
            if isinstance(answer, Refused):
                settled.set_exception(answer)
            else:
                settled.set_result(answer)
