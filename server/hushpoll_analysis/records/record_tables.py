"""Records as tables of Arrow, and from tables of pandas, Polars and Arrow.

A column is an attribute, or a block of several questions. In clear it holds categories; what is
perturbed is the bytes that the device sent, or the same in hexadecimal, as CSV files have them. All
three libraries give their tables through the Arrow PyCapsule interface (``__arrow_c_stream__``),
batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord, MissingExtra
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.wire.batch import answered

MANIFEST = "hushpoll.manifest"
CONTENT = "hushpoll.content"
"""Keys of a schema's metadata, as exported Parquet files have them."""


def schema_metadata(published: Published, content: str) -> JsonMembers:
    """Return what a table of a survey's records says of itself."""
    return {"hushpoll.digest": published.digest, MANIFEST: published.canonical, CONTENT: content}


def arrow_table(records: Records) -> Any:
    """Return records as a ``pyarrow.Table`` with the manifest, a column per field of the record."""
    pa = _pyarrow("records as a table")
    fields = records.published.layout.fields
    return pa.Table.from_arrays(
        [reported(records, field) for field in fields],
        schema=pa.schema(
            [
                pa.field(field.name, reported_type(field), nullable=field.mask is not None)
                for field in fields
            ],
            metadata=schema_metadata(records.published, "records"),
        ),
    )


def reported_type(field: Field) -> Any:
    """Return the Arrow type of a field's column."""
    pa = _pyarrow("records as a table")
    if field.oracle is None:
        return pa.dictionary(pa.int32(), pa.string())
    return pa.binary(field.oracle.record_size)


def reported(records: Records, field: Field) -> Any:
    """Return a field's column: categories, or the bytes that were sent; missing if not answered."""
    pa = _pyarrow("records as a table")
    if field.oracle is None:
        codes = records.codes(field.name).astype(np.int32)
        domain = records.published.attribute(field.name).domain
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(domain, pa.string()))
    if field.mask is not None:
        chosen = answered(records.rows, field)
        cells = np.empty(len(records), object)
        cells[chosen] = [row.tobytes() for row in records.answers_of(field)]
        return pa.array(cells, reported_type(field), mask=~chosen)
    data = np.ascontiguousarray(records.of_field(field))
    buffers = [None, pa.py_buffer(data)]
    return pa.FixedSizeBinaryArray.from_buffers(reported_type(field), len(data), buffers)


def records_of(data: Any, published: Published | None = None) -> Records:
    """Return the checked records of a table of pandas, Polars, Arrow or another library.

    It has ``__arrow_c_stream__``, as tables of pandas 2.2, Polars and pyarrow have. A column in
    clear holds the categories' texts, or whole numbers for categories that are numbers. The survey
    is by default that of an exported Parquet file. The first row that no device could have sent is
    refused with its attribute, and a column that is missing, of a wrong type, or no attribute.
    """
    pa = _pyarrow("records from a table")
    if not hasattr(data, "__arrow_c_stream__"):
        raise InvalidParameter(
            f"the records are a {type(data).__name__}, which is no table; give one of pandas, "
            "Polars or Arrow",
            field="records",
        )
    reader = pa.RecordBatchReader.from_stream(data)
    published = _survey(reader.schema.metadata or {}, published)
    _check_columns(reader.schema.names, published)
    return Records(published, rows_of(published, reader))


def rows_of(published: Published, batches: Iterable[Any]) -> npt.NDArray[np.uint8]:
    """Return uint8[n, L]: the records that columns came from; not yet checked.

    Each ``pyarrow.RecordBatch`` has a column for each field of the record; it refuses the first
    cell that is no category, or of another size than a device sends.
    """
    parts, done = [np.empty((0, published.layout.record_size), np.uint8)], 0
    for batch in batches:
        parts.append(_rows_of_batch(published, batch, done))
        done += batch.num_rows
    return np.concatenate(parts)


def _rows_of_batch(published: Published, batch: Any, first: int) -> npt.NDArray[np.uint8]:
    rows = np.zeros((batch.num_rows, published.layout.record_size), np.uint8)
    for field in published.layout.fields:
        if field.name not in batch.schema.names:
            raise InvalidParameter(
                f"there is no column {field.name}; export the records again", field="records"
            )
        column = batch.column(field.name)
        if field.mask is not None:
            # Which blocks were answered follows from the cells that are not missing.
            chosen = np.asarray(column.is_valid())
            byte, bit = field.place
            rows[:, byte] |= chosen.astype(np.uint8) << np.uint8(bit)
            answers = _reports(field.name, field.size, column.drop_null(), first)
            rows[chosen, field.offset : field.end] = answers.reshape(-1, field.size)
            continue
        if field.oracle is None:
            codes = _codes(published.attribute(field.name), column)
            _refuse(field.name, codes < 0, "range", first)
            part = codes.astype(f"<u{field.size}").view(np.uint8)
        else:
            part = _reports(field.name, field.size, column, first)
        rows[:, field.offset : field.end] = part.reshape(-1, field.size)
    return rows


