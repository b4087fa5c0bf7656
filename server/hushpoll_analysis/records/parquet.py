"""Records beyond one machine: exported Parquet, read and counted by Dask (extra ``scale``).

The file is what ``hushpoll export --format parquet`` writes: a column per attribute, and the
published manifest in the schema's metadata. Each task reads a row group; counts are integers and
add up, so they are exactly those of one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord, MissingExtra
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class ParquetRecords:
    """Records in files that every worker can read.

    Attributes
    ----------
    published : Published
        The survey.
    groups : tuple of (str, int)
        Path and number of every row group.
    n : int
        Records.
    """

    published: Published
    groups: tuple[tuple[str, int], ...]
    n: int

    @classmethod
    def of(cls, paths: Sequence[str | Path]) -> ParquetRecords:
        """Describe files of one survey's records, at least one.

        Raises
        ------
        InvalidParameter
            If a file is no export of records, or they are of different surveys.
        OSError
            If one cannot be read.
        """
        described = [_describe(path) for path in paths]
        if not described or len({published.digest for published, _, _ in described}) > 1:
            surveys = len({published.digest for published, _, _ in described})
            raise InvalidParameter(
                f"the {len(described)} files are of {surveys} surveys; give at least one, all of "
                "the same published version",
                field="paths",
            )
        groups = [
            (str(path), group)
            for path, (_, number, _) in zip(paths, described, strict=True)
            for group in range(number)
        ]
        return cls(described[0][0], tuple(groups), sum(rows for _, _, rows in described))


def count_parquet(paths: Sequence[str | Path], *, client: Any = None) -> tuple[Published, Counts]:
    """Count the support of every category in Parquet files of one survey's records.

    Parameters
    ----------
    paths : sequence of path
        Files that every worker can read; at least one.
    client : distributed.Client, optional
        Of the cluster; threads of this process by default.

    Raises
    ------
    MissingExtra
        Without Dask.
    InvalidParameter
        If a file is no export of records, or they are of different surveys.
    MalformedRecord
        If a record is malformed; naming file and row group.
    """
    try:
        import dask
    except ImportError as error:
        raise MissingExtra("scale", "counting with Dask") from error
    described = ParquetRecords.of(paths)
    untyped: Any = dask
    parts = [untyped.delayed(count_row_group, pure=False)(*group) for group in described.groups]
    done = client.gather(client.compute(parts)) if client is not None else untyped.compute(*parts)
    return described.published, sum(done, Counts.none(described.published))


def count_row_group(path: str, group: int) -> Counts:
    """Count one row group; runs on a worker."""
    return count(read_row_group(path, group))


def read_row_group(path: str, group: int) -> Records:
    """Read and check the records of one row group; runs on a worker.

    Raises
    ------
    InvalidParameter, MalformedRecord
        Naming file and row group.
    """
    from pyarrow import parquet

    published, _, _ = _describe(path)
    table = parquet.ParquetFile(path).read_row_group(group)
    where = f"{path}, row group {group}"
    try:
        return Records(published, _rows(published, table))
    except MalformedRecord as error:
        message = f"{where}: {error}"
        raise MalformedRecord(message, reason=error.reason, field=error.field) from None
    except InvalidParameter as error:
        raise InvalidParameter(f"{where}: {error}", field=error.field) from None


def _describe(path: str | Path) -> tuple[Published, int, int]:
    """Return a file's survey, and how many row groups and rows it has."""
    from pyarrow import ArrowInvalid, parquet

    try:
        file = parquet.ParquetFile(path)
    except ArrowInvalid as error:
        raise InvalidParameter(
            f"{path} is no Parquet file ({error}); export one with --format parquet", field="paths"
        ) from error
    metadata = file.schema_arrow.metadata or {}
    if metadata.get(b"hushpoll.content") != b"records":
        raise InvalidParameter(
            f"{path} holds no records; export it with --format parquet --content records",
            field="paths",
        )
    published = Published.from_json(metadata[b"hushpoll.manifest"])
    return published, file.num_row_groups, file.metadata.num_rows


def _rows(published: Published, table: Any) -> npt.NDArray[np.uint8]:
    """Return uint8[n, L]: the records that a table's columns came from; not yet checked."""
    rows = np.empty((table.num_rows, published.layout.record_size), np.uint8)
    for attribute in published.attributes:
        field = published.layout.field(attribute.name)
        if attribute.name not in table.column_names:
            raise InvalidParameter(
                f"there is no column {attribute.name}; export the records again", field="paths"
            )
        values = table.column(attribute.name).to_pylist()
        if attribute.oracle is None:
            place = {category: code for code, category in enumerate(attribute.domain)}
            codes = np.array([place.get(text, -1) for text in values], np.int64)
            _refuse(attribute.name, codes < 0, "range")
            part = codes.astype(f"<u{field.size}").view(np.uint8)
        else:
            parts = [value or b"" for value in values]
            sizes = np.fromiter(map(len, parts), np.int64, len(parts))
            _refuse(attribute.name, sizes != field.size, "length")
            part = np.frombuffer(b"".join(parts), np.uint8)
        rows[:, field.offset : field.end] = part.reshape(-1, field.size)
    return rows


def _refuse(name: str, malformed: npt.NDArray[np.bool_], reason: str) -> None:
    """Refuse the first row that is malformed, if there is one."""
    if malformed.any():
        raise MalformedRecord(
            f"records[{int(malformed.argmax())}] has a malformed part of {name} ({reason}); export "
            "the records again",
            reason=reason,
            field=name,
        )
