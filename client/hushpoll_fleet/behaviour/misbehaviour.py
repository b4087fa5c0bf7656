"""The reports of those who misbehave."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import replace

from hushpoll_client import Published, Report
from hushpoll_fleet.behaviour.poisoning import poisoned
from hushpoll_fleet.behaviour.shares import Behaviour
from hushpoll_shared.wire.reports import new_report_id


def other_digest(digest: str) -> str:
    """Return the digest of a version that nobody has published."""
    return hashlib.sha256(f"no version of {digest}".encode()).hexdigest()


def misversioned(report: Report) -> Report:
    """Return a report under the digest of no version."""
    return replace(report, digest=other_digest(report.digest))


def poisoned_report(
    published: Published,
    behaviour: Behaviour,
    answers: Mapping[str, str | int | None],
    targets: Mapping[str, int],
    rng: random.Random,
) -> Report:
    """Return the report of one poisoner, with an id like any other."""
    record = poisoned(published, behaviour, answers, targets=targets, rng=rng)
    return Report(published.digest, new_report_id(), record)
