"""UCI's Default of Credit Card Clients: 30,000 people, and who missed the next payment.

Categories of education and marriage that the description does not have are counted as "others", so
that there are 85 features apart from the sex, as many as Ghoukasian and Asoodeh count (appendix B).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale, clear_rows
from hushpoll_lab.datasets.source import read_table
from hushpoll_protocols.errors import InvalidParameter

FILES: Final = ("credit_card.csv",)
_BILLS: Final = ((51_200, 73_600), (49_200, 71_200), (47_000, 69_300), (43_300, 64_300),
                 (40_300, 60_800), (38_900, 59_600))  # fmt: skip
_PAYMENTS: Final = ((5_660, 16_600), (5_920, 23_000), (5_230, 17_600), (4_830, 15_700),
                    (4_800, 15_300), (5_220, 17_800))  # fmt: skip
_BILL_EDGES: Final = (1, 2_000, 9_000, 20_000, 35_000, 60_000, 110_000)
_PAYMENT_EDGES: Final = (1, 1_000, 1_500, 2_000, 3_000, 5_000, 9_000)
_SCALES: Final = {
    "LIMIT_BAL": Scale(
        167_000, 130_000, (30_000, 50_000, 90_000, 140_000, 190_000, 240_000, 340_000)
    ),
    "AGE": Scale(35.5, 9.2, (25, 28, 31, 34, 38, 42, 48)),
    **{f"BILL_AMT{at}": Scale(*pair, _BILL_EDGES) for at, pair in enumerate(_BILLS, start=1)},
    **{f"PAY_AMT{at}": Scale(*pair, _PAYMENT_EDGES) for at, pair in enumerate(_PAYMENTS, start=1)},
}
_OTHERS: Final = {"EDUCATION": {0: 4, 5: 4, 6: 4}, "MARRIAGE": {0: 3}}


def load(path: Path, *, missing: str = "drop") -> ClearRows:
    """Read ``credit_card.csv``: UCI's columns with a header, the target named ``next_payment``.

    Raises
    ------
    InvalidParameter
        If the file is something else.
    OSError
        If it cannot be read.
    """
    table = read_table(path, FILES[0], "data")
    table = table.drop(columns="ID", errors="ignore")
    for column in _OTHERS:
        if column not in table.columns:
            raise InvalidParameter(f"{path} has no column {column}; give {FILES[0]}", field="data")
    return clear_rows(
        "credit-card", table.replace(_OTHERS), _SCALES,
        target=("next_payment", 1), protected=("SEX", 2, 1), missing=missing,
    )  # fmt: skip
