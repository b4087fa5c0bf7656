"""``hushpoll records weight``: weighted shares from a file of records and a column of weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import numpy.typing as npt

from hushpoll_analysis.cli.records import records_command
from hushpoll_analysis.frames.parquet_cells import is_parquet, parquet_header, parquet_texts
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.design import SurveyDesign
from hushpoll_analysis.survey_design.estimation import weighted_shares, weighted_shares_of_several
from hushpoll_shared.cli.job_statistics import WEIGHTED_SHARES
from hushpoll_shared.cli.weighting import read_design
from hushpoll_shared.reading.table_reader import NumberColumn, TableReader, column_place, open_table
from hushpoll_shared.reading.text_files import word

_Command = TypeVar("_Command", bound=Callable[..., Any])


def weights_of_records(command: _Command) -> _Command:
    """Add the options that give a weight for each record of a file."""
    column = click.option(
        "--weight-column",
        default="weight",
        show_default=True,
        help="Its column with the weights.",
    )
    file = click.option(
        "--weights",
        "weights_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="CSV or Parquet with a row for each record of FILE, in the same order.",
    )
    return file(column(command))


_FIELD = "weights"
_NAME_ONE = "name one with --weight-column"
_ROWS = 65_536


@click.command()
@weights_of_records
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
    known = SurveyDesign.from_dict(read_design(design, cell_weights, records.published))
    if len(attributes) == 1:
        return weighted_shares(records, attributes[0], known, weights=weights, **asked)
    return weighted_shares_of_several(records, attributes, known, weights=weights, **asked)


def read_weights(path: Path, column: str) -> npt.NDArray[np.float64]:
    """Read a column of weights, f64[n], in the order of the rows."""
    if is_parquet(path):
        place = column_place(parquet_header(path, _FIELD), column, path, _FIELD, _NAME_ONE)
        batches = parquet_texts(path, _FIELD, [place], _ROWS)
        cells = ((None, [text]) for batch in batches for text in batch[0])
        table = TableReader(word(path), _FIELD, (column,), cells)
        return np.array([table.number(row, 0) for row in table.rows()], dtype=np.float64)
    with open_table(path, field=_FIELD) as table:
        place = column_place(table.header, column, path, _FIELD, _NAME_ONE)
        numbers = NumberColumn(table, place)
        weights = np.array([numbers.number(row) for row in table.rows()], dtype=np.float64)
        numbers.check()
    return weights
