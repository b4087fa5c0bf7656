"""As many reports as the machine takes, in bulk into one server that seals meanwhile."""

from __future__ import annotations

import http.client
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.collecting import SURVEY, ask, empty_database, publish
from benchmarks.scale.accounting import kept, logged, spent
from benchmarks.scale.costs import BATCH, PATIENCE_SECONDS, Uploader, drawn, in_process
from hushpoll_fleet.demo.processes import Server

VERSION = f"/api/v1/surveys/{SURVEY}/versions/1"


def simulate(kind: str, most: int, minutes: float, step: int, options: list[str]) -> dict[str, Any]:
    """Upload until `most` reports are stored or the minutes are over; end the survey and export.

    Returns
    -------
    dict
        ``steps``: after each `step` reports what was spent so far; ``ended``: by ending; and what
        ``sealing`` measured on the database that is left.
    """
    with empty_database(kind) as (url, folder):
        fixed = ("--database-url", url, "--log-level", "info")
        log_file = folder / "server.log"
        with Server(folder, options=(*fixed, *options)) as server:
            published = publish(server)
            steps = [_state(url, log_file, 0, 0.0)]
            print(steps[-1], flush=True)
            start = time.monotonic()
            deadline = start + 60 * minutes
            uploader = Uploader(server, published)
            source = drawn(published, most, BATCH)
            sent = 0
            while sent < most and time.monotonic() < deadline:
                for some_ids, some in islice(source, step // BATCH):
                    uploader.send(some_ids, some)
                    sent += len(some_ids)
                steps.append(_state(url, log_file, sent, time.monotonic() - start))
                print(steps[-1], flush=True)
            uploader.close()
            before, log, began = spent(url), logged(url), time.monotonic()
            _end(server)
            ended = {
                "wall": time.monotonic() - began,
                **_difference(before, spent(url)),
                "peaks": dict(spent(url).peaks),
                "logged": None if log is None else (logged(url) or 0) - log,
                "slowest_batch": uploader.slowest,
                "refused_batches": uploader.refused,
            }
            print(ended, flush=True)
            status, counts = ask(server, "GET", f"{VERSION}/counts")
            assert (status, counts["accepted"]) == (200, sent), counts
        sizes = kept(url)
        print(sizes, flush=True)
        after = in_process(url, "estimates", "parquet")
        assert after["estimates"]["reports"] == after["dask"]["reports"] == sent
    return {"reports": sent, "steps": steps, "ended": ended, "kept": sizes, "after": after}


def _end(server: Server) -> None:
    """Close the survey without a grace period, however long its sealing takes."""
    address = server.url.removeprefix("http://")
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"}
    body = json.dumps({"grace_seconds": 0}).encode()
    connection.request("POST", f"{VERSION}/close", body, headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content
    connection.close()


def _state(url: str, log_file: Path, sent: int, seconds: float) -> dict[str, Any]:
    lines = log_file.read_text(encoding="utf-8").splitlines()
    seals = [json.loads(line)["reports"] for line in lines if '"event": "sealed"' in line]
    now = spent(url)
    return {
        "reports": sent,
        "sealed": sum(seals),
        "seals": len(seals),
        "wall": seconds,
        "seconds": dict(now.seconds),
        "written": now.written,
        "logged": logged(url),
        "peaks": dict(now.peaks),
    }


def _difference(before: Any, after: Any) -> dict[str, Any]:
    return {
        "seconds": dict(after.seconds - before.seconds),
        "written": after.written - before.written,
    }
