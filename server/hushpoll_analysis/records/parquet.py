"""Records beyond one machine: exported Parquet, whose row groups are read one by one.

The file is what ``hushpoll export --format parquet`` writes: a column per attribute, and the
published manifest in the schema's metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hushpoll_analysis.records.record_tables import rows_of
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class ParquetRecords:
    """Records in files that every worker can read."""

    published: Published
    groups: tuple[tuple[str, int], ...]
    """Path and number of every row group."""
    n: int
    """Records."""

    @classmethod
    def of(cls, paths: Sequence[str | Path]) -> ParquetRecords:
        """Describe files of one survey's records, at least one; refuses others."""
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


def read_row_group(path: str, group: int) -> Records:
    """Read and check the records of one row group; runs on a worker, and errors name the group."""
    from pyarrow import ArrowException, parquet

    published, _, _ = _describe(path)
    where = f"{path}, row group {group}"
    try:
        table = parquet.ParquetFile(path).read_row_group(group)
        return Records(published, rows_of(published, table.to_batches()))
    except (ArrowException, OSError) as error:
        # Arrow says by an OSError without a number that the bytes are no Parquet.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InvalidParameter(
            f"{where} is damaged ({error}); export the records again", field="paths"
        ) from None
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
