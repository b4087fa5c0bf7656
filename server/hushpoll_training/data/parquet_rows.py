"""Rows in clear from Parquet files: their cells as the texts that a CSV file would have.

A column of numbers gives their shortest text, so that a column that another program has read as
numbers still names its categories; a null is an empty cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.spelling.text import show

_MAGIC = b"PAR1"


def is_parquet(path: Path) -> bool:
    """Return whether a file begins and ends as Parquet files do."""
    with path.open("rb") as file:
        begins = file.read(4) == _MAGIC
        file.seek(0, 2)
        if not begins or file.tell() < 12:
            return False
        file.seek(-4, 2)
        return file.read(4) == _MAGIC


def parquet_header(path: Path, option: str) -> list[str]:
    """Return the names of a file's columns.

    Raises
    ------
    InvalidParameter
        If the file is damaged.
    """
    from pyarrow import ArrowException

    try:
        names: list[str] = _opened(path).schema_arrow.names
    except (ArrowException, OSError) as error:
        raise _damaged(path, option, error) from None
    return names


def parquet_texts(
    path: Path, option: str, positions: list[int], rows: int
) -> Iterator[list[list[str]]]:
    """Yield the texts of columns, at most `rows` rows at a time.

    Each text is a cell of CSV: :func:`hushpoll_shared.spelling.csv_cells.unescaped` gives it back.

    Parameters
    ----------
    path, option
        The file, and what it was given as.
    positions : list of int
        Of the columns to read.
    rows : int
        At least 1.

    Raises
    ------
    InvalidParameter
        If the file is damaged, or a column has no texts and no numbers.
    """
    from pyarrow import ArrowException

    try:
        file = _opened(path)
        names = file.schema_arrow.names
        chosen = [names[position] for position in positions]
        for batch in file.iter_batches(batch_size=rows, columns=chosen):
            yield [_texts(path, option, name, batch.column(name)) for name in chosen]
    except (ArrowException, OSError) as error:
        raise _damaged(path, option, error) from None


def _texts(path: Path, option: str, name: str, column: Any) -> list[str]:
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        distinct = _texts(path, option, name, column.dictionary)
        return ["" if place is None else distinct[place] for place in column.indices.to_pylist()]
    kinds = pa.types
    values = column.to_pylist()
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return ["" if value is None else escaped(value) for value in values]
    if kinds.is_integer(kind) or kinds.is_boolean(kind) or kinds.is_null(kind):
        return ["" if value is None else escaped(str(value)) for value in values]
    if kinds.is_floating(kind):
        return ["" if value is None else escaped(_number(value)) for value in values]
    raise InvalidParameter(
        f"{path} has the column {show(name)} of the type {kind}; give texts or numbers, or ignore "
        "the column",
        field=option,
    )


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _opened(path: Path) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(path)


def _damaged(path: Path, option: str, error: Exception) -> Exception:
    # Arrow says by an OSError without a number that the bytes are no Parquet.
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return InvalidParameter(
        f"{path} is a damaged Parquet file ({' '.join(str(error).split())}); write it again",
        field=option,
    )
