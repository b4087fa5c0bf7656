"""Clear rows in the manifest's terms: columns named by attribute, cells by category."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.attributes import Attribute
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.csv_file import Column, read_coded


def read_rows(
    path: Path,
    published: Published,
    *,
    option: str = "data",
    optional: Collection[str] = (),
    ignored: Collection[str] = (),
) -> dict[str, npt.NDArray[np.int64]]:
    """Read a CSV file of people who gave their answers in clear.

    Parameters
    ----------
    path : Path
        UTF-8, comma-separated, with a header. An empty cell is the missing category.
    published : Published
        The survey.
    option : str
        What the file was given as, for the errors' field.
    optional : collection of str
        Attributes that are left out of the result where the file has no such column.
    ignored : collection of str
        Columns that are not read.

    Returns
    -------
    mapping of str to int64[n]
        Codes in [0, k) per attribute, in manifest order. An attribute with a missing category and
        no column is missing in every row.

    Raises
    ------
    InvalidParameter
        Naming file, row, column, value and remedy of the first cell that is no category; or for a
        column that is no attribute, and an attribute without a column.
    OSError
        If the file cannot be read.
    """
    names = [one.name for one in published.attributes]
    for column in ignored:
        if column in names:
            raise InvalidParameter(
                f"ignore names {show(column)}, an attribute of {published.name}; leave it out",
                field="ignore",
            )

    def columns(header: Sequence[str]) -> list[Column]:
        for column in header:
            if column not in names and column not in ignored:
                raise InvalidParameter(
                    f"{path} has the column {show(column)}, which {published.name} does not ask; "
                    f"remove it, or ignore it. The attributes are {', '.join(names)}",
                    field=option,
                )
        for one in published.attributes:
            if one.name not in header and one.name not in optional and one.missing is None:
                raise InvalidParameter(
                    f"{path} has no column {one.name}, and {published.name} gives it no category "
                    f"for a missing answer; add the column. The columns are {', '.join(header)}",
                    field=option,
                )
        return [
            Column(one.name, header.index(one.name), _coder(one))
            for one in published.attributes
            if one.name in header
        ]

    found, n = read_coded(path, option, columns)
    return {
        one.name: found[one.name] if one.name in found else np.full(n, one.k - 1, dtype=np.int64)
        for one in published.attributes
        if one.name in found or one.name not in optional
    }


def _coder(attribute: Attribute) -> Callable[[str], int]:
    cells = {escaped(category): category for category in attribute.domain}

    def code(text: str) -> int:
        try:
            return attribute.code(cells.get(text, text) or None)
        except InvalidParameter as error:
            # an attribute names no answer of a respondent; these are a file's cells, which may be
            _, _, remedy = str(error).partition("; ")
            wrong = f"{show(text)} is no category" if text else "the cell is empty"
            raise InvalidParameter(f"{wrong}; {remedy}", field=attribute.name) from None

    return code
