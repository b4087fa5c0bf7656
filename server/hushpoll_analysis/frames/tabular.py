"""Results as tables: what every result of an analysis can be turned into."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from hushpoll_protocols.errors import MissingExtra
from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.tables.result_table import Kind, ResultTable

if TYPE_CHECKING:
    import pandas as pd

_TYPES: Final[dict[Kind, str]] = {"text": "string", "number": "float64", "whole number": "int64"}


class Tabular(ABC):
    """A result that has a JSON form, and so a table.

    The table has one row per estimate. A number that there is not, such as the limit of a set
    without a bound, is null (in pandas NaN). What was asked, and how to read the answer, is in
    ``methods`` of the table and in the metadata ``hushpoll.methods`` of the Arrow schema, as JSON.
    """

    __slots__ = ()
    statistic_name: ClassVar[str]
    """Its name in :data:`hushpoll_shared.statistic_tables.TABLES`."""

    @abstractmethod
    def to_dict(self) -> Mapping[str, object]:
        """Return the result as the API and ``--json`` give it."""

    def to_table(self) -> ResultTable:
        """Return the result as rows with typed columns, of which files are made."""
        return table_of(self.statistic_name, self.to_dict())

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise MissingExtra("server", "a table of Arrow") from error
        table = self.to_table()
        schema = pa.schema(
            [pa.field(one.name, pa.type_for_alias(_TYPES[one.kind])) for one in table.columns],
            metadata={"hushpoll.methods": json.dumps(dict(table.methods), ensure_ascii=False)},
        )
        cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(schema)
        arrays = [pa.array(part, field.type) for part, field in zip(cells, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame; raises as :meth:`to_arrow`."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``."""
        return polars_of(self.to_arrow())


_Row = TypeVar("_Row")


def filled(kind: type[_Row], found: object, **more: object) -> _Row:
    """Return a row or a result: its members are those given, and those of `found` of that name."""
    members: Any = kind
    named = [one.name for one in fields(members) if hasattr(found, one.name)]
    return kind(**{name: getattr(found, name) for name in named} | more)


class ArrayResult(Tabular):
    """What the maths of a query found, as arrays; its result has the JSON form and the table."""

    __slots__ = ()

    @abstractmethod
    def result(self) -> Result:
        """Return the result of the query."""

    def to_dict(self) -> JsonMembers:
        """Return the result as the API and ``--json`` give it."""
        return self.result().to_dict()

    def to_table(self) -> ResultTable:
        """Return the result as rows with typed columns, of which files are made."""
        return table_of_result(self.result())


def polars_of(table: Any) -> Any:
    """Return an Arrow table as a ``polars.DataFrame``."""
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtra("polars", "a table of Polars") from error
    return pl.from_arrow(table)
