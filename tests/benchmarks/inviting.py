"""Invitations: issued by a hundred thousand, and redeemed as fast as devices ask."""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

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
        redeeming = []
        for place in range(REPEATS):
            some = codes[place * REDEMPTIONS : (place + 1) * REDEMPTIONS]
            bodies = [
                json.dumps(encode_redemption(digest, voprf.Blind(code.encode())[1])).encode()
                for code in some
            ]
            redeeming.append(1000 * _redeem(server.url, some, bodies) / len(some))
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
    ]


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
