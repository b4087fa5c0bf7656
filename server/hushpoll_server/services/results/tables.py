"""Records as tables for other programs: Parquet and CSV, written a block of rows at a time.

CSV: UTF-8, one header line, every text quoted, numbers not, lines end in a line feed. A category
that a spreadsheet would take for a formula has an apostrophe before it, unless raw texts are asked
for; see ``hushpoll_shared.spelling.csv_cells``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv, parquet

from hushpoll_analysis.records.records import Records
from hushpoll_server.store.mixing import Mixed
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published

# Cells of a block, so that memory does not grow with the number of columns either.
CELLS = 1 << 21


class _Writer(Protocol):
    def write_table(self, table: Any) -> None: ...

    def close(self) -> None: ...


class _Pieces:
    """A file object that hands out what was written to it."""

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
        """Do nothing: what was written is taken after the writer has closed it."""

    def take(self) -> bytes:
        taken = b"".join(self._written)
        self._written.clear()
        return taken


def table_blocks(
    published: Published,
    mixed: Mixed,
    *,
    format: Literal["parquet", "csv"],
    content: Literal["records", "indicators", "debiased"],
    raw: bool = False,
) -> Iterator[bytes]:
    """Yield a file of records, in the order of `mixed`.

    Columns are named as the manifest spells them: ``attribute`` in records, and
    ``attribute=category`` otherwise. In records, an attribute in clear is its category, and a
    perturbed one the bytes that the device sent; CSV has them in hexadecimal.

    Parameters
    ----------
    published : Published
        The survey; Parquet's schema metadata holds its digest (``hushpoll.digest``), its canonical
        manifest (``hushpoll.manifest``) and what the columns are (``hushpoll.content``).
    mixed : Mixed
        The records; closed at the end, also where the file is abandoned.
    format, content, raw
        See ``Exports.export``.
    """
    schema = _schema(published, format, content)
    cell = escaped if format == "csv" and not raw else str
    header = pa.schema([field.with_name(cell(field.name)) for field in schema], schema.metadata)
    domains = {
        one.name: [cell(category) for category in one.domain] for one in published.attributes
    }
    pieces = _Pieces()
    rows = max(1, CELLS // len(schema))
    with closing(mixed):
        writer = _writer(pieces, header, format)
        for block in mixed:
            for start in range(0, len(block), rows):
                part = Records.trusted(published, block[start : start + rows])
                arrays = [
                    array
                    for one in published.attributes
                    for array in _columns(part, one, domains[one.name], format, content)
                ]
                writer.write_table(pa.Table.from_arrays(arrays, schema=header))
                if piece := pieces.take():
                    yield piece
        writer.close()
        yield pieces.take()


def _writer(pieces: _Pieces, schema: Any, format: str) -> _Writer:
    sink: Any = pa.PythonFile(pieces, mode="w")
    if format == "parquet":
        writer: _Writer = parquet.ParquetWriter(sink, schema, compression="zstd")
        return writer
    as_text: _Writer = csv.CSVWriter(
        sink, schema, write_options=csv.WriteOptions(quoting_style="needed")
    )
    return as_text


def _schema(published: Published, format: str, content: str) -> Any:
    fields = []
    for one in published.attributes:
        if content == "records":
            fields.append(pa.field(one.name, _record_type(one, format), nullable=False))
        else:
            kind = pa.uint8() if content == "indicators" else pa.float64()
            fields += [
                pa.field(f"{one.name}={category}", kind, nullable=False) for category in one.domain
            ]
    return pa.schema(
        fields,
        metadata={
            "hushpoll.digest": published.digest,
            "hushpoll.manifest": published.canonical,
            "hushpoll.content": content,
        },
    )


def _record_type(one: PublishedAttribute, format: str) -> Any:
    if one.oracle is None:
        return pa.dictionary(pa.int32(), pa.string()) if format == "parquet" else pa.string()
    return pa.binary(one.oracle.record_size) if format == "parquet" else pa.string()


def _columns(
    records: Records,
    one: PublishedAttribute,
    domain: Sequence[str],
    format: str,
    content: str,
) -> Iterable[Any]:
    if content == "records":
        yield _reported(records, one, domain, format)
        return
    decoded = records.indicators if content == "indicators" else records.debiased
    matrix: npt.NDArray[Any] = decoded(one.name)
    for values in np.ascontiguousarray(matrix.T):
        yield pa.array(values)


def _reported(
    records: Records,
    one: PublishedAttribute,
    domain: Sequence[str],
    format: str,
) -> Any:
    if one.oracle is None:
        codes = records.codes(one.name).astype(np.int32)
        named = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(domain, pa.string()))
        return named if format == "parquet" else named.dictionary_decode()
    data = np.ascontiguousarray(records.column(one.name))
    if format == "parquet":
        size = pa.binary(one.oracle.record_size)
        return pa.FixedSizeBinaryArray.from_buffers(size, len(data), [None, pa.py_buffer(data)])
    return pa.array([row.tobytes().hex() for row in data], pa.string())
