"""Reconstructed Adult: the paper's cleaning, by hand and on the paper's own rows."""

import csv
import json

import pytest

from hushpoll_lab.datasets.adult import RECIPE, clean
from hushpoll_protocols.errors import InvalidParameter

# Hours that occur after cleaning; the paper's file holds their ranks.
HOURS = [str(hours) for hours in range(1, 100) if hours not in (71, 83, 93)]
# The columns are those of adult_reconstruction.csv.
ROW = {
    "hours-per-week": "40",
    "age": "21",
    "capital-gain": "0",
    "capital-loss": "0",
    "workclass": "Private",
    "education": "Bachelors",
    "education-num": "13",
    "marital-status": "Divorced",
    "relationship": "Own-child",
    "race": "White",
    "gender": "Male",
    "native-country": "Peru",
    "income": "26000",
    "occupation": "Sales",
}
HEADER = list(ROW)


@pytest.fixture
def write(tmp_path):
    def file(rows, header=HEADER):
        path = tmp_path / "adult_reconstruction.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, header)
            writer.writeheader()
            writer.writerows(rows)
        return path

    return file


def test_the_cleaning_by_hand(write):
    found = clean(
        write(
            [
                ROW,
                ROW | {"native-country": "?", "age": "90"},
                ROW
                | {"age": "9", "income": "26001", "gender": "Female", "workclass": "Federal-gov"},
                ROW | {"occupation": "?"},
                ROW | {"age": "100", "hours-per-week": "5", "workclass": "State-gov"},
                ROW | {"workclass": "?"},
            ]
        )
    )
    assert list(found.codes) == list(RECIPE.questions)
    # ages are ranked as numbers, and those of dropped rows do not count
    assert found.codes["age"].tolist() == [1, 0, 2]
    assert found.categories["age"] == ("9", "21", "100")
    assert found.codes["hours-per-week"].tolist() == [1, 1, 0]
    assert found.codes["workclass"].tolist() == [1, 0, 2]
    assert found.codes["income"].tolist() == [0, 1, 0]
    assert found.codes["gender"].tolist() == [1, 0, 1]
    assert found.categories["gender"] == ("Female", "Male")
    assert found.categories["income"] == ("<=26000", ">26000")
    assert found.rows == 3
    assert not found.is_the_papers


@pytest.mark.data
def test_the_papers_rows_come_back_from_their_own_labels(write, data_dir):
    """The raw file is not at hand: it is rebuilt from the codes, with rows to drop in between."""
    labels = json.loads((data_dir / "adult_26k.categories.json").read_text())
    labels["hours-per-week"] = HOURS
    assert len(HOURS) == 96
    raw = []
    with (data_dir / "adult_26k.csv").open(newline="") as stream:
        for at, row in enumerate(csv.DictReader(stream)):
            person = ROW | {name: labels[name][int(code)] for name, code in row.items()}
            person["income"] = "26001" if row["income"] == "1" else "26000"
            raw.append(person)
            if at % 1000 == 0:
                raw.append(person | {"workclass": "?", "occupation": "?"})
    found = clean(write(raw))
    assert found.rows == RECIPE.rows
    assert found.is_the_papers
    assert found.csv() == (data_dir / "adult_26k.csv").read_bytes()
    assert {name: list(one) for name, one in found.categories.items()} == labels


@pytest.mark.data
def test_ucis_adult_has_no_amounts_and_is_refused(data_dir):
    with pytest.raises(InvalidParameter, match="whose incomes are amounts") as caught:
        clean(data_dir / "adult.data")
    assert caught.value.field == "from"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"age": "old"}, r"row 2 \(line 3\), column age: 'old' is no whole number"),
        ({"income": ">50K"}, "column income: '>50K' is no whole number"),
        ({"income": "-5"}, "'-5' is no whole number"),
    ],
)
def test_a_cell_that_is_no_number_is_named(write, changes, message):
    with pytest.raises(InvalidParameter, match=message):
        clean(write([ROW, ROW | changes]))


def test_a_file_of_missing_values_alone_is_refused(write):
    with pytest.raises(InvalidParameter, match=r"every row of .* has a \?"):
        clean(write([ROW | {"occupation": "?"}]))
