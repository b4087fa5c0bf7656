"""Files of a version's sealed records, in random order, streamed in bounded memory.

Tables for other programs are Parquet or CSV, and files of SPSS and Stata, which are made in memory.
CSV: UTF-8, one header line, every text quoted,
numbers not, lines end in a line feed. A category that a spreadsheet would take for a formula has an
apostrophe before it, unless raw texts are asked for; see ``hushpoll_shared.spelling.csv_cells``.

pyarrow is loaded with the first table: a server that nobody asks for one does without its 30 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.frames.labelled_files import (
    LABELLED,
    LabelledFormat,
    check_labelled,
    write_labelled,
)
from hushpoll_analysis.frames.record_tables import reported, reported_type, schema_metadata
from hushpoll_analysis.records.fields import categories_of, fields_of
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.results.analysis import Analysis
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.segments import ShuffledRows
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire.batch import answered
from hushpoll_shared.wire.codec import Field
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE, pack_records_header

Format = Literal["records", "parquet", "csv", "sav", "dta"]
Content = Literal["records", "indicators", "debiased"]
OnRows: TypeAlias = Callable[[int, int], object]
"""Called with (rows written, rows in all)."""

# Cells of a block, so that memory does not grow with the number of columns either.
CELLS: Final = 1 << 21
PIECE: Final = 1 << 20

MEDIA_TYPES: Final[dict[Format, str]] = {
    "records": RECORDS_MEDIA_TYPE,
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "sav": LABELLED["sav"],
    "dta": LABELLED["dta"],
}


@dataclass(frozen=True)
class Export:
    """A file of records, streamed: `blocks` are its bytes in order, to be consumed once.

    The size is None where it is not known beforehand.
    """

    name: str
    media_type: str
    size: int | None
    blocks: Iterator[bytes]


@dataclass(eq=False, kw_only=True)
class Exports:
    """Makes files of records.

    The order of records is drawn anew for each file and means nothing. A file has neither ids nor
    the borders of segments, nor what waits in the inbox.
    """

    surveys: SurveyService
    analysis: Analysis

    def check(
        self,
        row: VersionRow,
        *,
        format: Format,
        content: Content,
        raw: bool = False,
        language: str | None = None,
    ) -> None:
        """Raise what :meth:`export` would raise now."""
        _check(format, content, raw, language)
        if format in LABELLED:
            # How many records there are is not told here: the export itself counts them.
            check_labelled(self.surveys.published(row), 0, content, language)
        self.analysis.require_records(row)

    def export(
        self,
        row: VersionRow,
        *,
        format: Format = "records",
        content: Content = "records",
        raw: bool = False,
        language: str | None = None,
        on_rows: OnRows | None = None,
    ) -> Export:
        """Return a file of every sealed record.

        Parameters
        ----------
        row : VersionRow
            The version.
        format : str
            ``records``: the file that carries its own manifest; ``parquet``; ``csv``; ``sav`` of
            SPSS and ``dta`` of Stata, with labels and made in memory.
        content : str
            ``records``: what was reported; of a table also ``indicators``, a 0/1 column for each
            category, and ``debiased``, whose means are unbiased shares.
        raw : bool
            Whether texts of a CSV file are as they are, though a spreadsheet would take some for
            formulas.
        language : str, optional
            Of the labels of a file of SPSS or Stata; by default the survey's own.
        on_rows : callable, optional
            Called with (rows written, rows in all) while the file is read.

        Raises
        ------
        InvalidParameter
            A file of records with other content, or a raw file that is no CSV.
        Refused
            ``not-enough-reports``, ``records-deleted``, or ``unavailable``: too many questions at
            once.
        """
        published = self.surveys.published(row)
        _check(format, content, raw, language)
        release = self.analysis.release(row)
        with self.analysis.scanning(row, release) as records:
            blocks = (part.rows for part in records.parts)
            shuffled = ShuffledRows(blocks, rows=release.reports, record_size=row.record_size)
        name = f"{row.name}-{row.version}"
        written = shuffled if on_rows is None else _Counted(shuffled, on_rows)
        if format == "records":
            header = pack_records_header(published)
            size = len(header) + shuffled.rows * row.record_size
            return Export(f"{name}.records", MEDIA_TYPES[format], size, _file(header, written))
        if content != "records":
            name += f"-{content}"
        if format == "sav" or format == "dta":
            check_labelled(published, release.reports, content, language)
            blocks_of_file = _labelled(published, written, format, content, language)
            return Export(f"{name}.{format}", MEDIA_TYPES[format], None, blocks_of_file)
        return Export(
            f"{name}.{format}",
            MEDIA_TYPES[format],
            None,
            _table(published, written, format=format, content=content, raw=raw),
        )


def _check(format: Format, content: Content, raw: bool, language: str | None = None) -> None:
    if language is not None and format not in LABELLED:
        raise InvalidParameter(
            f"language is {language!r} and format {format!r}, which has no labels; leave it "
            "out, or ask for sav or dta",
            field="language",
        )
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


def _file(header: bytes, shuffled: _Rows) -> Iterator[bytes]:
    with closing(shuffled):
        yield header
        for block in shuffled:
            yield block.tobytes()


def _labelled(
    published: Published,
    shuffled: _Rows,
    format: LabelledFormat,
    content: str,
    language: str | None,
) -> Iterator[bytes]:
    """Yield a file of SPSS or Stata: it is written as a whole, and no more than once."""
    with closing(shuffled), TemporaryDirectory() as folder:
        rows = np.concatenate([np.empty((0, published.layout.record_size), np.uint8), *shuffled])
        path = Path(folder) / f"export.{format}"
        records = Records.trusted(published, rows)
        write_labelled(records, path, format=format, content=content, language=language)
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                yield piece


class _Rows(Protocol):
    def __iter__(self) -> Iterator[npt.NDArray[np.uint8]]: ...

    def close(self) -> None: ...


class _Counted:
    """Rows in the same order, of which it is said how many were taken."""

    def __init__(self, rows: ShuffledRows, on_rows: OnRows) -> None:
        self._rows = rows
        self._on_rows = on_rows

    def __iter__(self) -> Iterator[npt.NDArray[np.uint8]]:
        done = 0
        for block in self._rows:
            self._on_rows(done, self._rows.rows)
            yield block
            done += len(block)

    def close(self) -> None:
        self._rows.close()


class _Writer(Protocol):
    def write_table(self, table: Any) -> None: ...

    def close(self) -> None: ...


class _Pieces:
    """A file object that gives the bytes written to it to its reader."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._written.append(piece)
        return len(piece)

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing: the last bytes are taken after the writer has closed it."""

    def take(self) -> bytes:
        taken = b"".join(self._written)
        self._written.clear()
        return taken


def _table(
    published: Published, shuffled: _Rows, *, format: Format, content: Content, raw: bool
) -> Iterator[bytes]:
    """Yield a table of records, in the order of `shuffled`, which is closed at the end.

    Columns are named as the manifest spells them: ``attribute`` in records, and
    ``attribute=category`` otherwise. In records, an attribute in clear is its category, and a
    perturbed attribute the bytes that the device sent; CSV has them in hexadecimal. A block of
    several questions is one column in records, of its name; it has an indicator for each
    combination, ``block=answer & answer``. Debiased columns are those of its questions.

    Parquet's schema metadata holds the survey's digest (``hushpoll.digest``), its canonical
    manifest (``hushpoll.manifest``) and what the columns are (``hushpoll.content``).
    """
    import pyarrow as pa

    schema = _schema(published, format, content)
    cell = escaped if format == "csv" and not raw else str
    header = pa.schema([field.with_name(cell(field.name)) for field in schema], schema.metadata)
    domains = {
        attribute.name: [cell(category) for category in attribute.domain]
        for attribute in published.attributes
    }
    pieces = _Pieces()
    rows = max(1, CELLS // len(schema))
    with closing(shuffled):
        writer = _writer(pieces, header, format)
        for block in shuffled:
            for start in range(0, len(block), rows):
                part = Records.trusted(published, block[start : start + rows])
                arrays = list(_columns(part, domains, format, content))
                writer.write_table(pa.Table.from_arrays(arrays, schema=header))
                if piece := pieces.take():
                    yield piece
        writer.close()
        yield pieces.take()


def _writer(pieces: _Pieces, schema: Any, format: str) -> _Writer:
    import pyarrow as pa
    from pyarrow import csv, parquet

    sink: Any = pa.PythonFile(pieces, mode="w")
    if format == "parquet":
        writer: _Writer = parquet.ParquetWriter(sink, schema, compression="zstd")
        return writer
    as_text: _Writer = csv.CSVWriter(
        sink, schema, write_options=csv.WriteOptions(quoting_style="needed")
    )
    return as_text


def _schema(published: Published, format: str, content: str) -> Any:
    import pyarrow as pa

    if content == "records":
        fields = [
            pa.field(field.name, _record_type(field, format), nullable=field.mask is not None)
            for field in published.layout.fields
        ]
    elif content == "indicators":
        fields = [
            pa.field(f"{field.name}={category}", pa.uint8(), nullable=field.mask is not None)
            for field in published.layout.fields
            for category in categories_of(published, field)
        ]
    else:
        fields = [
            pa.field(f"{attribute.name}={category}", pa.float64(), nullable=bool(attribute.draw))
            for attribute in published.attributes
            for category in attribute.domain
        ]
    return pa.schema(
        fields,
        metadata=schema_metadata(published, content),
    )


def _record_type(field: Field, format: str) -> Any:
    import pyarrow as pa

    return reported_type(field) if format == "parquet" else pa.string()


def _columns(
    records: Records, domains: Mapping[str, Sequence[str]], format: str, content: str
) -> Iterator[Any]:
    published = records.published
    if content == "records":
        for field in published.layout.fields:
            yield _reported(records, field, domains, format)
        return
    if content == "indicators":
        for field in published.layout.fields:
            yield from _answered(records, field, partial(_indicators, field.name))
        return
    for attribute in published.attributes:
        (field,) = fields_of(published, [attribute.name])
        yield from _answered(records, field, partial(_debiased, attribute.name))


def _indicators(name: str, records: Records) -> npt.NDArray[Any]:
    return records.indicators_of(records.published.layout.field(name))


def _debiased(name: str, records: Records) -> npt.NDArray[Any]:
    return records.debiased(name)


def _answered(
    records: Records, field: Field, columns: Callable[[Records], npt.NDArray[Any]]
) -> Iterator[Any]:
    """Yield columns of a field; the cells of those who do not answer it are missing."""
    import pyarrow as pa

    if field.mask is None:
        for values in np.ascontiguousarray(columns(records).T):
            yield pa.array(values)
        return
    chosen = answered(records.rows, field)
    found = columns(records.answering(field.questions))
    for values in np.ascontiguousarray(found.T):
        cells = np.zeros(len(records), found.dtype)
        cells[chosen] = values
        yield pa.array(cells, mask=~chosen)


def _reported(
    records: Records,
    field: Field,
    domains: Mapping[str, Sequence[str]],
    format: str,
) -> Any:
    import pyarrow as pa

    column = reported(records, field)
    if format == "parquet":
        return column
    if field.oracle is None:
        cells = pa.array(domains[field.name], pa.string())
        return pa.DictionaryArray.from_arrays(column.indices, cells).dictionary_decode()
    return pa.array([None if row is None else row.hex() for row in column.to_pylist()], pa.string())
