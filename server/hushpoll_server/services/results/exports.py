"""Files of a version's sealed records, in random order, streamed in bounded memory.

Tables for other programs are Parquet or CSV, and files of SPSS and Stata, which are made in memory.
CSV: UTF-8, one header line, every text quoted, numbers not, lines end in a line feed. Its records
are labels, or a 0/1 column for each category where a record does not have one category; codes and
the bytes in hexadecimal are for who asks. A category that a spreadsheet would take for a formula
has an apostrophe before it, unless raw texts are asked for; see
``hushpoll_shared.spelling.csv_cells``.

pyarrow is loaded with the first table: a server that nobody asks for one does without its 30 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.record_tables import reported, reported_type, schema_metadata
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_analysis.survey_design.labelled_files import (
    LABELLED,
    LabelledFormat,
    categories_in,
    check_labelled,
    check_language,
    codes_of,
    is_code,
    write_labelled,
)
from hushpoll_analysis.survey_design.record_weights import (
    STRATUM,
    STRATUM_SIZE,
    WEIGHT,
    RecordWeights,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.results.analysis import Analysis
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.segments import ShuffledRows
from hushpoll_shared.jobs.files import ExportCells as Cells
from hushpoll_shared.jobs.files import ExportContent as Content
from hushpoll_shared.jobs.files import ExportFormat as Format
from hushpoll_shared.spelling.canonical import InvalidJson, parse_json
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.wording import Wording
from hushpoll_shared.wire.batch import answered
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE, pack_records_header

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
        cells: Cells | None = None,
        language: str | None = None,
        design: str | None = None,
    ) -> None:
        """Raise what :meth:`export` would raise now, but for what the records themselves tell."""
        _check(format, content, raw, cells, language, design)
        check_language(self.surveys.published(row), language)
        _design(design)
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
        cells: Cells | None = None,
        language: str | None = None,
        design: str | None = None,
        on_rows: OnRows | None = None,
    ) -> Export:
        """Return a file of every sealed record; its parameters are those of the job `Export`.

        `on_rows` is called with (rows written, rows in all) while the file is read. Refused are a
        combination that there is not, a language that the survey is not in, and a design that does
        not fit it.
        """
        published = self.surveys.published(row)
        _check(format, content, raw, cells, language, design)
        check_language(published, language)
        given, weights = _design(design), None
        release = self.analysis.release(row)
        if given is not None:
            with self.analysis.scanning(row, release) as records:
                weights = RecordWeights.of(published, given, records.parts)
        with self.analysis.scanning(row, release) as records:
            blocks = (part.rows for part in records.parts)
            shuffled = ShuffledRows(blocks, rows=release.reports, record_size=row.record_size)
        name = f"{row.name}-{row.version}"
        written = shuffled if on_rows is None else _Counted(shuffled, on_rows)
        if format == "records":
            header = pack_records_header(published, shuffled.rows)
            size = len(header) + shuffled.rows * row.record_size
            return Export(f"{name}.records", MEDIA_TYPES[format], size, _file(header, written))
        if content != "records":
            name += f"-{content}"
        if format == "sav" or format == "dta":
            check_labelled(published, release.reports, content, language)
            blocks_of_file = _labelled(published, written, format, content, language, weights)
            return Export(f"{name}.{format}", MEDIA_TYPES[format], None, blocks_of_file)
        debiasing: dict[str, RowWeights] = {}
        if content == "debiased":
            debiasing = self._debiasing(row, published)
        table = _Table(
            published=published,
            format=format,
            content=content,
            raw=raw,
            cells=cells or "labels",
            words=published.wording(language),
            weights=weights,
        )
        return Export(
            f"{name}.{format}",
            MEDIA_TYPES[format],
            None,
            _table(table, written, debiasing),
        )

    def _debiasing(self, row: VersionRow, published: Published) -> dict[str, RowWeights]:
        """Return by which weights a record counts in the estimates of each attribute."""
        source = self.analysis.source(row, may_export=True)
        found: dict[str, RowWeights] = {}
        for attribute in published.attributes:
            (field,) = fields_of(published, [attribute.name])
            of = source if field.mask is None else source.answering([attribute.name])
            counts = of.questions([attribute.name])
            if counts.n:
                support = counts.of(of.published, attribute.name)
                found[attribute.name] = RowWeights.of(
                    of.published, [attribute.name], support, counts.n
                )
        return found


def _design(given: str | None) -> SurveyDesign | None:
    """Return the design that a text has."""
    if given is None:
        return None
    try:
        document = parse_json(given.encode())
    except InvalidJson as error:
        raise InvalidParameter(f"design: {error}", field="design") from error
    return SurveyDesign.from_dict(document)


def _check(
    format: Format,
    content: Content,
    raw: bool,
    cells: Cells | None = None,
    language: str | None = None,
    design: str | None = None,
) -> None:
    if language is not None and format not in (*LABELLED, "csv"):
        raise InvalidParameter(
            f"language is {language!r} and format {format!r}, which has no labels; leave it "
            "out, or ask for csv, sav or dta",
            field="language",
        )
    if cells is not None and (format != "csv" or content != "records"):
        raise InvalidParameter(
            f"cells is {cells!r}, which is of records in a CSV file, and format is {format!r} and "
            f"content {content!r}; leave it out",
            field="cells",
        )
    if design is not None and format == "records":
        raise InvalidParameter(
            "design is given and format 'records', which holds records alone; ask for csv, "
            "parquet, sav or dta",
            field="design",
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
    weights: RecordWeights | None,
) -> Iterator[bytes]:
    """Yield a file of SPSS or Stata: it is written as a whole, and no more than once."""
    with closing(shuffled), TemporaryDirectory() as folder:
        rows = np.concatenate([np.empty((0, published.layout.record_size), np.uint8), *shuffled])
        path = Path(folder) / f"export.{format}"
        records = Records.trusted(published, rows)
        write_labelled(
            records, path, format=format, content=content, language=language, weights=weights
        )
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


@dataclass(frozen=True, kw_only=True)
class _Table:
    """What a table of records is to have."""

    published: Published
    format: Format
    content: Content
    raw: bool
    cells: Cells
    words: Wording
    weights: RecordWeights | None

    def text(self, given: str) -> str:
        """Return a text as a cell has it."""
        return escaped(given) if self.format == "csv" and not self.raw else given

    @property
    def as_sent(self) -> bool:
        """Whether perturbed answers are the bytes that a device sent."""
        return self.format == "parquet" or self.cells == "hexadecimal"

    def domain(self, field: Field) -> list[str]:
        """Return the categories of a field as texts of cells and headers."""
        return categories_in(self.published, field, self.words)

    def names(self) -> list[str]:
        """Return the names of the design's columns, none of which another column has."""
        taken = {field.name for field in self.published.layout.fields}
        wanted = () if self.weights is None else self.weights.names
        return [f"{name}_of_design" if name in taken else name for name in wanted]


