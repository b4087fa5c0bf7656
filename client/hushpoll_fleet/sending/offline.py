"""Offline mode: reports are written to a file, and uploaded by somebody else, later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from hushpoll_client import InvalidParameter, Published, TransportError, randomize
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.behaviour.plan import POISONERS, Assignment, Behaviour, FleetPlan
from hushpoll_fleet.behaviour.poisoning import poisoned_report
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_fleet.sending.account import Account, unwatched
from hushpoll_fleet.sending.bulk import block_size, blocks
from hushpoll_fleet.sending.wire import SeededBits
from hushpoll_shared.wire.reports import (
    ID_SIZE,
    REPORTS_HEADER_SIZE,
    parse_reports_header,
    reports_header,
)

# What only shows on the way to a server.
ON_THE_WAY: Final = frozenset({Behaviour.WRONG_VERSION, Behaviour.OFFLINE, Behaviour.REPLAY})


def write_reports(
    path: Path,
    published: Published,
    respondents: SimulatedRespondents,
    *,
    plan: FleetPlan,
    noise_seed: int | None = None,
    bulk: bool = False,
    progress: Callable[[int], None] = unwatched,
) -> int:
    """Write every respondent's report to a file, in the form of a bulk upload without its limit.

    Parameters
    ----------
    path : Path
        The file; it must not be there yet.
    published : Published
        The survey.
    respondents : SimulatedRespondents
        The respondents.
    plan : FleetPlan
        Which respondents poison; the other misbehaviours need a server.
    noise_seed : int or None
        With a seed the noise is repeatable, and protects nobody.
    bulk : bool
        Whether the kernels perturb, instead of each device.
    progress : callable
        Called with the number of respondents just done.

    Returns
    -------
    int
        Reports written.

    Raises
    ------
    InvalidParameter
        If the plan has a misbehaviour that only shows at a server.
    OSError
        If the file is there, or cannot be written.
    """
    for behaviour in ON_THE_WAY & set(plan.shares):
        raise InvalidParameter(
            f"misbehave names {str(behaviour)!r}, which only a server sees; leave it out where "
            "reports go to a file",
            field="misbehave",
        )
    assignments = plan.assignments(len(respondents))
    if bulk:
        rows = _by_kernels(published, respondents, assignments, plan, noise_seed)
    else:
        rows = _by_devices(published, respondents, assignments, plan, noise_seed)
    written = 0
    with path.open("xb") as stream:
        stream.write(reports_header(published.digest))
        for data, count in rows:
            stream.write(data)
            written += count
            progress(count)
    return written


def upload_reports(
    client: AnalystClient,
    published: Published,
    path: Path,
    *,
    progress: Callable[[int], None] = unwatched,
) -> Account:
    """Upload a file that `write_reports` wrote; uploading it again changes nothing.

    Raises
    ------
    InvalidParameter
        If the file is none, is for another survey version, or ends within a report.
    HushpollError
        If a batch is refused as a whole or cannot be sent.
    """
    row = ID_SIZE + published.layout.record_size
    with path.open("rb") as stream:
        header = stream.read(REPORTS_HEADER_SIZE)
        digest = parse_reports_header(header)
        if digest != published.digest:
            raise InvalidParameter(
                f"{path} has reports for the digest {digest}, and {published.name} version "
                f"{published.version} has {published.digest}; name the version they are for",
                field="file",
            )
        size = path.stat().st_size - REPORTS_HEADER_SIZE
        if size % row:
            raise InvalidParameter(
                f"{path} has {size} bytes of reports of {row} bytes each: it was cut off; write it "
                "again",
                field="file",
            )
        account = Account(size // row)
        while data := stream.read(block_size(published) * row):
            try:
                receipt = client.submit_bulk(published.name, header + data)
            except TransportError as error:
                if error.retryable:
                    account.pending += len(data) // row
                raise
            account.enter(receipt)
            progress(len(data) // row)
    return account


def _by_kernels(
    published: Published,
    respondents: SimulatedRespondents,
    assignments: Sequence[Assignment],
    plan: FleetPlan,
    seed: int | None,
) -> Iterator[tuple[bytes, int]]:
    for block in blocks(published, respondents, assignments, plan=plan, seed=seed):
        data = b"".join(
            bytes(one) + bytes(record) for one, record in zip(block.ids, block.records, strict=True)
        )
        yield data, len(block.ids)


def _by_devices(
    published: Published,
    respondents: SimulatedRespondents,
    assignments: Sequence[Assignment],
    plan: FleetPlan,
    seed: int | None,
) -> Iterator[tuple[bytes, int]]:
    for number, (answers, assignment) in enumerate(
        zip(respondents.answers(), assignments, strict=True)
    ):
        if assignment.behaviour in POISONERS:
            report = poisoned_report(
                published,
                assignment.behaviour,
                answers,
                plan.aims(published),
                plan.stream("poison", number),
            )
        elif seed is None:
            report = randomize(published, answers)
        else:
            report = randomize(published, answers, bits=SeededBits(seed, number))
        yield report.id + report.record, 1
