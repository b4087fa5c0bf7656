"""ACSCoverage: folktables' filter and the paper's cleaning, by hand and on the paper's own rows."""

import csv
import sys
import zipfile

import pytest

from hushpoll_lab.datasets.acs_coverage import RECIPE, clean
from hushpoll_protocols.errors import InvalidParameter, MissingExtra

# Columns of the bureau's file that folktables uses; the real one has some 280.
ROW = {
    "RT": "P",
    "SERIALNO": "2018GQ0000049",
    "AGEP": 30,
    "SCHL": 16,
    "MAR": 1,
    "SEX": 1,
    "DIS": 2,
    "ESP": "",
    "CIT": 1,
    "MIG": 1,
    "MIL": 4,
    "ANC": 1,
    "NATIVITY": 1,
    "DEAR": 2,
    "DEYE": 2,
    "DREM": 2,
    "PINCP": 1000,
    "ESR": 1,
    "ST": 48,
    "FER": "",
    "RAC1P": 1,
    "PUBCOV": 2,
}
HEADER = list(ROW)


@pytest.fixture
def write(tmp_path):
    def file(rows, header=HEADER):
        path = tmp_path / "psam_p48.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, header, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return path

    return file


@pytest.fixture
def people():
    """Five who stay, and three whom the filter drops."""
    return [
        ROW,
        ROW | {"AGEP": 65, "SCHL": 24},
        ROW | {"AGEP": 17, "PINCP": 30000, "SEX": 2, "FER": 2, "ESP": 3, "PUBCOV": 1, "SCHL": 1},
        ROW | {"PINCP": 30001},
        ROW | {"PINCP": ""},
        ROW | {"AGEP": 64, "DIS": 1, "RAC1P": 2, "MIL": "", "ESR": 6, "PINCP": -50},
        ROW | {"RAC1P": 9, "ESP": 8, "MIG": 3, "FER": 1, "SEX": 2},
        ROW | {"RAC1P": 6},
    ]


def test_the_cleaning_by_hand(write, people):
    found = clean(write(people))
    assert list(found.codes) == list(RECIPE.questions)
    assert found.rows == 5
    expected = {
        "AGEP": ([1, 0, 2, 1, 1], ("17", "30", "64")),
        "SCHL": ([1, 0, 1, 1, 1], ("1", "16")),
        "MAR": ([0] * 5, ("1",)),
        "SEX": ([1, 0, 1, 0, 1], ("female", "male")),
        "DIS": ([0, 0, 1, 0, 0], ("without a disability", "with a disability")),
        # what is not asked of a person is 0, below every code of the bureau's
        "ESP": ([0, 1, 0, 2, 0], ("0", "3", "8")),
        "MIG": ([0, 0, 0, 1, 0], ("1", "3")),
        "MIL": ([1, 1, 0, 1, 1], ("0", "4")),
        "ESR": ([0, 0, 1, 0, 0], ("1", "6")),
        "ST": ([0] * 5, ("48",)),
        "FER": ([0, 2, 0, 1, 0], ("0", "1", "2")),
        "RAC1P": ([0, 0, 1, 0, 0], ("other", "black")),
        "PUBCOV": ([0, 1, 0, 0, 0], ("not covered", "covered")),
    }
    for name, (codes, categories) in expected.items():
        assert found.codes[name].tolist() == codes, name
        assert found.categories[name] == categories, name


def test_the_archive_gives_the_same(write, people, tmp_path):
    path = write(people)
    archive = tmp_path / "csv_ptx.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.write(path, path.name)
        stream.writestr("ACS2018_PUMS_README.pdf", "")
    assert clean(archive).csv() == clean(path).csv()


def test_a_constant_column_is_in_the_codes_and_not_in_the_manifest(write, people):
    found = clean(write(people))
    names = [one["name"] for one in found.manifest()["attributes"]]
    assert "st" not in names
    assert names == [name.lower() for name in RECIPE.questions if len(found.categories[name]) > 1]
    assert b",st," not in found.answers_csv().splitlines()[0]


@pytest.mark.data
def test_the_papers_rows_come_back_from_the_bureaus_codes(write, data_dir):
    """The raw file is not at hand: it is rebuilt from the paper's codes, with others to drop."""
    bureau = {
        "AGEP": range(15, 65),
        "SCHL": range(1, 25),
        "MAR": range(1, 6),
        "SEX": (2, 1),
        "DIS": (2, 1),
        "ESP": ("", *range(1, 9)),
        "CIT": range(1, 6),
        "MIG": range(1, 4),
        "MIL": ("", *range(1, 5)),
        "ANC": range(1, 5),
        "NATIVITY": (1, 2),
        "ESR": ("", *range(1, 7)),
        "ST": (48,),
        "FER": ("", 1, 2),
        "RAC1P": (1, 2),
        "PUBCOV": (2, 1),
    }
    raw = []
    with (data_dir / "acs_coverage_tx2018.csv").open(newline="") as stream:
        for at, row in enumerate(csv.DictReader(stream)):
            person = ROW | {name: bureau[name][int(code)] for name, code in row.items()}
            raw.append(person)
            if at % 1000 == 0:
                raw.append(person | {"PINCP": 30001})
    found = clean(write(raw))
    assert found.rows == RECIPE.rows
    assert found.is_the_papers
    assert found.csv() == (data_dir / "acs_coverage_tx2018.csv").read_bytes()


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        ([one for one in HEADER if one != "FER"], [ROW], r"columns are missing .*'FER'"),
        (HEADER, [ROW | {"AGEP": 80}], "nobody in .* is under 65"),
        (["x"], [], "is no person file of the American"),
    ],
)
def test_what_is_not_the_file_is_named(write, header, rows, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        clean(write(rows, header))
    assert caught.value.field == "from"


def test_an_archive_without_the_person_file_is_named(tmp_path):
    path = tmp_path / "csv_hal.zip"
    with zipfile.ZipFile(path, "w") as stream:
        stream.writestr("psam_h01.csv", "")
    with pytest.raises(InvalidParameter, match=r"does not hold a whole psam_p48\.csv"):
        clean(path)


def test_without_folktables_the_error_names_its_extra(write, people, monkeypatch):
    monkeypatch.setitem(sys.modules, "folktables", None)
    with pytest.raises(MissingExtra, match=r"pip install . ./server './server/lab\[acs\]'"):
        clean(write(people))