def _table(table: _Table, shuffled: _Rows, debiasing: Mapping[str, RowWeights]) -> Iterator[bytes]:
    """Yield a table of records, in the order of `shuffled`, which is closed at the end.

    Columns are named as the manifest spells them: ``attribute`` in records, and
    ``attribute=category`` otherwise. In records, an attribute in clear is its category. A perturbed
    attribute is the bytes that the device sent in Parquet; in CSV by GRR a category, by other
    protocols a 0/1 column for each category, and in hexadecimal for who asks. A block of several
    questions is one column in records, of its name; it has an indicator for each combination,
    ``block=answer & answer``. Debiased columns are those of its questions.

    Parquet's schema metadata holds the survey's digest (``hushpoll.digest``), its canonical
    manifest (``hushpoll.manifest``) and what the columns are (``hushpoll.content``).
    """
    import pyarrow as pa

    schema = _schema(table)
    header = pa.schema(
        [field.with_name(table.text(field.name)) for field in schema], schema.metadata
    )
    pieces = _Pieces()
    rows = max(1, CELLS // len(schema))
    with closing(shuffled):
        writer = _writer(pieces, header, table.format)
        for block in shuffled:
            for start in range(0, len(block), rows):
                part = Records.trusted(table.published, block[start : start + rows])
                arrays = list(_columns(table, part, debiasing))
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


def _schema(table: _Table) -> Any:
    import pyarrow as pa

    published, content = table.published, table.content
    kinds = {WEIGHT: pa.float64(), STRATUM: pa.string(), STRATUM_SIZE: pa.float64()}
    wanted = () if table.weights is None else table.weights.names
    fields = [pa.field(name, kinds[of]) for name, of in zip(table.names(), wanted, strict=True)]
    if content == "records" and table.as_sent:
        fields += [
            pa.field(field.name, _record_type(field, table.format), nullable=field.mask is not None)
            for field in published.layout.fields
        ]
    elif content == "records":
        for field in published.layout.fields:
            if is_code(field):
                kind = pa.string() if table.cells == "labels" else pa.int32()
                fields.append(pa.field(field.name, kind, nullable=field.mask is not None))
            else:
                fields += _of_categories(table, field, pa.uint8())
    elif content == "indicators":
        for field in published.layout.fields:
            fields += _of_categories(table, field, pa.uint8())
    else:
        fields += [
            pa.field(f"{attribute.name}={category}", pa.float64(), nullable=bool(attribute.draw))
            for attribute, domain in zip(published.attributes, table.words.domains, strict=True)
            for category in domain
        ]
    return pa.schema(
        fields,
        metadata=schema_metadata(published, content),
    )


def _of_categories(table: _Table, field: Field, kind: Any) -> list[Any]:
    """Return a column for each category of a field."""
    import pyarrow as pa

    domain: Sequence[object] = table.domain(field)
    if table.content == "records" and table.cells == "codes":
        domain = range(len(domain))
    nullable = field.mask is not None
    return [pa.field(f"{field.name}={one}", kind, nullable=nullable) for one in domain]


def _record_type(field: Field, format: str) -> Any:
    import pyarrow as pa

    return reported_type(field) if format == "parquet" else pa.string()


def _columns(table: _Table, records: Records, debiasing: Mapping[str, RowWeights]) -> Iterator[Any]:
    published, content = table.published, table.content
    if table.weights is not None:
        yield from _of_design(table, records, table.weights)
    if content == "records":
        for field in published.layout.fields:
            yield from _of_record(table, records, field)
        return
    if content == "indicators":
        for field in published.layout.fields:
            yield from _answered(records, field, partial(_indicators, field.name))
        return
    for attribute in published.attributes:
        (field,) = fields_of(published, [attribute.name])
        weights = debiasing.get(attribute.name)
        yield from _answered(records, field, partial(_debiased, attribute.name, weights))


def _of_design(table: _Table, records: Records, weights: RecordWeights) -> Iterator[Any]:
    import pyarrow as pa

    for name, column in weights.columns(records).items():
        if name == STRATUM:
            called = pa.array([table.text(one) for one in weights.strata], pa.string())
            strata = pa.DictionaryArray.from_arrays(pa.array(column), called)
            yield strata.dictionary_decode()
        else:
            yield pa.array(column)


def _indicators(name: str, records: Records) -> npt.NDArray[Any]:
    return records.indicators_of(records.published.layout.field(name))


def _debiased(name: str, weights: RowWeights | None, records: Records) -> npt.NDArray[Any]:
    return records.debiased(name) if weights is None else weights.rows(records)


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


def _of_record(table: _Table, records: Records, field: Field) -> Iterator[Any]:
    import pyarrow as pa

    if not table.as_sent and not is_code(field):
        yield from _answered(records, field, partial(_indicators, field.name))
        return
    if not table.as_sent or (field.oracle is None and table.format == "csv"):
        codes = codes_of(records, field)
        chosen = None if field.mask is None else answered(records.rows, field)
        numbers = pa.array(np.nan_to_num(codes).astype(np.int32), mask=_not(chosen))
        if table.cells == "codes":
            yield numbers
            return
        cells = pa.array([table.text(one) for one in table.domain(field)], pa.string())
        yield pa.DictionaryArray.from_arrays(numbers, cells).dictionary_decode()
        return
    column = reported(records, field)
    if table.format == "parquet":
        yield column
        return
    cells = [None if row is None else row.hex() for row in column.to_pylist()]
    yield pa.array(cells, pa.string())


def _not(chosen: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_] | None:
    return None if chosen is None else ~chosen
