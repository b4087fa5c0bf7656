"""UCI's data sets as papers prepared them: Adult as it was published, credit cards, Abalone."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from hushpoll_lab.datasets.clear.rows import ClearRows, Scale, clear_rows
from hushpoll_lab.datasets.source import read_table
from hushpoll_protocols.errors import InvalidParameter

ADULT_FILES: Final = ("adult.data", "adult.test")
_ADULT_COLUMNS: Final = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
_ADULT_SCALES: Final = {
    "age": Scale(38.5, 13.2, (22, 26, 30, 34, 37, 41, 45, 50, 57)),
    "fnlwgt": Scale(190_000, 106_000, (66_000, 106_000, 130_000, 158_000, 178_000, 196_000)),
    "education-num": Scale(10.1, 2.55, (7, 9, 10, 11, 13)),
    "capital-gain": Scale(1_100, 7_500, (1, 5_000, 15_000)),
    "capital-loss": Scale(88.6, 405, (1, 1_900)),
    "hours-per-week": Scale(40.9, 12.0, (25, 36, 40, 42, 50, 55)),
}


def load_adult(path: Path, *, missing: str = "drop") -> ClearRows:
    """Read ``adult.data``, or both parts: the other one is looked for beside it.

    48,842 people, and whether they earn over 50,000 dollars. 3,620 lack a category, which leaves
    45,222. These have 102 features apart from the sex, as many as Ghoukasian and Asoodeh count
    (appendix B).
    """
    parts = [_read_adult(path)]
    other = path.with_name(ADULT_FILES[1])
    if path.name == ADULT_FILES[0] and other.is_file():
        parts.append(_read_adult(other))
    table = pd.concat(parts)
    return clear_rows(
        "adult", table, _ADULT_SCALES,
        target=("income", ">50K"), protected=("sex", "Female", "Male"), missing=missing,
    )  # fmt: skip


def _read_adult(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(
            path, names=list(_ADULT_COLUMNS), skipinitialspace=True, na_values="?", comment="|"
        )
        # Labels of the test part end in a dot.
        return table.assign(income=table["income"].str.rstrip("."))
    except (ValueError, AttributeError) as error:
        raise InvalidParameter(
            f"{path} is no part of Adult as UCI published it ({' '.join(str(error).split())}); "
            f"give {' and '.join(ADULT_FILES)}",
            field="data",
        ) from None


CREDIT_CARD_FILES: Final = ("credit_card.csv",)
_BILLS: Final = ((51_200, 73_600), (49_200, 71_200), (47_000, 69_300), (43_300, 64_300),
                 (40_300, 60_800), (38_900, 59_600))  # fmt: skip
_PAYMENTS: Final = ((5_660, 16_600), (5_920, 23_000), (5_230, 17_600), (4_830, 15_700),
                    (4_800, 15_300), (5_220, 17_800))  # fmt: skip
_BILL_EDGES: Final = (1, 2_000, 9_000, 20_000, 35_000, 60_000, 110_000)
_PAYMENT_EDGES: Final = (1, 1_000, 1_500, 2_000, 3_000, 5_000, 9_000)
_CREDIT_CARD_SCALES: Final = {
    "LIMIT_BAL": Scale(
        167_000, 130_000, (30_000, 50_000, 90_000, 140_000, 190_000, 240_000, 340_000)
    ),
    "AGE": Scale(35.5, 9.2, (25, 28, 31, 34, 38, 42, 48)),
    **{f"BILL_AMT{at}": Scale(*pair, _BILL_EDGES) for at, pair in enumerate(_BILLS, start=1)},
    **{f"PAY_AMT{at}": Scale(*pair, _PAYMENT_EDGES) for at, pair in enumerate(_PAYMENTS, start=1)},
}
_OTHERS: Final = {"EDUCATION": {0: 4, 5: 4, 6: 4}, "MARRIAGE": {0: 3}}


def load_credit_card(path: Path, *, missing: str = "drop") -> ClearRows:
    """Read ``credit_card.csv``: UCI's columns with a header, the target named ``next_payment``.

    30,000 people, and who missed the next payment. Categories of education and marriage that the
    description does not have are counted as "others", so that there are 85 features apart from the
    sex, as many as Ghoukasian and Asoodeh count (appendix B).
    """
    table = read_table(path, CREDIT_CARD_FILES[0], "data")
    table = table.drop(columns="ID", errors="ignore")
    for column in _OTHERS:
        if column not in table.columns:
            raise InvalidParameter(
                f"{path} has no column {column}; give {CREDIT_CARD_FILES[0]}", field="data"
            )
    return clear_rows(
        "credit-card", table.replace(_OTHERS), _CREDIT_CARD_SCALES,
        target=("next_payment", 1), protected=("SEX", 2, 1), missing=missing,
    )  # fmt: skip


ABALONE_FILES: Final = ("abalone.csv",)
_ABALONE_NUMBERS: Final = (
    *("Length", "Diameter", "Height", "Whole weight", "Shucked weight", "Viscera weight"),
    "Shell weight",
)
_ABALONE_SCALE: Final = Scale(0.0, 1.0, (-1.0, -0.5, 0.0, 0.5, 1.0))


def load_abalone(path: Path, *, missing: str = "drop") -> ClearRows:
    """Read ``abalone.csv`` as the authors of FairDP prepared it.

    1,418 rows, seven scaled numbers, two groups. Their file holds standardised numbers, the label
    twice, the group ``z``, and a split of its own, which is not used here.
    """
    table = read_table(path, ABALONE_FILES[0], "data")
    return clear_rows(
        "abalone",
        table.drop(columns=["y", "is_train"], errors="ignore"),
        dict.fromkeys(_ABALONE_NUMBERS, _ABALONE_SCALE),
        target=("label", 1),
        protected=("z", 0, 1),
        missing=missing,
    )
