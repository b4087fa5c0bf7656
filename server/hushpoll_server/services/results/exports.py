"""Files of a version's sealed records, in random order, streamed in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Literal

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.results.analysis import Analysis
from hushpoll_server.services.results.tables import table_blocks
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.mixing import Mixed
from hushpoll_server.store.tables.surveys import VersionRow
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE, pack_records_header

Format = Literal["records", "parquet", "csv"]
Content = Literal["records", "indicators", "debiased"]

MEDIA_TYPES: Final[dict[Format, str]] = {
    "records": RECORDS_MEDIA_TYPE,
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
}


@dataclass(frozen=True)
class Export:
    """A file of records, streamed.

    Parameters
    ----------
    name : str
        Of the file.
    media_type : str
        Its media type.
    size : int or None
        Bytes of the whole file, where they are known beforehand.
    blocks : iterator of bytes
        The file, in order; consumed once.
    """

    name: str
    media_type: str
    size: int | None
    blocks: Iterator[bytes]


class Exports:
    """Makes files of records.

    Their order is drawn anew for each file and means nothing; they hold neither ids nor the borders
    of segments. What waits in the inbox is not in them; see ``services.analysis``.
    """

    def __init__(self, *, surveys: SurveyService, analysis: Analysis) -> None:
        self._surveys = surveys
        self._analysis = analysis

    def check(
        self, row: VersionRow, *, format: Format, content: Content, raw: bool = False
    ) -> None:
        """Raise what :meth:`export` would raise now."""
        _check(format, content, raw)
        self._analysis.require_records(row)

    def export(
        self,
        row: VersionRow,
        *,
        format: Format = "records",
        content: Content = "records",
        raw: bool = False,
    ) -> Export:
        """Return a file of every sealed record.

        Parameters
        ----------
        row : VersionRow
            The version.
        format : str
            ``records``: the file that carries its own manifest; ``parquet``; ``csv``.
        content : str
            ``records``: what was reported; of a table also ``indicators``, a 0/1 column for each
            category, and ``debiased``, whose means are the estimates ``raw``.
        raw : bool
            Whether texts of a CSV file are as they are, though a spreadsheet would take some for
            formulas.

        Raises
        ------
        InvalidParameter
            A file of records with other content, or a raw file that is no CSV.
        Refused
            ``not-enough-reports``, ``records-deleted``, or ``unavailable``: too many questions at
            once.
        """
        _check(format, content, raw)
        release = self._analysis.release(row)
        published = self._surveys.published(row)
        with self._analysis.scanning(row, release) as records:
            blocks = (part.rows for part in records.parts)
            mixed = Mixed(blocks, rows=release.reports, record_size=row.record_size)
        name = f"{row.name}-{row.version}"
        if format == "records":
            header = pack_records_header(published)
            size = len(header) + mixed.rows * row.record_size
            return Export(f"{name}.records", MEDIA_TYPES[format], size, _file(header, mixed))
        if content != "records":
            name += f"-{content}"
        return Export(
            f"{name}.{format}",
            MEDIA_TYPES[format],
            None,
            table_blocks(published, mixed, format=format, content=content, raw=raw),
        )


def _check(format: Format, content: Content, raw: bool) -> None:
    if format == "records" and content != "records":
        raise InvalidParameter(
            f"content is {content!r} and format 'records', which holds records alone; ask for "
            "format parquet or csv",
            field="content",
        )
    if raw and format != "csv":
        raise InvalidParameter(
            f"raw is true and format {format!r}, whose texts are always as they are; leave raw out",
            field="raw",
        )


def _file(header: bytes, mixed: Mixed) -> Iterator[bytes]:
    with closing(mixed):
        yield header
        for block in mixed:
            yield block.tobytes()
