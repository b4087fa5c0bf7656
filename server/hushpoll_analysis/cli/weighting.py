"""``hushpoll records weight``: weighted shares from a file of records and a column of weights."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis.cli.records import records_command
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_analysis.survey_design.estimation import weighted_shares
from hushpoll_analysis.survey_design.several import weighted_shares_of_several
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.statistic_commands import WEIGHTED_SHARES
from hushpoll_shared.cli.weighting import read_design

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--weights",
    "weights_file",
    type=_FILE,
    help="CSV or Parquet with a row for each record of FILE, in the same order.",
)
@click.option(
    "--weight-column",
    default="weight",
    show_default=True,
    help="Its column with the weights.",
)
@records_command(WEIGHTED_SHARES)
def weight(
    records: Records,
    attributes: tuple[str, ...],
    design: Path | None,
    cell_weights: Path | None,
    weights_file: Path | None,
    weight_column: str,
    **asked: Any,
) -> Tabular:
    """Show the shares of ATTRIBUTES in the population, from records of FILE that export saved.

    The same as hushpoll weight shows of a survey on a server, and with a weight of each record.
    """
    weights = None if weights_file is None else read_weights(weights_file, weight_column)
    known = SurveyDesign.from_dict(read_design(design, cell_weights))
    if len(attributes) == 1:
        return weighted_shares(records, attributes[0], known, weights=weights, **asked)
    return weighted_shares_of_several(records, attributes, known, weights=weights, **asked)


def read_weights(path: Path, column: str) -> npt.NDArray[np.float64]:
    """Read a column of weights, f64[n], in the order of the rows.

    Raises
    ------
    InvalidParameter
        If the file has another ending, is not what its ending says or has no such column, or if a
        row has no number in it.
    OSError
        If it cannot be read.
    """
    match path.suffix.lower():
        case ".csv":
            return _of_csv(path, column)
        case ".parquet":
            return _of_parquet(path, column)
    raise InvalidParameter(
        f"{path} must end in .csv or .parquet: save the weights as one of them", field="weights"
    )


def _of_csv(path: Path, column: str) -> npt.NDArray[np.float64]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = csv.DictReader(stream)
            _require(column, rows.fieldnames or [], path)
            weights = [_number(row[column], path, line) for line, row in enumerate(rows, start=2)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidParameter(
            f"{path} is no CSV in UTF-8 ({error}); save the weights as one", field="weights"
        ) from None
    return np.array(weights, dtype=np.float64)


def _of_parquet(path: Path, column: str) -> npt.NDArray[np.float64]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        _require(column, pq.read_schema(path).names, path)
        values = pq.read_table(path, columns=[column]).column(column)
    except pa.ArrowInvalid as error:
        raise InvalidParameter(
            f"{path} is no Parquet file ({error}); save the weights as one", field="weights"
        ) from None
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        raise InvalidParameter(
            f"{path}: the column {column} has {values.type} values; give numbers", field="weights"
        )
    if values.null_count:
        raise InvalidParameter(
            f"{path}: {values.null_count} rows have no {column}; give each record one",
            field="weights",
        )
    return np.asarray(values.to_numpy(), dtype=np.float64)


def _require(column: str, columns: object, path: Path) -> None:
    names = [str(name) for name in columns] if isinstance(columns, list | tuple) else []
    if column not in names:
        raise InvalidParameter(
            f"{path} has no column {column!r}; its columns are {', '.join(names[:12])}: name one "
            "with --weight-column",
            field="weights",
        )


def _number(text: str | None, path: Path, line: int) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise InvalidParameter(
            f"{path}, line {line}: {text!r} is no weight; give each record a number",
            field="weights",
        ) from None