def _codes(attribute: PublishedAttribute, column: Any) -> npt.NDArray[np.int64]:
    """Return the code of each cell, -1 for one that is no category."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        # -1 at the end, where an empty cell finds it
        codes = np.append(_codes(attribute, column.dictionary), -1)
        return np.asarray(
            codes[np.asarray(column.indices.cast(pa.int64()).fill_null(len(codes) - 1))]
        )
    if pa.types.is_string_view(column.type):
        column = pa.array(column.to_pylist(), pa.string())  # not every Arrow converts it
    elif not (_is_text(column.type) or pa.types.is_integer(column.type)):
        _wrong_type(attribute.name, column.type, "the categories as texts")
    known = pa.array(attribute.domain, pa.string())
    codes = compute.index_in(column.cast(pa.string()), value_set=known)
    return np.asarray(codes.fill_null(-1)).astype(np.int64)


def _reports(name: str, size: int, column: Any, first: int) -> npt.NDArray[np.uint8]:
    import pyarrow as pa

    kind = column.type
    is_binary = any(
        is_kind(kind)
        for is_kind in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
            pa.types.is_binary_view,
        )
    )
    if not (is_binary or _is_text(kind)):
        _wrong_type(name, kind, "the bytes that devices sent, or the same in hexadecimal")
    values = column.to_pylist()
    sizes = np.fromiter((len(value or b"") for value in values), np.int64, len(values))
    _refuse(name, sizes != (size if is_binary else 2 * size), "length", first)
    if is_binary:
        return np.frombuffer(b"".join(values), np.uint8)
    digits = frozenset("0123456789abcdefABCDEF")
    wrong = (not digits.issuperset(value) for value in values)
    _refuse(name, np.fromiter(wrong, np.bool_, len(values)), "form", first)
    return np.frombuffer(bytes.fromhex("".join(values)), np.uint8)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    is_kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(kind) for is_kind in is_kinds)


def _survey(metadata: dict[bytes, bytes], published: Published | None) -> Published:
    """Return the survey that is given, or that the table names."""
    content = metadata.get(CONTENT.encode(), b"records").decode(errors="replace")
    if content != "records":
        raise InvalidParameter(
            f"the table holds {show(content)}, no records; export with --content records",
            field="records",
        )
    manifest = metadata.get(MANIFEST.encode())
    own = None if manifest is None else Published.from_json(manifest)
    if own is None and published is None:
        raise InvalidParameter(
            "the table does not say of which survey it is; give published, the survey's version",
            field="published",
        )
    if own is not None and published is not None and own.digest != published.digest:
        raise InvalidParameter(
            f"the table is of {own.name} version {own.version}, digest {own.digest}, and published "
            f"is {published.name} version {published.version}, digest {published.digest}; give "
            "that version or none",
            field="published",
        )
    survey = published or own
    assert survey is not None  # noqa: S101  (one of the two is there)
    return survey


def _check_columns(columns: list[str], published: Published) -> None:
    names = [field.name for field in published.layout.fields]
    for column in columns:
        if column not in names or columns.count(column) > 1:
            wrong = "twice" if column in names else f"which {published.name} does not ask"
            raise InvalidParameter(
                f"the table has the column {show(column)} {wrong}; drop it. The columns are "
                f"{', '.join(names)}",
                field="records",
            )


def _wrong_type(name: str, kind: Any, wanted: str) -> NoReturn:
    raise InvalidParameter(
        f"the column {name} has the type {kind}; it must hold {wanted}", field=name
    )


def _refuse(name: str, malformed: npt.NDArray[np.bool_], reason: str, first: int) -> None:
    """Refuse the first row that is malformed, if there is one."""
    if malformed.any():
        raise MalformedRecord(
            f"records[{first + int(malformed.argmax())}] has a malformed part of {name} "
            f"({reason}); export the records again",
            reason=reason,
            field=name,
        )


def _pyarrow(feature: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("server", feature) from error
    return pa
