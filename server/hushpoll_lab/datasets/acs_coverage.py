"""ACSCoverage, Texas 2018, through folktables (Ding, Hardt, Miller and Schmidt, 2021).

folktables reads the Census Bureau's person file, filters it (under 65, income at most 30,000) and
names the columns; a question that a person is not asked becomes 0. The paper's cleaning (section
5.1): the columns ``DEAR``, ``DEYE``, ``DREM`` and ``PINCP`` are left out. Its code makes three of
the others binary, which the paper does not say: ``DIS`` (1: with a disability), ``SEX`` (1: male)
and ``RAC1P`` (1: black); they are so in its data. The other columns' codes are the ranks of the
bureau's.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_lab.datasets.dataset import Dataset, Recipe, ranked
from hushpoll_lab.datasets.source import Source
from hushpoll_protocols.errors import InvalidParameter, MissingExtra

STATE: Final = "TX"
YEAR: Final = "2018"
HORIZON: Final = "1-Year"
SOURCE: Final = Source(
    f"https://www2.census.gov/programs-surveys/acs/data/pums/{YEAR}/{HORIZON}/csv_ptx.zip",
    "csv_ptx.zip",
)
PERSONS: Final = "psam_p48.csv"
"""The person file in the archive; 48 is Texas."""

_LEFT_OUT: Final = ("DEAR", "DEYE", "DREM", "PINCP")
# The bureau's code that becomes 1, and the categories' names.
_BINARY: Final = {
    "DIS": (1, ("without a disability", "with a disability")),
    "SEX": (1, ("female", "male")),
    "RAC1P": (2, ("other", "black")),
}

RECIPE: Final = Recipe(
    name="acs-coverage",
    title="Public health coverage (ACSCoverage, Texas 2018)",
    target="PUBCOV",
    positive="covered",
    protected="DIS",
    privileged="with a disability",
    unprivileged="without a disability",
    sensitive=("DIS", "AGEP", "SEX", "SCHL"),
    questions={
        "AGEP": "How old are you, in years?",
        "SCHL": "What is your highest level of education (the bureau's code)?",
        "MAR": "What is your marital status (the bureau's code)?",
        "SEX": "What is your sex?",
        "DIS": "Do you have a disability?",
        "ESP": "Are your parents employed (the bureau's code; 0: not asked)?",
        "CIT": "What is your citizenship (the bureau's code)?",
        "MIG": "Did you live here a year ago (the bureau's code; 0: not asked)?",
        "MIL": "Did you serve in the military (the bureau's code; 0: not asked)?",
        "ANC": "Which ancestry do you report (the bureau's code)?",
        "NATIVITY": "Were you born in the country (the bureau's code)?",
        "ESR": "Are you employed (the bureau's code; 0: not asked)?",
        "ST": "In which state do you live (the bureau's code)?",
        "FER": "Did you give birth within a year (the bureau's code; 0: not asked)?",
        "RAC1P": "What is your race?",
        "PUBCOV": "Are you covered by public health insurance?",
    },
    rows=98_739,
    sha256="d3a2713e71b6557f07b22dc0e77ff885ceac3ff522146027524d39512a007ff7",
)


def clean(path: Path) -> Dataset:
    """Read the bureau's person file, or the archive with it, and clean it as the paper did."""
    features, target = _prepared(path)
    columns = {name: features[name].to_numpy() for name in features if name not in _LEFT_OUT}
    columns[RECIPE.target] = target.to_numpy(dtype=np.int64).ravel()
    codes: dict[str, npt.NDArray[np.int64]] = {}
    categories: dict[str, tuple[str, ...]] = {}
    for name in RECIPE.questions:
        values = columns[name]
        if name in _BINARY:
            positive, categories[name] = _BINARY[name]
            codes[name] = (values == positive).astype(np.int64)
        elif name == RECIPE.target:
            codes[name], categories[name] = values, ("not covered", RECIPE.positive)
        else:
            codes[name], distinct = ranked(values)
            categories[name] = tuple(f"{value:g}" for value in distinct.tolist())
    return Dataset(RECIPE, codes, categories)


def _prepared(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    try:
        from folktables import ACSDataSource, ACSPublicCoverage
    except ModuleNotFoundError as error:
        raise MissingExtra("acs", "reading ACSCoverage") from error
    with tempfile.TemporaryDirectory() as root:
        # folktables finds a file that it has downloaded by this place, and downloads unchecked.
        place = Path(root) / YEAR / HORIZON / PERSONS
        place.parent.mkdir(parents=True)
        _put(path, place)
        source = ACSDataSource(survey_year=YEAR, horizon=HORIZON, survey="person", root_dir=root)
        remedy = f"give {PERSONS} of {YEAR}, or {SOURCE.file}, which holds it"
        try:
            data = source.get_data(states=[STATE], download=False)
            features, target, _ = ACSPublicCoverage.df_to_pandas(data)
        except KeyError as error:
            raise InvalidParameter(
                f"{path} is no person file of the American Community Survey, for columns are "
                f"missing ({error.args[0]}); {remedy}",
                field="from",
            ) from None
        except (ValueError, StopIteration) as error:
            raise InvalidParameter(
                f"{path} cannot be read ({' '.join(str(error).split())}); {remedy}", field="from"
            ) from None
    if features.empty:
        raise InvalidParameter(
            f"nobody in {path} is under 65 with an income of at most 30,000; {remedy}", field="from"
        )
    return features, target


def _put(path: Path, place: Path) -> None:
    if not zipfile.is_zipfile(path):
        with path.open("rb") as raw, place.open("wb") as stream:
            shutil.copyfileobj(raw, stream)
        return
    with zipfile.ZipFile(path) as archive:
        try:
            member: Any = archive.getinfo(PERSONS)
            with archive.open(member) as raw, place.open("wb") as stream:
                shutil.copyfileobj(raw, stream)
        except (KeyError, zipfile.BadZipFile) as error:
            raise InvalidParameter(
                f"{path} does not hold a whole {PERSONS} ({error}); download {SOURCE.file} again",
                field="from",
            ) from None
