"""Invitations: issued by a hundred thousand, and redeemed as fast as devices ask.

A redemption's processor time is that of all of the server's processes, without the devices on the
same machine, so it says the same on a busy one. Its floor is what the library takes for an
evaluation and its proof alone, without HTTP and database.
"""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from benchmarks.harness import Figure, against, announced
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import encode_redemption

INVITATIONS = 100_000
AT_A_TIME = 10_000
ISSUE_LIMIT_SECONDS = 10.0
REDEMPTIONS = 1_500
DEVICES = 8
REDEMPTION_LIMIT_MS = 1000 / 300
PROCESSORS = 2
EVALUATIONS = 300
FLOOR_GOAL = 0.2
REPEATS = 5
DRAFT = {
    "name": "panel",
    "version": 1,
    "title": "A panel",
    "epsilon": "1",
    "submission": "invited",
    "attributes": [
        {"name": "a", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
    ],
}


def inviting(scale: float) -> list[Figure]:
    """Issue and redeem on a server of its own, with SQLite; devices run on the same machine."""
    invitations = max(AT_A_TIME, round(INVITATIONS * scale))
    options = ("--invitation-seed", "5e" * 32, "--rate-limit-submit", "0", "--rate-limit-read", "0")
    with (
        announced("invitations"),
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder), options=options) as server,
        AnalystClient(server.url, server.token) as analyst,
    ):
        digest = str(analyst.publish(DRAFT)["digest"])
        issuing, codes = [], list[str]()
        for _ in range(REPEATS):
            started = time.perf_counter()
            codes = [
                code
                for _ in range(invitations // AT_A_TIME)
                for code in analyst.issue_invitations("panel", 1, AT_A_TIME)
            ]
            issuing.append((time.perf_counter() - started) * INVITATIONS / invitations)
        redeeming, spent, bare = [], [], []
        for place in range(REPEATS):
            some = codes[place * REDEMPTIONS : (place + 1) * REDEMPTIONS]
            bodies = [
                json.dumps(encode_redemption(digest, voprf.Blind(code.encode())[1])).encode()
                for code in some
            ]
            before = _processor_seconds()
            redeeming.append(1000 * _redeem(server.url, some, bodies) / len(some))
            spent.append(1000 * (_processor_seconds() - before) / len(some))
            bare.append(_bare())
        counts = analyst.invitation_counts("panel", 1)
        assert counts["redeemed"] == REPEATS * REDEMPTIONS, counts
    return [
        against(
            f"{INVITATIONS:,} invitations issued over HTTP, SQLite",
            unit="s",
            ours=statistics.median(issuing),
            peer=ISSUE_LIMIT_SECONDS,
            peer_name="limit",
            goal=1,
            repeats=REPEATS,
        ),
        against(
            f"a redemption, {DEVICES} devices at a time, stored durably, SQLite",
            unit="ms",
            ours=statistics.median(redeeming),
            peer=REDEMPTION_LIMIT_MS,
            peer_name="limit: 300 a second",
            goal=1,
            repeats=REPEATS,
        ),
        against(
            "a redemption, processor time of the server",
            unit="ms",
            ours=statistics.median(spent),
            peer=PROCESSORS * REDEMPTION_LIMIT_MS,
            peer_name="limit: 300 a second on two processors",
            goal=1,
            repeats=REPEATS,
        ),
        against(
            "a redemption, processor time of the server",
            unit="ms",
            ours=statistics.median(spent),
            peer=statistics.median(bare),
            peer_name="evaluation and proof alone, the floor",
            goal=FLOOR_GOAL,
            repeats=REPEATS,
        ),
    ]


def _processor_seconds() -> float:
    """Return the processor time of the server's processes, which are this one's children."""
    return sum(
        sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True)
    )


def _bare() -> float:
    """Return the milliseconds of processor time of one evaluation with its proof."""
    key = voprf.DeriveKeyPair(bytes(32), b"benchmark")
    elements = [voprf.Blind(bytes([place % 256, place // 256]))[1] for place in range(EVALUATIONS)]
    started = time.process_time()
    for element in elements:
        voprf.BlindEvaluate(key, element)
    return 1000 * (time.process_time() - started) / EVALUATIONS


def _redeem(url: str, codes: list[str], bodies: list[bytes]) -> float:
    """Redeem all, over `DEVICES` connections; return the seconds."""
    address = urlsplit(url).netloc

    def device(first: int) -> None:
        connection = http.client.HTTPConnection(address)
        for place in range(first, len(codes), DEVICES):
            headers = {
                "Content-Type": "application/json",
                "Authorization": f"Bearer {codes[place]}",
            }
            connection.request("POST", "/api/v1/surveys/panel/redemptions", bodies[place], headers)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
        connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(DEVICES) as threads:
        list(threads.map(device, range(DEVICES)))
    return time.perf_counter() - started
