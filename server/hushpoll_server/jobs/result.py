"""What a job gives, a file, and what it reads first: the records of a survey's release."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hushpoll_analysis.records.records import Records
from hushpoll_server.jobs.progress import OnStep, counted
from hushpoll_server.services.services import Services
from hushpoll_server.store.catalogue import VersionRow


@dataclass(frozen=True)
class Result:
    """A file, streamed."""

    file_name: str
    media_type: str
    blocks: Iterator[bytes]
    """The file, in order; consumed once."""
    card: Mapping[str, object] | None = None
    """Of a model, its card; of an audit or a regression, its summary.

    It is kept beside the file, and both until they are deleted.
    """


def json_result(kind: str, row: VersionRow, document: Mapping[str, object]) -> Result:
    """Return a document as a file of its kind."""
    name = f"{row.name}-{row.version}-{kind}.json"
    return Result(name, "application/json", iter([json.dumps(document).encode()]))


def collected(parts: Services, row: VersionRow, say: OnStep) -> Records:
    """Return the records of a survey's release, held at once."""
    release = parts.analysis.release(row)
    with parts.analysis.scanning(row, release) as stream:
        return counted(stream, release.reports, say).joined()
