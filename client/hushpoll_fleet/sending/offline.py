"""Offline mode: reports are written to a file, and ``hushpoll submit`` uploads it later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from hushpoll_client import InvalidParameter, Published
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.behaviour import Behaviour
from hushpoll_fleet.sending.account import Account, no_progress
from hushpoll_fleet.sending.bulk import block_size, blocks
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.wire.reports import (
    ID_SIZE,
    REPORTS_HEADER_SIZE,
    REPORTS_MAGIC,
    parse_reports_header,
    reports_header,
)

# Behaviours that only a server can see.
ON_THE_WAY: Final = frozenset({Behaviour.WRONG_VERSION, Behaviour.OFFLINE, Behaviour.REPLAY})


def write_reports(
    path: Path,
    fleet: Fleet,
    *,
    bulk: bool = False,
    progress: Callable[[int], None] = no_progress,
) -> int:
    """Write every respondent's report to a new file, as a bulk upload without its limit.

    With `bulk` the kernels perturb, instead of each device. Returns the number of reports; refuses
    a plan with a misbehaviour that only a server sees, and a file that exists.
    """
    for behaviour in ON_THE_WAY & set(fleet.plan.shares):
        raise refusal_of("misbehave")(
            f"names {str(behaviour)!r}, which only a server sees; leave it out where reports go to "
            "a file"
        )
    if path.exists():
        raise InvalidParameter(
            f"{str(path)!r} exists already, and is not overwritten; give another one, or delete it",
            field="to_file",
        )
    with path.open("xb") as stream:
        try:
            _write(fleet, stream, bulk, progress)
        except BaseException:
            # Cut between two reports, it would be uploaded later as if it were whole.
            path.unlink()
            raise
    return len(fleet)


def _write(fleet: Fleet, stream: BinaryIO, bulk: bool, progress: Callable[[int], None]) -> None:
    stream.write(reports_header(fleet.published.digest))
    if bulk:
        for block in blocks(fleet):
            for report_id, record in zip(block.ids, block.records, strict=True):
                stream.write(bytes(report_id) + bytes(record))
            progress(len(block))
    else:
        for member in fleet.members():
            report = fleet.report(member)
            stream.write(report.id + report.record)
            progress(1)
    stream.flush()


def upload_reports(
    client: AnalystClient,
    published: Published,
    path: Path,
    *,
    progress: Callable[[int], None] = no_progress,
) -> Account:
    """Upload a file that `write_reports` wrote; uploading it again changes nothing.

    Refuses a file that holds no reports, is for another survey version, or ends within a report.
    """
    row = ID_SIZE + published.layout.record_size
    with path.open("rb") as stream:
        header = stream.read(REPORTS_HEADER_SIZE)
        if header[:4] != REPORTS_MAGIC:
            raise InvalidParameter(
                f"{path} is no file of reports; give one that hushpoll simulate --to-file has "
                "written",
                field="file",
            )
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
            account.upload(client, published.name, header + data, len(data) // row)
            progress(len(data) // row)
    return account
