"""Tables that people bring as Parquet: their cells as the texts that a CSV file would have.

A number is its shortest text in its own width, so that a column that another program has read as
numbers still names its categories: .1 is "0.1" as a float of 32 bits, too. A date is YYYY-MM-DD, a
decimal has no zeros at its end, and a null is an empty cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import checked_header
from hushpoll_shared.reading.text_files import word
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


def parquet_header(path: Path, option: str) -> tuple[str, ...]:
    """Return the names of a file's columns; refuses one without a name, and two of one name."""
    from pyarrow import ArrowException

    try:
        names: list[str] = _opened(path).schema_arrow.names
    except (ArrowException, OSError) as error:
        raise _damaged(path, option, error) from None
    return checked_header(names, word(path), option) if names else ()


def parquet_texts(
    path: Path, option: str, positions: list[int], rows: int
) -> Iterator[list[list[str]]]:
    """Yield the texts of columns of texts, numbers or dates, at most `rows` rows at a time."""
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
    spelled = _spelling(kind)
    if spelled is None:
        raise InvalidParameter(
            f"{word(path)} has the column {show(name)} of the type {kind}; give texts, numbers or "
            "dates, or ignore the column",
            field=option,
        )
    return ["" if value is None else spelled(value) for value in column.to_pylist()]


def _spelling(kind: Any) -> Callable[[Any], str] | None:
    """Return what spells the values of an Arrow type; None for a type that has no texts."""
    from pyarrow import types

    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return str
    if types.is_integer(kind) or types.is_boolean(kind) or types.is_null(kind):
        return str
    if types.is_floating(kind):
        own = kind.to_pandas_dtype()
        return lambda value: _number(own(value))
    if types.is_decimal(kind):
        return format_epsilon
    if types.is_date(kind):
        return date.isoformat
    return None


def _number(value: np.floating[Any]) -> str:
    """Return the shortest digits that read back as the value in its own width, no exponent."""
    if not math.isfinite(value):
        return str(value)
    return np.format_float_positional(value + 0, unique=True, trim="-")


def _opened(path: Path) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(path)


def _damaged(path: Path, option: str, error: Exception) -> Exception:
    # Arrow says by an OSError without a number that the bytes are no Parquet.
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return InvalidParameter(
        f"{word(path)} is a damaged Parquet file ({' '.join(str(error).split())}); write it again",
        field=option,
    )
