"""LSAC's National Longitudinal Bar Passage Study (Wightman, 1998).

The paper's cleaning (section 5.1): rows with a missing value in any column are dropped; race is
binarised to black and other, the undergraduate GPA rounded to halves and the LSAT to whole points,
ties to even; each column's codes are the ranks of its values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_lab.datasets.dataset import Dataset, Recipe, ranked
from hushpoll_lab.datasets.source import Source, read_table
from hushpoll_protocols.errors import InvalidParameter

SOURCE: Final = Source(
    "https://storage.googleapis.com/lawschool_dataset/bar_pass_prediction.csv",
    "bar_pass_prediction.csv",
)

RECIPE: Final = Recipe(
    name="lsac",
    title="Law students and the bar exam (LSAC)",
    target="pass_bar",
    positive="passed",
    protected="race1",
    privileged="other",
    unprivileged="black",
    sensitive=("race1", "gender", "fam_inc", "fulltime"),
    questions={
        "fam_inc": "In which fifth of incomes is your family, from 1, the lowest, to 5?",
        "gender": "What is your gender?",
        "fulltime": "Do you study full time?",
        "race1": "What is your race?",
        "lsat": "What was your LSAT score?",
        "ugpa": "What was your undergraduate GPA, to the nearest half?",
        "pass_bar": "Did you pass the bar exam?",
    },
    rows=20_427,
    sha256="296a428e55cc5f2b7f4f8d9374f6c11320dfe022a64e752a582014bf0e560e1d",
)
_FULLTIME: Final = {1: "full time", 2: "part time"}
_PASSED: Final = {0: "failed", 1: "passed"}


def clean(path: Path) -> Dataset:
    """Read ``bar_pass_prediction.csv`` and clean it as the paper did."""
    table = read_table(path, SOURCE.file, "from")
    for name in RECIPE.questions:
        if name not in table.columns:
            raise InvalidParameter(f"{path} has no column {name}; give {SOURCE.file}", field="from")
    table = table.dropna(how="any")
    if table.empty:
        raise InvalidParameter(
            f"no row of {path} has a value in every column; give {SOURCE.file}", field="from"
        )
    codes, categories = {}, {}
    for name in RECIPE.questions:
        values = _values(name, table[name], path)
        codes[name], distinct = ranked(values)
        categories[name] = tuple(_label(name, value) for value in distinct.tolist())
    return Dataset(RECIPE, codes, categories)


def _values(name: str, column: pd.Series[Any], path: Path) -> npt.NDArray[Any]:
    if name == "gender":
        return column.to_numpy(dtype=str)
    if name == "race1":
        return np.asarray(column != "black", dtype=np.int64)
    try:
        numbers = column.to_numpy(dtype=np.float64)
    except ValueError:
        raise InvalidParameter(
            f"column {name} of {path} holds something else than numbers; give {SOURCE.file}",
            field="from",
        ) from None
    # numpy's ties go to even, like pandas'
    if name == "ugpa":
        return np.asarray(np.round(numbers * 2) / 2)
    return np.asarray(np.round(numbers))


def _label(name: str, value: Any) -> str:
    if name == "gender":
        return str(value)
    if name == "race1":
        return RECIPE.privileged if value else RECIPE.unprivileged
    if name == "ugpa":
        return f"{value:.1f}"
    number = int(value)
    if name == "fulltime":
        return _FULLTIME.get(number, str(number))
    if name == "pass_bar":
        return _PASSED.get(number, str(number))
    return str(number)
