"""Reconstructed Adult (Ding, Hardt, Miller and Schmidt, 2021), income above 26,000.

The paper's cleaning (section 5.1): ten attributes are kept, ``capital-gain`` and ``capital-loss``
left out; rows with ``?`` are dropped; each column's codes are the ranks of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_lab.datasets.dataset import Dataset, Recipe, ranked
from hushpoll_lab.datasets.source import Source
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_training.data.rows import Column, read_coded

SOURCE: Final = Source(
    "https://raw.githubusercontent.com/socialfoundations/folktables/main/adult_reconstruction.csv",
    "adult_reconstruction.csv",
)
THRESHOLD: Final = 26_000
MISSING: Final = "?"
_NUMBERS: Final = ("age", "hours-per-week", "income")

RECIPE: Final = Recipe(
    name="adult",
    title="Work and income (reconstructed Adult)",
    target="income",
    positive=">26000",
    protected="gender",
    privileged="Male",
    unprivileged="Female",
    sensitive=("gender", "race", "native-country", "age"),
    questions={
        "age": "How old are you, in years?",
        "workclass": "Who do you work for?",
        "education": "What is your highest level of education?",
        "marital-status": "What is your marital status?",
        "occupation": "What is your occupation?",
        "native-country": "In which country were you born?",
        "relationship": "What are you to the others in your household?",
        "hours-per-week": "How many hours a week do you usually work?",
        "gender": "What is your gender?",
        "race": "What is your race?",
        "income": "Is your income above 26,000 dollars a year?",
    },
    rows=45_849,
    sha256="86b00911881f1a37bd5d6ee3873f73c7d13ee5b32814dfc915c534fb0ca851df",
)


def clean(path: Path) -> Dataset:
    """Read ``adult_reconstruction.csv`` and clean it as the paper did.

    Refuses UCI's Adult, which says only whether an income is above 50,000.
    """
    values = _read(path)
    known = np.ones(len(values["age"]), dtype=np.bool_)
    for name in RECIPE.questions:
        if name not in _NUMBERS:
            known &= values[name] != MISSING
    if not known.any():
        raise InvalidParameter(
            f"every row of {path} has a {MISSING}; give the reconstructed Adult", field="from"
        )
    codes: dict[str, npt.NDArray[np.int64]] = {}
    categories: dict[str, tuple[str, ...]] = {}
    for name in RECIPE.questions:
        column = values[name][known]
        if name == "income":
            codes[name] = (column > THRESHOLD).astype(np.int64)
            categories[name] = (f"<={THRESHOLD}", f">{THRESHOLD}")
        else:
            codes[name], distinct = ranked(column)
            categories[name] = tuple(map(str, distinct.tolist()))
    return Dataset(RECIPE, codes, categories)


def _read(path: Path) -> dict[str, npt.NDArray[Any]]:
    texts: dict[str, dict[str, int]] = {name: {} for name in RECIPE.questions}

    def columns(header: Sequence[str]) -> list[Column]:
        for name in RECIPE.questions:
            if name not in header:
                raise InvalidParameter(
                    f"{path} has no column {name}; give {SOURCE.file}, the reconstructed Adult, "
                    "whose incomes are amounts (UCI's says only whether they are above 50,000)",
                    field="from",
                )
        return [
            Column(name, header.index(name), _number if name in _NUMBERS else _coder(texts[name]))
            for name in RECIPE.questions
        ]

    coded, _ = read_coded(path, "from", columns)
    return {
        name: coded[name] if name in _NUMBERS else np.asarray(list(texts[name]))[coded[name]]
        for name in RECIPE.questions
    }


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise InvalidParameter(
            f"{show(text)} is no whole number; give {SOURCE.file} as it was published",
            field="from",
        )
    return int(text)


def _coder(texts: dict[str, int]) -> Callable[[str], int]:
    return lambda text: texts.setdefault(text, len(texts))
