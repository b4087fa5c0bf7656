"""UCI's Abalone as the authors of FairDP prepared it: 1,418 rows, seven scaled numbers, two groups.

Their file holds standardised numbers, the label twice, the group ``z``, and a split of its own,
which is not used here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale, clear_rows
from hushpoll_lab.datasets.source import read_table

FILES: Final = ("abalone.csv",)
_NUMBERS: Final = (
    *("Length", "Diameter", "Height", "Whole weight", "Shucked weight", "Viscera weight"),
    "Shell weight",
)
_SCALE: Final = Scale(0.0, 1.0, (-1.0, -0.5, 0.0, 0.5, 1.0))


def load(path: Path, *, missing: str = "drop") -> ClearRows:
    """Read ``abalone.csv``.

    Raises
    ------
    InvalidParameter
        If the file is something else.
    OSError
        If it cannot be read.
    """
    table = read_table(path, FILES[0], "data")
    return clear_rows(
        "abalone",
        table.drop(columns=["y", "is_train"], errors="ignore"),
        dict.fromkeys(_NUMBERS, _SCALE),
        target=("label", 1),
        protected=("z", 0, 1),
        missing=missing,
    )
