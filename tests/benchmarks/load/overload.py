"""More reports than are taken: 1.5, 3 and 10 times the peak, from 2,000 connections.

The server's processes are held on one processor and the generators on the others, so that a
generator never takes the server's time, and the peak is measured under the same limit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from benchmarks.load.figures import Figure, Options, at_least
from benchmarks.load.open_loop import Answers, Offer, offer
from benchmarks.load.site import Site, only_on, site
from benchmarks.load.wrk import CONNECTIONS, Run, median_rate

OFFERING_CONNECTIONS = 2000
# Times the peak that is offered, and the least share of the peak that is taken then.
FACTORS = ((1.5, 0.8), (3.0, 0.4), (10.0, 0.4))
AFTER_SECONDS = 2.0
# "Full rate" of two short runs on a machine that does other things as well.
AFTER_GOAL = 0.9
# Fewer places than connections: a server that has room for all of them never needs to refuse. The
# goals are about the server as it comes; here they say what refusing costs.
SHORT_QUEUE = 500
SHORT = (f"--queue-reports={SHORT_QUEUE}", f"--max-bulk-reports={SHORT_QUEUE}")
QUEUES: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("the queue as it comes", (), True),
    (f"a queue of {SHORT_QUEUE}", SHORT, False),
)


def overload(kind: str, options: Options) -> Iterator[Figure]:
    """Offer more than is taken, with a queue that is never full and with one that often is."""
    processors = sorted(os.sched_getaffinity(0))
    assert len(processors) > 1, "the case overload needs two processors, one for the server alone"
    for words, more, promised in QUEUES:
        with only_on(processors[1:]):
            # The server is started inside, and its processes stay where they were started.
            with only_on(processors[:1]):
                opened = site(kind, options, *more, threads=1)
                ours = opened.__enter__()
            try:
                yield from _figures(ours, options, words, promised=promised)
            finally:
                opened.__exit__(None, None, None)


def _figures(ours: Site, options: Options, queue: str, *, promised: bool) -> Iterator[Figure]:
    acknowledged = 0
    for factor, goal in FACTORS:
        peaks: list[Run] = []
        rounds: list[Answers] = []
        after: list[float] = []
        for _ in range(options.rounds):
            # The better of the two is what the server can do.
            here = [ours.wrk.peak(connections) for connections in CONNECTIONS]
            peaks.append(max(here, key=lambda run: run.rate))
            rounds.append(_offered(ours, factor * peaks[-1].rate, options.seconds))
            time.sleep(AFTER_SECONDS)
            connections = CONNECTIONS[here.index(peaks[-1])]
            after.append(ours.wrk.peak(connections).rate / peaks[-1].rate)
        acknowledged += sum(answers.accepted for answers in rounds)
        name = f"{factor:g} times the peak, {queue}"
        yield from _of_one_factor(name, goal if promised else None, peaks, rounds, after)
    yield ours.lost(acknowledged)


def _offered(ours: Site, rate: float, seconds: int) -> Answers:
    path, digest, record = ours.report
    return offer(Offer(ours.server.url, path, digest, record, rate, seconds, OFFERING_CONNECTIONS))


def _of_one_factor(
    name: str, goal: float | None, peaks: list[Run], rounds: list[Answers], after: list[float]
) -> Iterator[Figure]:
    peak = median_rate(peaks)
    seconds = sum(answers.seconds for answers in rounds)
    scheduled, sent, taken = (
        sum(counts) / seconds
        for counts in (
            [answers.scheduled for answers in rounds],
            [answers.sent for answers in rounds],
            [answers.in_time for answers in rounds],
        )
    )
    late = max(answers.latest_ms for answers in rounds)
    beside = (
        f"peak {peak:,.0f}/s; offered {scheduled:,.0f}/s by the clock, {sent:,.0f}/s sent, "
        f"the rest found all {OFFERING_CONNECTIONS:,} connections waiting; taken {taken:,.0f}/s, "
        f"p99 {max(answers.p99_ms for answers in rounds):,.0f} ms; the generator was "
        f"{late:.0f} ms late at most"
    )
    if goal is None:
        yield Figure(f"{name}: goodput", "none", f"{taken / peak:.2f} of the peak", beside)
    else:
        yield at_least(f"{name}: goodput", taken / peak, goal, unit=" of the peak", beside=beside)
    refused = sum(answers.refused for answers in rounds)
    odd = {
        status: count
        for answers in rounds
        for status, count in answers.statuses.items()
        if status not in (200, 201, 429, 503)
    }
    silent = sum(answers.without_retry_after for answers in rounds)
    unanswered = sum(answers.lost for answers in rounds)
    yield Figure(
        f"{name}: refusals other than 429 and 503 with Retry-After, and requests without an answer",
        "0",
        f"{silent + sum(odd.values()) + unanswered}",
        f"{refused:,} refused of {sum(answers.sent for answers in rounds):,} sent",
        silent + unanswered == 0 and not odd,
    )
    yield at_least(
        f"{name}: rate {AFTER_SECONDS:g} s after the end",
        sorted(after)[len(after) // 2],
        AFTER_GOAL,
        unit=" of the peak",
    )
