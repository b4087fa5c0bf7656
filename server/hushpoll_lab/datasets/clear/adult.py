"""UCI's Adult as it was published: 48,842 people, and whether they earn over 50,000 dollars.

3,620 people lack a category, which leaves 45,222. These have 102 features apart from the
sex, as many as Ghoukasian and Asoodeh count (appendix B).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale, clear_rows
from hushpoll_protocols.errors import InvalidParameter

FILES: Final = ("adult.data", "adult.test")
_COLUMNS: Final = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
_SCALES: Final = {
    "age": Scale(38.5, 13.2, (22, 26, 30, 34, 37, 41, 45, 50, 57)),
    "fnlwgt": Scale(190_000, 106_000, (66_000, 106_000, 130_000, 158_000, 178_000, 196_000)),
    "education-num": Scale(10.1, 2.55, (7, 9, 10, 11, 13)),
    "capital-gain": Scale(1_100, 7_500, (1, 5_000, 15_000)),
    "capital-loss": Scale(88.6, 405, (1, 1_900)),
    "hours-per-week": Scale(40.9, 12.0, (25, 36, 40, 42, 50, 55)),
}


def load(path: Path, *, missing: str = "drop") -> ClearRows:
    """Read ``adult.data``, or both parts: the other one is looked for beside it.

    Raises
    ------
    InvalidParameter
        If a file is something else.
    OSError
        If a file cannot be read.
    """
    parts = [_read(path)]
    other = path.with_name(FILES[1])
    if path.name == FILES[0] and other.is_file():
        parts.append(_read(other))
    table = pd.concat(parts)
    return clear_rows(
        "adult", table, _SCALES,
        target=("income", ">50K"), protected=("sex", "Female", "Male"), missing=missing,
    )  # fmt: skip


def _read(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(
            path, names=list(_COLUMNS), skipinitialspace=True, na_values="?", comment="|"
        )
        # Labels of the test part end in a dot.
        return table.assign(income=table["income"].str.rstrip("."))
    except (ValueError, AttributeError) as error:
        raise InvalidParameter(
            f"{path} is no part of Adult as UCI published it ({' '.join(str(error).split())}); "
            f"give {' and '.join(FILES)}",
            field="data",
        ) from None
